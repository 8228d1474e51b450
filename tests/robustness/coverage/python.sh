#!/usr/bin/env bash
# Runs pytest on the installed package under coverage.py, and prints a table by file:
# tests/robustness/coverage/python.sh PYTHON [PYTEST ARGUMENT...]
# Without arguments for pytest it adds data that has been written in build/coverage-python since, and prints.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n 's/^# \(.*python.sh PYTHON\)/usage: \1/p' "$0" >&2
  exit 2
}
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
out=$PWD/build/coverage-python

status=0
if [ $# -gt 0 ]; then
  rm -rf "$out"
  mkdir -p "$out"
  # From build/, so that the package under test is the installed one. With one seed of hashes, the
  # order of sets does not vary.
  (cd build && PYTHONHASHSEED=0 "$python" -m coverage run --rcfile=../pyproject.toml \
    --data-file="$out/data" -m pytest -p no:cacheprovider "$@") || status=$?
fi

# From the root, which has the configuration, and to which its paths are relative.
if compgen -G "$out/data.*" >/dev/null; then
  "$python" -m coverage combine --append --quiet
fi
"$python" -m coverage json --quiet -o "$out/lines.json"
"$python" -m coverage report --show-missing >"$out/missing.txt"
"$python" -m coverage report | tee "$out/table.txt"
exit $status
