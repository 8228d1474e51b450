#!/usr/bin/env bash
# Prints the C++ source of the PTX, for builds without Bazel; cc/gpu/kernels/BUILD has the rule for Bazel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
embed() {
  build_defs/embed_text.sh "cc/gpu/kernels/$1.ptx" cc/gpu/kernels/kernels_ptx.h \
    rnn_ops::gpu::elementwise "$2"
}
embed kernels kKernelsPtx
embed layer_kernels kLayerKernelsPtx
build_defs/embed_bytes.sh cc/gpu/kernels/persistent/kernels.ptx.z cc/gpu/kernels/kernels_ptx.h \
  rnn_ops::gpu::elementwise RNN_OPS_PERSISTENT_ARCHIVE
