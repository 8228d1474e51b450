#!/usr/bin/env bash
# Tests the aarch64 wheel on another processor, under qemu: tools/test_aarch64.sh WHEEL
# First the C++ tests, then the installed wheel in Debian's arm64 Python: every op against its
# reference and under XLA, and a Keras model. Needs Debian 12, for that Python; downloads TensorFlow
# for aarch64 and what it needs, 300 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh
[ $# = 1 ] && [ -f "$1" ] || die "usage: tools/test_aarch64.sh WHEEL"
wheel=$1
version=$(tensorflow_versions | tail -n 1)
python=$(configured python)
place=$PWD/.tools/aarch64
mkdir -p "$place"
bazel_options "$version" aarch64
tools/test_neon.sh "${options[@]}" -- //tests/cc/compat/... //tests/cc/core/... \
  //tests/cc/cpu:variant_test //tests/cc/cpu:random_problems_test \
  //tests/cc/cpu:activation_test
qemu=$(command -v qemu-aarch64-static)

# Debian's Python for arm64, unpacked and not installed: nothing of this system changes.
root=$place/root
if [ ! -x "$root/usr/bin/python3.11" ]; then
  echo "unpacking Debian's arm64 Python"
  state=$place/apt
  rm -rf "$root" "$state"
  mkdir -p "$root" "$state/lists/partial" "$state/archives/partial"
  : >"$state/status"
  apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Debug::NoLocking=1
    -o Dir::State="$state" -o Dir::State::status="$state/status" -o Dir::Cache="$state"
    -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update >"$place/apt.log"
  "${apt[@]}" install --no-install-recommends --download-only \
    python3.11-minimal libpython3.11-stdlib libstdc++6 >>"$place/apt.log"
  for package in "$state"/archives/*.deb; do
    dpkg-deb -x "$package" "$root"
  done
fi

# install FOLDER ARGUMENT...: packages of aarch64, from this machine's pip. Debian 12 has glibc 2.36.
install() {
  local platforms=(--platform manylinux2014_aarch64) minor
  for minor in {17..36}; do
    platforms+=(--platform "manylinux_2_${minor}_aarch64")
  done
  "$python" -m pip --disable-pip-version-check install --quiet --target "$1" --only-binary=:all: \
    --implementation cp --python-version 3.11 "${platforms[@]}" "${@:2}"
}

site=$place/site-$version
if [ ! -d "$site" ]; then
  echo "installing TensorFlow $version for aarch64"
  rm -rf "$site.new"
  install "$site.new" "tensorflow~=$version.0" pytest
  mv "$site.new" "$site"
fi
rm -rf "$place/wheel"
install "$place/wheel" --no-deps "$wheel"

# From build/, so that the package under test is the installed one.
cd build
PYTHONPATH=$place/wheel:$site PYTHONDONTWRITEBYTECODE=1 "$qemu" -L "$root" "$root/usr/bin/python3.11" \
  -m pytest -q -p no:cacheprovider ../tests/ops/test_rnn_reference.py \
  ../tests/transforms/test_xla_loads.py ../tests/transforms/test_xla.py::test_every_op \
  ../tests/keras/test_layer_models.py::test_one_model_for_any_batch_and_time
