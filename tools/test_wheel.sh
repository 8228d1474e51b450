#!/usr/bin/env bash
# Runs acceptance tests on a wheel that is not installed: tools/test_wheel.sh PYTHON WHEEL [TEST...]
# PYTHON has pytest and TensorFlow. Without TEST: all of tests/package/wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# -ge 2 ] || die "usage: tools/test_wheel.sh PYTHON WHEEL [TEST...]"
python=$PWD/${1#"$PWD/"} wheel=$PWD/${2#"$PWD/"}
shift 2
[ -f "$wheel" ] || die "there is no $wheel"
[ $# -gt 0 ] || set -- tests/package/wheel

# From another folder: the tests must see the wheel, never the source tree and never a tf_rnn_ops that
# the environment has, if it has any.
rm -rf build/gate
"$python" -m zipfile -e "$wheel" build/gate
cd build
PYTHONPATH=$PWD/gate TF_RNN_OPS_WHEEL=$wheel "$python" -m pytest -q -p no:cacheprovider "${@/#/../}"
