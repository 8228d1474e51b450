#!/usr/bin/env bash
# The GPU core as a shared object, by g++ alone: tests/gpu/core/build.sh OUT. No Bazel, TensorFlow or
# CUDA toolkit is needed, so a bare GPU machine can do it.
set -euo pipefail
[ $# = 1 ] || { echo "usage: tests/gpu/core/build.sh OUT" >&2; exit 1; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

shapes="cc/core/block_lstm_shapes.cc cc/core/dim_solver.cc cc/core/rnn_shapes.cc cc/core/shapes.cc"
core="cc/core/rnn_config.cc cc/core/param_layout.cc cc/core/op_spec.cc $shapes"
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
build_defs/embed_ptx.sh >"$objects/kernels_ptx.cc"
# shellcheck disable=SC2086  # a list of words
printf '%s\n' tests/gpu/core/core_api.cc tests/gpu/core/block_lstm_api.cc $core cc/gpu/*.cc \
  "$objects/kernels_ptx.cc" |
  xargs -P "$(nproc)" -I {} sh -c 'g++ -std=c++17 -O2 -Wall -Wextra -fPIC -fvisibility=hidden -I. \
    -c "$1" -o "$2/$(echo "$1" | tr / _).o"' sh {} "$objects"
g++ -shared -Wl,-z,defs "$objects"/*.o -o "$out/libcore.so" -ldl
echo "$out/libcore.so"
