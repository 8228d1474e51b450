#!/usr/bin/env bash
# Makes a folder with everything that checks and times the GPU core on a machine with a GPU, Python
# and PyTorch, without a compiler or TensorFlow: tools/gpu_kit.sh FOLDER [COMMIT]
# COMMIT is an older version whose times are measured next to these.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/tools/common.sh"
[ $# = 1 ] || [ $# = 2 ] || die "usage: tools/gpu_kit.sh FOLDER [COMMIT]"
rm -rf "$1"
mkdir -p "$1/tests/gpu" "$1/tools"
kit=$(cd "$1" && pwd)
cd "$here"
bash tests/gpu/core/build.sh "$kit"
strip --strip-unneeded "$kit/libcore.so"
cp -r tests/gpu/core tests/gpu/__init__.py "$kit/tests/gpu/"
cp -r tests/support "$kit/tests/"
cp tools/verification_page.py tools/engine_table.py "$kit/tools/"
cp cc/gpu/engine_rows.inc "$kit/"
if [ $# = 2 ]; then
  old=$(mktemp -d)
  trap 'rm -rf "$old"' EXIT
  git archive "$2" | tar -x -C "$old"
  bash "$old/tools/gpu_kit.sh" "$kit/old"
fi
find "$kit" -name __pycache__ -prune -exec rm -r {} +
cat >"$kit/run.sh" <<'RUN'
#!/bin/sh
# Prints each check, each table and a verdict: everything in 15 minutes, or some sections in 150 seconds:
# run.sh [OPTION...], with the options of kit.py, or run.sh SECTION...
cd "$(dirname "$0")"
case ${1:--} in
  -*) exec python3 tests/gpu/core/kit.py --folder . "$@" ;;
esac
exec python3 tests/gpu/core/run.py --library libcore.so --seconds 150 --log gpu.log --only "$@"
RUN
chmod +x "$kit/run.sh"
size=$(du -sm "$kit" | cut -f1)
[ "$size" -le 55 ] || die "$1 has $size MiB; a GPU machine takes 55"
echo "$1: $size MiB. On the GPU machine: $1/run.sh"
