#!/usr/bin/env bash
# Says in one line what this machine lacks for building, before minutes have passed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

usage() {
  cat <<'TEXT'
Usage: tools/preflight.sh [--install] [--no-compiler] [--python PYTHON] [PATH=GIB...]

  --install        install what is missing: system packages with apt-get, where this is root on Debian
                   or Ubuntu, and bazelisk with npm, in .tools
  --no-compiler    what Python needs is enough
  --python PYTHON  check that an environment can be made from it, unless .venv is there
  PATH=GIB         the disk that a file or folder will take; counts unless it is there
TEXT
}

# A file of the kernels takes g++ 1 GiB, one of the ops for XLA 2; Bazel runs one for each CPU.
memory_gib=3
# Bazel's output.
disk_gib=1
meminfo=${TF_RNN_OPS_MEMINFO:-/proc/meminfo}
install=no
compiler=yes
python=
while [ $# -gt 0 ]; do
  case $1 in
    --install) install=yes ;;
    --no-compiler) compiler=no ;;
    --python) [ $# -gt 1 ] || die "--python needs a path"; python=$2; shift ;;
    --help|-h) usage; exit 0 ;;
    *=*) [ -e "${1%=*}" ] || disk_gib=$((disk_gib + ${1#*=})) ;;
    *) die "unknown argument $1; see tools/preflight.sh --help" ;;
  esac
  shift
done
[ ! -e .venv/.ready ] || python=

problems=()
packages=()
failed=

has() {
  command -v "$1" >/dev/null
}

# need COMMAND PACKAGE
need() {
  has "$1" || packages+=("$2")
}

can_make_venv() {
  "$python" -c 'import ensurepip, venv' 2>/dev/null
}

may_install() {
  [ $install = yes ] && may_apt
}

has_bazelisk() {
  [ -n "${BAZELISK:-}" ] || has bazelisk || [ -x .tools/node_modules/.bin/bazelisk ]
}

# Without one of these bazelisk downloads a Bazel, or gives up after half a minute.
has_bazel() {
  [ -n "${USE_BAZEL_VERSION:-}" ] || [ -x /usr/bin/bazel-4 ]
}

find_missing_packages() {
  packages=()
  if [ $compiler = yes ]; then
    need g++ g++
    need nm binutils
    has_bazel || ! may_install || packages+=(bazel-bootstrap)
    has_bazelisk || need npm npm
  fi
  [ "$python" != python3 ] || has python3 || packages+=(python3 python3-venv)
  [ -z "$python" ] || ! has "$python" || can_make_venv || packages+=(python3-venv)
}

install_packages() {
  find_missing_packages
  [ ${#packages[@]} -gt 0 ] && may_install || return 0
  apt_install "${packages[@]}" || failed=", which failed: .tools/apt.log"
  find_missing_packages
}

npm_quietly() {
  npm install --silent "$@" >/dev/null 2>&1 </dev/null
}

find_bazelisk() {
  has_bazelisk && return
  if [ $install = yes ] && has npm; then
    echo "installing @bazel/bazelisk into .tools"
    with_progress "installing @bazel/bazelisk into .tools" .tools npm_quietly --no-audit --no-fund \
      --fetch-retries=1 --fetch-timeout=20000 --prefix .tools @bazel/bazelisk && return
    problems+=("npm cannot install @bazel/bazelisk: is its registry reachable?")
  else
    problems+=("bazelisk is missing: npm install -g @bazel/bazelisk")
  fi
}

check_bazel() {
  if has_bazelisk && ! tools/bazelisk.sh --version >/dev/null 2>&1; then
    problems+=("no usable Bazel 4.2: set USE_BAZEL_VERSION to the path of one, or apt-get install bazel-bootstrap")
  fi
}

check_compiler() {
  has g++ || return 0
  local flag=
  [ "$(uname -m)" != x86_64 ] || flag=-mavx512bf16
  g++ -std=c++17 $flag -fsyntax-only -x c++ /dev/null 2>/dev/null ||
    problems+=("$(g++ --version | head -n 1) is too old: GCC 10 or newer is needed")
}

check_python() {
  [ -n "$python" ] || return 0
  if ! has "$python"; then
    [ "$python" = python3 ] || problems+=("$python not found: pass PYTHON=/path/to/python3")
    return 0
  fi
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
    problems+=("$("$python" --version) is too old: pass PYTHON=/path/to/python3 of 3.10 or newer")
}

check_disk() {
  local free
  free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024 / 1024) }')
  [ "$free" -ge $disk_gib ] ||
    problems+=("$free GiB of disk are free in $PWD: $disk_gib are needed")
}

check_memory() {
  local free limit
  free=$(awk '$1 == "MemAvailable:" { kib = $2 } END { print int(kib / 1024 / 1024) }' "$meminfo")
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || true)
  case $limit in
    ''|*[!0-9]*) ;;
    *) [ $((limit >> 30)) -ge "$free" ] || free=$((limit >> 30)) ;;
  esac
  [ "$free" -ge $memory_gib ] ||
    problems+=("$free GiB of memory are free: $memory_gib are needed")
}

check_disk
check_memory
[ ${#problems[@]} = 0 ] || install=no
install_packages
if [ ${#packages[@]} -gt 0 ]; then
  problems+=("missing: ${packages[*]} (Debian: apt-get install ${packages[*]}$failed)")
fi
if [ $compiler = yes ]; then
  find_bazelisk
  check_bazel
  check_compiler
fi
check_python
if [ ${#problems[@]} -gt 0 ]; then
  joined=$(printf '; %s' "${problems[@]}")
  die "${joined:2}"
fi
