#!/usr/bin/env bash
# Makes the environment for building or for testing: tools/setup_venv.sh PYTHON FOLDER TENSORFLOW SET
# SET is build or test. The packages for testing contain those for building. FOLDER/.ready and FOLDER/.tests
# contain the TENSORFLOW whose packages are complete. tools/preflight.sh has made sure that PYTHON can.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# = 4 ] && [[ $4 = build || $4 = test ]] ||
  die "usage: tools/setup_venv.sh PYTHON FOLDER TENSORFLOW build|test"
python=$1 venv=$2 tensorflow=$3 set=$4
torch=$(torch_requirement)
requirements=tools/requirements
log=.tools/setup_venv.log
# A file that interrupted runs leave.
half_made=$venv/.half_made

# is_made STAMP LOCK: whether the packages of the set are there.
is_made() {
  local file
  [ "$(cat "$venv/$1" 2>/dev/null)" = "$tensorflow" ] || return
  for file in "$requirements/$2" tools/setup_venv.sh tools/install_locked.py; do
    [ ! "$file" -nt "$venv/$1" ] || return
  done
}

# failed PACKAGES: ends with the reason that pip's output gives.
failed() {
  local reason="is the package index reachable?" missing
  missing=$(sed -n 's/^ERROR: No matching distribution found for \([^ ]*\).*/\1/p' "$log" | tail -n 1)
  if grep -qi "no space left" "$log"; then
    reason="the disk is full"
  elif [ -n "$missing" ]; then
    grep -q "after connection broken" "$log" || reason="the package index has no $missing"
    # pip has not begun to change the environment.
    rm -f "$half_made"
  fi
  die "pip cannot install $1: $reason (see $log)"
}

to_log() {
  "$@" >>"$log" 2>&1
}

# install TEXT COMMAND...
install() {
  with_progress "installing $1 into $venv" "$venv" to_log "${@:2}"
}

if is_made .ready build.txt && { [ $set = build ] || is_made .tests test.txt; }; then
  exit 0
fi
mkdir -p .tools "$venv"
: >"$log"
if [ -e "$half_made" ]; then
  echo "the last run did not finish: $venv is made again"
  rm -f "$venv/.ready" "$venv/.tests"
  find "$venv/" -mindepth 1 ! -name "${half_made##*/}" -delete
fi
: >"$half_made"
is_made .ready build.txt || rm -f "$venv/.ready"
rm -f "$venv/.tests"

to_log "$python" -m venv "$venv" || failed "itself into $venv"
pip="$venv/bin/python -m pip --disable-pip-version-check install --no-input"
# The question for a small package before the large ones.
first='setuptools>=77'
# The first line of a lock names its TensorFlow.
if grep -qF " and $tensorflow." "$requirements/$set.txt"; then
  packages=$requirements/$set.txt
  locked="-r $packages"
  # pip installs everything where the index has no uv.
  uv=$(sed -n '/^uv==/p' "$packages")
  to_log $pip --timeout 15 --retries 1 "$uv" && first=
else
  packages="$tensorflow and $requirements/$set.in"
  locked=
fi
if [ -n "$first" ]; then
  to_log $pip --timeout 15 --retries 1 "$first" || failed setuptools
fi

# Two flavours of TensorFlow would share one folder.
for flavour in tensorflow tensorflow-cpu; do
  [ "${tensorflow%%[!a-z-]*}" = $flavour ] ||
    to_log "$venv/bin/python" -m pip uninstall --yes $flavour || true
done

case $set in
  build) size="1.7 GiB, about a minute" ;;
  test) size="3.0 GiB, about two minutes" ;;
esac
echo "installing $packages into $venv: $size on two cores"
if [ -n "$locked" ]; then
  install "$packages" "$venv/bin/python" tools/install_locked.py $locked || failed "$packages"
else
  install "$packages" $pip "$tensorflow" -r "$requirements/$set.in" || failed "$packages"
fi

# Where the configured indexes have no torch, the parity tests compare with stored answers of the same version.
if [ $set = test ]; then
  if install "$torch" "$venv/bin/python" tools/install_locked.py "$torch"; then
    echo "installed $torch"
  else
    echo "no $torch in the configured package indexes: parity tests use tests/ops/parity/torch_vectors.npz"
  fi
fi

[ -e "$venv/.ready" ] || echo "$tensorflow" >"$venv/.ready"
[ $set = build ] || echo "$tensorflow" >"$venv/.tests"
rm -f "$half_made"
