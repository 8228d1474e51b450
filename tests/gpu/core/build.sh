#!/usr/bin/env bash
# The GPU core as a shared object, by g++ alone: tests/gpu/core/build.sh OUT. No Bazel, TensorFlow or
# CUDA toolkit is needed, so a bare GPU machine can do it.
set -euo pipefail
[ $# = 1 ] || { echo "usage: tests/gpu/core/build.sh OUT" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
build_defs/embed_ptx.sh >"$objects/kernels_ptx.cc"
printf '%s\n' tests/gpu/core/core_api.cc tests/gpu/core/recorded_kernels.cc cc/core/op/*.cc \
  cc/gpu/*.cc cc/gpu/*/*.cc "$objects/kernels_ptx.cc" |
  xargs -P "$(nproc)" -I {} sh -c 'g++ -std=c++17 -O2 -Wall -Wextra -fPIC -fvisibility=hidden -I. \
    -c "$1" -o "$2/$(echo "$1" | tr / _).o"' sh {} "$objects"
g++ -shared -Wl,-z,defs "$objects"/*.o -o "$out/libcore.so" -ldl
echo "$out/libcore.so"
