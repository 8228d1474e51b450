#!/usr/bin/env bash
# Finds Python, its TensorFlow, bazelisk and Bazel, and writes .tf_configure.bazelrc. Asks nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tools/common.sh"

usage() {
  cat <<'TEXT'
Usage: ./configure.sh [--python PATH] [--no-install] [--help]

  --python PATH   the Python whose pip TensorFlow to build against
                  (default: $PYTHON_BIN_PATH, .venv/bin/python, python3)
  --no-install    install nothing; say what is missing

Environment: PYTHON_BIN_PATH as --python; BAZELISK, a bazelisk to use; USE_BAZEL_VERSION, a Bazel
version or the absolute path of a Bazel 4.2 binary, as bazelisk reads it.
TEXT
}

python=${PYTHON_BIN_PATH:-}
install=yes
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -gt 1 ] || die "--python needs a path"; python=$2; shift 2 ;;
    --python=*) python=${1#--python=}; shift ;;
    --no-install) install=no; shift ;;
    --help|-h) usage; exit 0 ;;
    *) die "unknown argument $1; see ./configure.sh --help" ;;
  esac
done

# need NAME APT_PACKAGE: a command, from the system or from apt-get.
need() {
  command -v "$1" >/dev/null && return
  { [ $install = yes ] && apt_install "$2"; } || die "$1 not found: install it (Debian: apt-get install $2)"
}

find_python() {
  if [ -z "$python" ]; then
    if [ -x "$here/.venv/bin/python" ]; then python=$here/.venv/bin/python; else python=python3; fi
  fi
  python=$(command -v "$python") || die "Python not found: pass --python PATH"
  case $python in /*) ;; *) python=$PWD/$python ;; esac
}

find_tensorflow() {
  tf_lines=$("$python" "$here/tools/tf_info.py") ||
    die "run: $python -m pip install '$(cd "$here" && tensorflow_requirement)'"
}

# The kernels take Eigen from the newest TensorFlow, whichever one they are built for: older ones lack
# functions, and the kernels are then the same for all.
find_kernel_eigen() {
  local newest found=$tf_lines
  newest=$(cd "$here" && tensorflow_versions | tail -n 1)
  case $tf_lines in
    TF_VERSION=$newest.*) ;;
    *) found=$("$python" "$here/tools/fetch_tensorflow.py" "$newest" "$(uname -m)") ||
      die "no Eigen of TensorFlow $newest, which the kernels need" ;;
  esac
  tf_lines+=$'\n'KERNEL_EIGEN_DIR=$(sed -n 's/^TF_INCLUDE_DIR=//p' <<<"$found")
}

find_bazelisk() {
  [ -n "${BAZELISK:-}" ] && return
  command -v bazelisk >/dev/null && return
  [ -x "$here/.tools/node_modules/.bin/bazelisk" ] && return
  [ $install = yes ] || die "bazelisk not found: npm install -g @bazel/bazelisk"
  need npm npm
  echo "installing @bazel/bazelisk into .tools"
  npm install --silent --no-audit --no-fund --prefix "$here/.tools" @bazel/bazelisk >&2 </dev/null ||
    die "npm cannot install @bazel/bazelisk: install bazelisk yourself and put it on PATH"
}

find_bazel() {
  local wanted=4.2
  if ! bazel_version; then
    { [ $install = yes ] && apt_install bazel-bootstrap && bazel_version; } ||
      die "no Bazel $wanted: apt-get install bazel-bootstrap, or set USE_BAZEL_VERSION to the path of a Bazel $wanted"
  fi
}

# Without a usual Bazel bazelisk downloads one, or gives up after half a minute.
bazel_version() {
  (cd "$here" && tools/bazelisk.sh --version) >/dev/null 2>&1
}

find_python
find_tensorflow
find_kernel_eigen
need g++ g++
find_bazelisk
find_bazel

{
  echo "# Written by configure.sh; run it again instead of editing."
  echo "# python=$python"
  while IFS='=' read -r key value; do
    echo "common --repo_env=$key=\"$value\""
  done <<<"$tf_lines"
} >"$here/.tf_configure.bazelrc"
echo "configured: $python, $(sed -n 's/^TF_VERSION=/TensorFlow /p' <<<"$tf_lines")"
