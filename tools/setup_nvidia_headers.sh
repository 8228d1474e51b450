#!/usr/bin/env bash
# NVIDIA's headers and NVRTC, which tests compare ours with; building does not need them:
#   tools/setup_nvidia_headers.sh PYTHON [PART...]
# PART is cudnn, cuda, cublas or nvrtc; all of them by default. Makes .tools/nvidia/PART/include, and
# .tools/nvidia/nvrtc/lib with the library. What is there already is kept. Only one run at a time
# works, others wait. Sizes: cudnn 69 MB, cuda 4 MB, cublas 581 MB (headers alone are kept), nvrtc 90 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# -ge 1 ] || die "usage: tools/setup_nvidia_headers.sh PYTHON [cudnn|cuda|cublas|nvrtc ...]"
python=$1
shift
[ $# -gt 0 ] || set -- cudnn cuda cublas nvrtc

# The jit package has all of cuDNN's headers, at a ninth of the size of nvidia-cudnn-cu12.
wheel_of() {
  case $1 in
    cudnn) echo nvidia-cudnn-jit-cu12==9.27.0.42 ;;
    cuda) echo nvidia-cuda-runtime-cu12==12.9.79 ;;
    cublas) echo nvidia-cublas-cu12==12.9.3.13 ;;
    nvrtc) echo nvidia-cuda-nvrtc-cu12==12.9.86 ;;
    *) die "unknown part $1" ;;
  esac
}

root=.tools/nvidia
mkdir -p "$root"
exec 9>"$root/.lock"
flock 9

for part; do
  wheel=$(wheel_of "$part")
  [ "$(cat "$root/$part/.wheel" 2>/dev/null)" = "$wheel" ] && continue
  new=$root/.new
  rm -rf "$new" "${root:?}/$part"
  mkdir -p "$new/tree"
  "$python" -m pip --disable-pip-version-check download --quiet --no-input --no-cache-dir --no-deps \
    --only-binary :all: --dest "$new" "$wheel" >&2 ||
    die "cannot download $wheel, whose headers the tests compare with: is a package index reachable?"
  "$python" - "$new" "$part" <<'PYTHON'
import pathlib, sys, zipfile

new, part = pathlib.Path(sys.argv[1]), sys.argv[2]
(wheel,) = new.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        folder = name.split("/")[2:]  # behind nvidia/NAME
        wanted = folder[:1] == ["include"] or (part == "nvrtc" and folder[:1] == ["lib"])
        if not name.startswith("nvidia/") or name.endswith("/") or not wanted:
            continue
        target = new / "tree" / pathlib.Path(*folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
PYTHON
  [ -d "$new/tree/include" ] || die "$wheel has no headers"
  echo "$wheel" >"$new/tree/.wheel"
  mv "$new/tree" "$root/$part"
  rm -rf "$new"
done
