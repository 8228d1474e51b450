#!/usr/bin/env bash
# Builds the shared objects and copies them into a folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/tools/common.sh"
[ $# -ge 1 ] || die "usage: tools/build_native.sh FOLDER [TENSORFLOW...]
  builds for the configured TensorFlow; or the libraries of ops for each of those named, such as 2.20,
  and the kernels, which know nothing of TensorFlow, once. TF_RNN_OPS_MACHINE=aarch64 builds for that"
mkdir -p "$1"
target=$(cd "$1" && pwd)
shift
cd "$here"
is_configured || ./configure.sh
python=$(configured python)

# build GROUP...: the groups of files that the root BUILD declares, with the options set below.
build() {
  tools/bazelisk.sh build "${options[@]}" "$@" "${@/%/_list}"
  local bin group file
  bin=$(tools/bazelisk.sh info "${options[@]}" bazel-bin 2>/dev/null)
  for group; do
    while read -r file; do
      # Renamed into place: a process that has the old file loaded keeps it.
      cp -fL "$bin/${file#*/bin/}" "$target/.${file##*/}.new"
      chmod 755 "$target/.${file##*/}.new"
      mv -f "$target/.${file##*/}.new" "$target/${file##*/}"
    done <"$bin/$group.txt"
  done
}

# choose TENSORFLOW: sets options to build for it and for the machine, in a folder of its own, so that
# changing between them compiles nothing again. What is configured is built as without naming it.
choose() {
  options=()
  [ "$1 $machine" != "$(configured_minor) $(uname -m)" ] || return 0
  local lines line suffix
  lines=$("$python" tools/fetch_tensorflow.py "$1" "$machine")
  while read -r line; do
    options+=("--repo_env=$line")
  done <<<"$lines"
  suffix=-tf$(sed -n 's/^TF_VERSION=//p' <<<"$lines")
  if [ "$machine" != "$(uname -m)" ]; then
    options+=("--repo_env=CC=$machine-linux-gnu-gcc")
    suffix+=-$machine
  fi
  options+=("--platform_suffix=$suffix" "--experimental_convenience_symlinks=ignore")
}

configured_minor() {
  configured TF_VERSION | cut -d. -f1-2
}

machine=${TF_RNN_OPS_MACHINE:-$(uname -m)}
[ $# -gt 0 ] || set -- "$(configured_minor)"
for version; do
  echo "for TensorFlow $version on $machine"
  choose "$version"
  build op_libraries
done
choose "$(configured_minor)"
build kernel_libraries
