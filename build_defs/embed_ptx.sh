#!/usr/bin/env bash
# Prints the C++ source of the PTX, for builds without Bazel; cc/gpu/BUILD has the rule for Bazel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec build_defs/embed_text.sh cc/gpu/elementwise/kernels.ptx cc/gpu/elementwise/kernels_ptx.h \
  rnn_ops::gpu::elementwise kKernelsPtx
