#!/usr/bin/env bash
# Builds the shared objects and copies them into a folder, with the header of the stepper's C interface in its folder include.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/tools/common.sh"
[ $# -ge 1 ] || die "usage: tools/build_native.sh FOLDER [TENSORFLOW...]
  builds for the configured TensorFlow; or the libraries of ops for each of those named, such as 2.20
  or the path of a Python that has it, and the kernels, which know nothing of TensorFlow, once.
  TF_RNN_OPS_MACHINE=aarch64 builds for that processor"
mkdir -p "$1"
target=$(cd "$1" && pwd)
shift
cd "$here"
is_configured || ./configure.sh

# build GROUP...: the files that the root BUILD declares under these names, with the options set below, in
# one call of Bazel.
build() {
  tools/bazelisk.sh build "${options[@]}" "$@" "${@/%/_list}"
  local bin file
  bin=$(tools/bazelisk.sh info "${options[@]}" bazel-bin 2>/dev/null)
  while read -r file; do
    # Renamed into place: a process that has the old file loaded keeps it.
    cp -fL "$bin/${file#*/bin/}" "$target/.${file##*/}.new"
    chmod 755 "$target/.${file##*/}.new"
    mv -f "$target/.${file##*/}.new" "$target/${file##*/}"
  done < <(for group; do cat "$bin/$group.txt"; done)
}

machine=${TF_RNN_OPS_MACHINE:-$(uname -m)}
[ $# -gt 0 ] || set -- "$(configured_minor)"
kernels=(kernel_libraries)
for version; do
  echo "for TensorFlow $version on $machine"
  bazel_options "$version" "$machine"
  if [ "$version" = "$(configured_minor)" ]; then
    build op_libraries "${kernels[@]}"
    kernels=()
  else
    build op_libraries
  fi
done
if [ ${#kernels[@]} -gt 0 ]; then
  bazel_options "$(configured_minor)" "$machine"
  build "${kernels[@]}"
fi
install -D -m 644 cc/step/rnn_step.h "$target/include/rnn_step.h"
