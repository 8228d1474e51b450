#!/usr/bin/env bash
# Builds against tf-nightly and keras-nightly and tests there: tools/test_nightly.sh [PYTEST ARGUMENT...]
# Without arguments the Python tests of `make check`; paths are relative to build/nightly, which has the
# environment and the libraries (3 GB). The next call keeps the environment: remove the folder for the
# nightlies of that day. TF_RNN_OPS_NIGHTLY names another package than tf-nightly, such as
# tf-nightly-cpu, which is smaller but was built less often lately.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
is_configured || ./configure.sh

tensorflow=${TF_RNN_OPS_NIGHTLY:-tf-nightly}
folder=$PWD/build/nightly
python=$folder/venv/bin/python
if [ "$(cat "$folder/installed" 2>/dev/null)" != "$tensorflow" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  echo "installing $tensorflow and keras-nightly into build/nightly"
  "$(configured python)" -m venv "$folder/venv"
  # keras-nightly is the Keras of tf-nightly; nothing else here asks for one.
  "$python" -m pip --disable-pip-version-check install --quiet --no-input \
    "$tensorflow" keras-nightly 'pytest>=8' pytest-xdist onnx onnxruntime matplotlib ||
    die "cannot install $tensorflow and keras-nightly: is a package index reachable?"
  "$python" -m pip --disable-pip-version-check install --quiet --no-input "$(torch_requirement)" 2>/dev/null ||
    echo "no $(torch_requirement) in the configured package indexes: tests that need it fail or are skipped"
  echo "$tensorflow" >"$folder/installed"
fi
"$python" - "$tensorflow" <<'PYTHON'
import importlib.metadata as metadata
import platform
import sys

names = (sys.argv[1], "keras-nightly", "numpy")
print("Python", platform.python_version(), *(f"{n} {metadata.version(n)}" for n in names))
PYTHON

# The package with libraries for it alone.
rm -rf "$folder/package"
mkdir -p "$folder/package"
cp -r tf_rnn_ops "$folder/package/"
rm -f "$folder/package/tf_rnn_ops"/*.so
tools/build_native.sh "$folder/package/tf_rnn_ops" "$python"

# From the folder above the package, so that the source tree is not found.
if [ $# = 0 ]; then
  mapfile -t arguments < <(sed -e '/^#/d' -e 's#^tests/#../../tests/#' tests/check.txt)
  set -- -n 2 "${arguments[@]}"
fi
cd "$folder"
PYTHONPATH=$folder/package "$python" -m pytest -q -p no:cacheprovider --tests=usual "$@"
