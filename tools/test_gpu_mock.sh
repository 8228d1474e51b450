#!/usr/bin/env bash
# Runs the GPU kernels without a GPU: tools/test_gpu_mock.sh PYTHON [PYTEST ARGUMENT...]
# TensorFlow's GPU build on a pretend CUDA driver (tests/gpu/mock), where device memory is host
# memory, cuDNN and cuBLAS are stand-ins and our own kernels are compiled for the host. PYTHON has
# tf_rnn_ops, either flavour of TensorFlow and pytest. Downloads the GPU wheel once: 600 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# -ge 1 ] || die "usage: tools/test_gpu_mock.sh PYTHON [PYTEST ARGUMENT...]"
python=$(command -v "$1") || die "$1 not found"
python=$(cd "$(dirname "$python")" && pwd)/$(basename "$python")
shift

version=$("$python" - <<'PYTHON'
import importlib.metadata as metadata

for name in ("tensorflow", "tensorflow-cpu"):
    try:
        print(metadata.version(name))
        break
    except metadata.PackageNotFoundError:
        pass
PYTHON
)
[ -n "$version" ] || die "$python has no TensorFlow"
tag="$version $("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')"
site=$PWD/.tools/tensorflow-gpu
if [ "$(cat "$site/.version" 2>/dev/null)" != "$tag" ]; then
  echo "downloading TensorFlow $version with its GPU kernels into ${site#"$PWD/"}: 600 MB, 2 GiB of disk"
  rm -rf "$site" "$site.new"
  with_progress "downloading it" "$site.new" "$python" -m pip --disable-pip-version-check \
    install --quiet --no-input --no-cache-dir --no-deps --no-compile --target "$site.new" "tensorflow==$version" ||
    die "cannot download tensorflow==$version: is a package index reachable?"
  echo "$tag" >"$site.new/.version"
  mv "$site.new" "$site"
fi

libraries=$PWD/build/gpu_mock
"$python" tests/gpu/mock/build.py "$site/tensorflow/include" "$libraries"
# The mock driver has no graphs, so XLA makes none.
# From build/, so that tf_rnn_ops is the one that PYTHON has and not the source tree.
cd build
exec env LD_LIBRARY_PATH="$libraries" PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" \
  CUDA_VISIBLE_DEVICES=0 TF_RNN_OPS_TEST_DEVICE=GPU:0 TF_RNN_OPS_TEST_PRETEND_GPU=1 \
  TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 XLA_FLAGS=--xla_gpu_enable_command_buffer= \
  "$python" -m pytest -p no:cacheprovider --maxschedchunk 8 ../tests/ops/parity/test_device_parity.py ../tests/gpu/device "$@"
