#!/usr/bin/env bash
# Makes the environment for building and testing: tools/setup_venv.sh PYTHON FOLDER TENSORFLOW
# tools/preflight.sh has made sure that PYTHON can.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# = 3 ] || die "usage: tools/setup_venv.sh PYTHON FOLDER TENSORFLOW"
python=$1 venv=$2 tensorflow=$3
torch=$(torch_requirement)

"$python" -m venv "$venv"
pip="$venv/bin/python -m pip --disable-pip-version-check install --quiet --no-input"
$pip --timeout 15 --retries 1 'setuptools>=77' 2>/dev/null ||
  die "pip cannot install setuptools: is its package index reachable?"
# Two flavours of TensorFlow would share one folder.
for flavour in tensorflow tensorflow-cpu; do
  [ "${tensorflow%%[!a-z-]*}" = $flavour ] ||
    "$venv/bin/python" -m pip uninstall --quiet --yes $flavour 2>/dev/null
done
echo "installing $tensorflow and tools/requirements-dev.txt into $venv"
$pip "$tensorflow" -r tools/requirements-dev.txt ||
  die "pip cannot install $tensorflow and every package of tools/requirements-dev.txt: the tests need each of them"

# Where the configured indexes have none, the parity tests compare with stored answers of the same
# version.
if $pip "$torch" 2>/dev/null; then
  echo "installed $torch"
else
  echo "no $torch in the configured package indexes: parity tests use tests/ops/parity/torch_vectors.npz"
fi
