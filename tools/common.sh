# Sourced by the scripts: messages, and the system packages they may install.

die() {
  echo "${0##*/}: $*" >&2
  exit 1
}

# with_progress TEXT PATH COMMAND...: runs a command. Every 30 seconds it prints a line, also into a file:
# TEXT, the time, and what moves: the size of the folder PATH, or the last line of the file PATH.
with_progress() {
  local text=$1 path=$2 began=$SECONDS status=0 watcher
  shift 2
  (
    sleeper=
    trap 'kill $sleeper 2>/dev/null; exit' TERM
    while :; do
      # Nothing waits for the output of a sleep that is left over.
      sleep "${TF_RNN_OPS_PROGRESS_SECONDS:-30}" >/dev/null 2>&1 &
      sleeper=$!
      wait $sleeper || exit 0
      # Ctrl-C ends the script, but not what it runs in the background.
      kill -0 $$ 2>/dev/null || exit 0
      if [ -d "$path" ]; then
        moves=$(du -sm "$path" 2>/dev/null | cut -f 1)" MiB"
      else
        moves=$(tail -n 1 "$path" 2>/dev/null | cut -c 1-70)
      fi
      echo "still $text: $((SECONDS - began)) s${moves:+, $moves}"
    done
  ) &
  watcher=$!
  "$@" || status=$?
  kill $watcher 2>/dev/null || true
  wait $watcher 2>/dev/null || true
  return $status
}

# Whether apt_install can install.
may_apt() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

# apt_install PACKAGE...: installs what is missing when root on a machine with apt-get.
# Fails anywhere else, having done nothing. What apt-get said is in .tools/apt.log.
apt_install() {
  may_apt || return 1
  echo "installing with apt-get: $*"
  export DEBIAN_FRONTEND=noninteractive
  mkdir -p .tools
  with_progress "installing with apt-get" .tools/apt.log apt_to_log "$@"
}

