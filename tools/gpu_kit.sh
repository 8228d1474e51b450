#!/usr/bin/env bash
# Makes a folder with everything that checks and times the GPU core on a machine with a GPU, Python
# and PyTorch, without a compiler or TensorFlow: tools/gpu_kit.sh FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/tools/common.sh"
[ $# = 1 ] || die "usage: tools/gpu_kit.sh FOLDER"
rm -rf "$1"
mkdir -p "$1/tests/gpu" "$1/tools" "$1/benchmarks"
kit=$(cd "$1" && pwd)
cd "$here"
bash tests/gpu/core/build.sh "$kit"
strip --strip-unneeded "$kit/libcore.so"
cp -r tests/gpu/core tests/gpu/__init__.py "$kit/tests/gpu/"
cp -r tests/support "$kit/tests/"
cp tools/verification_page.py "$kit/tools/"
cp benchmarks/__init__.py benchmarks/gpu_core.py "$kit/benchmarks/"
find "$kit" -name __pycache__ -prune -exec rm -r {} +
cat >"$kit/run.sh" <<'RUN'
#!/bin/sh
# Prints each check and a verdict at the end, in at most 150 seconds: run.sh [SECTION...]
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- persistent engine layers layer-times block stack sanitizer
exec python3 tests/gpu/core/run.py --library libcore.so --seconds 150 --log gpu.log --only "$@"
RUN
chmod +x "$kit/run.sh"
size=$(du -sm "$kit" | cut -f1)
[ "$size" -le 55 ] || die "$1 has $size MiB; a GPU machine takes 55"
echo "$1: $size MiB. On the GPU machine: $1/run.sh"
