#!/usr/bin/env bash
# NVIDIA's headers and NVRTC, which tests compare ours with; building does not need them:
#   tools/setup_nvidia_headers.sh PYTHON [PART...]
# PART is cudnn, cuda, nvcc, cccl, cublas or nvrtc; all of them by default. Makes .tools/nvidia/PART
# with its include, lib and bin: of the libraries NVRTC alone, of the programs ptxas alone. What is
# there already is kept, and only one run at a time works. Downloads: cudnn 69 MB, cuda 4 MB, nvcc 41 MB,
# cccl 3 MB, cublas 581 MB, nvrtc 90 MB; 6 s on a fast line, done once.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# -ge 1 ] || die "usage: tools/setup_nvidia_headers.sh PYTHON [cudnn|cuda|nvcc|cccl|cublas|nvrtc ...]"
python=$1
shift
[ $# -gt 0 ] || set -- cudnn cuda nvcc cccl cublas nvrtc

# The jit package has all of cuDNN's headers, at a ninth of the size of nvidia-cudnn-cu12.
wheel_of() {
  case $1 in
    cudnn) echo nvidia-cudnn-jit-cu12==9.27.0.42 ;;
    cuda) echo nvidia-cuda-runtime-cu12==12.9.79 ;;
    # crt/, which the runtime's headers include
    nvcc) echo nvidia-cuda-nvcc-cu12==12.9.86 ;;
    # nv/target, which cublas_api.h includes through cuda_fp16.h
    cccl) echo nvidia-cuda-cccl-cu12==12.9.27 ;;
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
  with_progress "downloading $wheel" "$new" "$python" -m pip --disable-pip-version-check \
    download --quiet --no-input --no-cache-dir --no-deps --only-binary :all: --dest "$new" "$wheel" >&2 ||
    die "cannot download $wheel, whose headers the tests compare with: is a package index reachable?"
  "$python" - "$new" "$part" <<'PYTHON'
import pathlib, sys, zipfile

new, part = pathlib.Path(sys.argv[1]), sys.argv[2]
(wheel,) = new.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        folder = name.split("/")[2:]  # behind nvidia/NAME
        wanted = folder[:1] == ["include"] or folder == ["bin", "ptxas"]
        wanted = wanted or (part == "nvrtc" and folder[:1] == ["lib"])
        if not name.startswith("nvidia/") or name.endswith("/") or not wanted:
            continue
        target = new / "tree" / pathlib.Path(*folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(archive.read(name))
        if folder[0] == "bin":
            target.chmod(0o755)
PYTHON
  [ -d "$new/tree/include" ] || die "$wheel has no headers"
  echo "$wheel" >"$new/tree/.wheel"
  mv "$new/tree" "$root/$part"
  rm -rf "$new"
done
