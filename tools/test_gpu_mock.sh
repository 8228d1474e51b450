#!/usr/bin/env bash
# Runs the GPU kernels without a GPU: tools/test_gpu_mock.sh PYTHON [PYTEST ARGUMENT...]
# TensorFlow's GPU build on a pretend CUDA driver (tests/gpu/mock), where device memory is host
# memory, cuDNN and cuBLAS are stand-ins and our own kernels are compiled for the host. PYTHON has
# tf_rnn_ops, either flavour of TensorFlow and pytest. Downloads the GPU wheel once for all clones: 600 MB.
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
tag=$version-$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')

# download VERSION FOLDER
download() {
  echo "downloading TensorFlow $1 with its GPU kernels into $(dirname "$2"): 600 MB, 2 GiB of disk"
  with_progress "downloading it" "$2" "$python" -m pip --disable-pip-version-check \
    install --quiet --no-input --no-cache-dir --no-deps --no-compile --target "$2" "tensorflow==$1" ||
    die "cannot download tensorflow==$1: is a package index reachable?"
}
shared_download tensorflow-gpu "$tag" download "$version"
site=$downloaded

libraries=$PWD/build/gpu_mock
"$python" tests/gpu/mock/build.py "$site/tensorflow/include" "$libraries"
# The mock driver has no graphs, so XLA makes none.
# From build/, so that tf_rnn_ops is the one that PYTHON has and not the source tree.
cd build
exec env LD_LIBRARY_PATH="$libraries" PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}" \
  CUDA_VISIBLE_DEVICES=0 TF_RNN_OPS_TEST_DEVICE=GPU:0 TF_RNN_OPS_TEST_PRETEND_GPU=1 \
  TF_CPP_MIN_LOG_LEVEL=2 TF_ENABLE_ONEDNN_OPTS=0 XLA_FLAGS=--xla_gpu_enable_command_buffer= \
  "$python" -m pytest -p no:cacheprovider --maxschedchunk 8 ../tests/ops/parity/test_device_parity.py ../tests/gpu/device "$@"
