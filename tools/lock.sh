#!/usr/bin/env bash
# Writes tools/requirements/build.txt and test.txt with the newest versions for Python 3.10 and newer:
#   tools/lock.sh PYTHON
# Commit the files that it changes. uv is installed in .tools/lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# = 1 ] || die "usage: tools/lock.sh PYTHON"
requirements=tools/requirements

# lock SET ARGUMENT...
lock() {
  local new=$requirements/$1.new
  {
    echo "# make lock writes this file, from $1.in and $(tensorflow_requirement)."
    tensorflow_requirement | "$python" tools/install_locked.py --lock - "$requirements/$1.in" "${@:2}"
  } >"$new" || { rm -f "$new"; die "uv cannot lock $requirements/$1.in: is the package index reachable?"; }
  mv "$new" "$requirements/$1.txt"
}

"$1" -m venv .tools/lock
python=.tools/lock/bin/python
"$python" -m pip --disable-pip-version-check install --quiet --upgrade uv ||
  die "pip cannot install uv: is the package index reachable?"
lock test
# The smaller set has the versions of the larger one.
lock build --constraints "$requirements/test.txt"
git --no-pager diff --stat "$requirements"
