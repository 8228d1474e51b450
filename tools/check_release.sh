#!/usr/bin/env bash
# Makes the source distribution of a release and checks all that an index would get:
#   tools/check_release.sh PYTHON FOLDER
# FOLDER has the wheels. PYTHON has auditwheel and setuptools; the other tools get an environment of
# their own in .tools/release.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# = 2 ] || die "usage: tools/check_release.sh PYTHON FOLDER"
python=$1 folder=$2
tools=.tools/release

if [ ! -e $tools/.ready ]; then
  echo "installing twine, check-wheel-contents and pyroma into $tools"
  rm -rf $tools
  "$python" -m venv $tools
  $tools/bin/python -m pip --disable-pip-version-check install --quiet --no-input \
    twine check-wheel-contents pyroma 'setuptools>=77' ||
    die "cannot install twine, check-wheel-contents and pyroma: is a package index reachable?"
  touch $tools/.ready
fi

rm -f "$folder"/*.tar.gz
"$python" - "$folder" >build/sdist.log 2>&1 <<'PYTHON' || { cat build/sdist.log >&2; die "no source distribution"; }
import sys
from setuptools import build_meta

build_meta.build_sdist(sys.argv[1])
PYTHON

echo "== twine check"
$tools/bin/python -m twine check --strict "$folder"/*.whl "$folder"/*.tar.gz
echo "== auditwheel show"
for wheel in "$folder"/*.whl; do
  "$python" -m auditwheel show "$wheel"
done
echo "== check-wheel-contents"
$tools/bin/check-wheel-contents "$folder"/*.whl
echo "== pyroma"
# Of ten points two are for an address of the authors and of the project: REPOSITORY in
# tools/wheel_description.py and `authors` in pyproject.toml.
$tools/bin/pyroma --min 8 "$folder"/*.tar.gz
