#!/usr/bin/env bash
# The handlers for GPUs as a shared object, by g++ alone: tests/gpu/ffi/build.sh OUT INCLUDE.
# INCLUDE has xla/ffi/api: TensorFlow's include folder or jaxlib's. No Bazel, TensorFlow's library or
# CUDA toolkit is needed.
set -euo pipefail
[ $# = 2 ] || { echo "usage: tests/gpu/ffi/build.sh OUT INCLUDE" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
include=$(cd "$2" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

inputs="cc/xla/handlers/tensors.cc"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
build_defs/embed_ptx.sh >"$objects/kernels_ptx.cc"
# shellcheck disable=SC2086  # a list of words
printf '%s\n' tests/gpu/ffi/handlers_api.cc cc/core/*/*.cc $inputs cc/xla/handlers/gpu_*.cc cc/gpu/*.cc \
  cc/gpu/*/*.cc "$objects/kernels_ptx.cc" |
  xargs -P "$(nproc)" -I {} sh -c 'g++ -std=c++17 -O0 -Wall -Wextra -fPIC -fvisibility=hidden -I. \
    -isystem "$3" -c "$1" -o "$2/$(echo "$1" | tr / _).o"' sh {} "$objects" "$include"
g++ -shared -Wl,-z,defs "$objects"/*.o -o "$out/libgpu_ffi.so" -ldl -lpthread
echo "$out/libgpu_ffi.so"