apt_to_log() {
  local apt=(apt-get -q -y -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
  { "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "$@"; } >.tools/apt.log 2>&1 </dev/null
}

# The folder for what several clones share: compiled files and downloads.
cache_folder() {
  echo "${TF_RNN_OPS_CACHE:-${XDG_CACHE_HOME:-${HOME:?HOME or TF_RNN_OPS_CACHE must name a folder}/.cache}/tf_rnn_ops}"
}

# The folder for compiled files. Bazel does not look at the compiler, the linker and the headers of libc,
# so the name has their versions. Fails with a sentence if the folder cannot be written.
build_cache() {
  local folder versions
  folder=$(cache_folder) || return
  versions=$(for tool in "${CC:-gcc}" ld ldd; do "$tool" --version 2>&1 | head -n 1; done |
    tr -cs 'A-Za-z0-9.+~\n-' - | paste -sd_)
  folder+=/bazel/$versions
  if mkdir -p "$folder" 2>/dev/null && [ -w "$folder" ]; then
    echo "$folder"
  else
    echo "$folder cannot be written: this build compiles everything (TF_RNN_OPS_CACHE names another folder)" >&2
    return 1
  fi
}

# shared_download NAME VERSION COMMAND...: sets `downloaded` to a folder that all clones share and that the
# command has filled. If the folder does not exist, the command runs with the path of a new folder as its last argument.
# The folder gets its name when the command has succeeded, so that an interrupted download is never used. It is in .tools
# if the cache cannot be written. The lock in use_lock lasts as long as the script and its processes:
# no clone removes a folder in use. Folders that no script has used for two weeks are removed.
shared_download() {
  local name=$1 version=$2 folder old lock
  shift 2
  command -v flock >/dev/null || die "flock not found: install util-linux"
  if ! folder=$(cache_folder)/$name || ! mkdir -p "$folder" 2>/dev/null || [ ! -w "$folder" ]; then
    echo "$folder cannot be written: the download goes into .tools/$name (TF_RNN_OPS_CACHE names another folder)" >&2
    folder=$PWD/.tools/$name
    mkdir -p "$folder"
  fi
  exec {lock}<"$folder"
  flock -n "$lock" || with_progress "waiting for another clone, which installs into $folder" "$folder" flock -w 1800 "$lock" ||
    die "another process has installed into $folder for half an hour: look for it with fuser $folder"
  downloaded=$folder/$version
  if [ ! -d "$downloaded" ]; then
    rm -rf "$folder/new"
    mkdir "$folder/new"
    "$@" "$folder/new" || return
    mv "$folder/new" "$downloaded"
  fi
  touch "$downloaded"
  exec {use_lock}<"$downloaded"
  flock -s "$use_lock"
  while read -r old; do
    flock -n "$old" rm -rf "$old" || true
  done < <(find "$folder" -mindepth 1 -maxdepth 1 -mtime +13)
  exec {lock}<&-
}

# The minor versions of TensorFlow that the sources fit, oldest first, one a line.
tensorflow_versions() {
  sed -n '/^TENSORFLOW = /s/[^"]*"\([^"]*\)"[^"]*/\1\n/gp' tf_rnn_ops/native/versions.py | sed '/^$/d'
}

# The requirement for pip of the TensorFlow to develop with: the newest.
tensorflow_requirement() {
  echo "tensorflow-cpu~=$(tensorflow_versions | tail -n 1).0"
}

# The PyTorch of the tests. Only the CPU build: the default one brings gigabytes of CUDA libraries.
torch_requirement() {
  echo "torch==2.13.0+cpu"
}

# configured KEY: what configure.sh found, such as TF_VERSION or python.
configured() {
  sed -n -e "s/^common --repo_env=$1=\"\(.*\)\"\$/\1/p" -e "s/^# $1=//p" .tf_configure.bazelrc 2>/dev/null
}

# Whether configure.sh has run, and the TensorFlow that it found is still there.
is_configured() {
  local include
  include=$(configured TF_INCLUDE_DIR)
  [ -n "$include" ] && [ -d "$include" ]
}

configured_minor() {
  configured TF_VERSION | cut -d. -f1-2
}

# bazel_options TENSORFLOW MACHINE: sets the array options for a build with that TensorFlow for that
# processor. TENSORFLOW is a minor version, a requirement, or the path of a Python that has it. What
# is not configured is built in a folder of its own, so that changing between them compiles nothing
# again.
bazel_options() {
  options=()
  [ "$1 $2" != "$(configured_minor) $(uname -m)" ] || return 0
  local lines line suffix tools
  case $1 in
    /*) lines=$("$1" tools/tf_info.py --any) ;;
    *) lines=$("$(configured python)" tools/fetch_tensorflow.py "$1" "$2") ;;
  esac
  while read -r line; do
    options+=("--repo_env=$line")
  done <<<"$lines"
  suffix=-tf$(sed -n 's/^TF_VERSION=//p' <<<"$lines")
  if [ "$2" != "$(uname -m)" ]; then
    # Bazel's toolchain is CC and the tools that are first in PATH. It looks again when CC changes.
    tools=$(cross_tools "$2")
    options+=("--repo_env=CC=$tools/gcc" "--repo_env=PATH=$tools:/usr/bin:/bin")
    suffix+=-$2
  fi
  options+=("--platform_suffix=$suffix" "--experimental_convenience_symlinks=ignore")
}

# cross_tools MACHINE: prints a folder in which gcc, ld and the like are those for that processor.
cross_tools() {
  local folder=$PWD/.tools/$1/bin tool
  command -v "$1-linux-gnu-g++" >/dev/null || apt_install "g++-$1-linux-gnu" >&2 ||
    die "$1-linux-gnu-g++ not found: install it (Debian: apt-get install g++-$1-linux-gnu)"
  mkdir -p "$folder"
  for tool in ar as dwp gcc gcov ld ld.bfd ld.gold nm objcopy objdump strip; do
    ln -sf "$(command -v "$1-linux-gnu-$tool")" "$folder/$tool"
  done
  echo "$folder"
}
