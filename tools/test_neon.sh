#!/usr/bin/env bash
# Runs the C++ tests of the kernels of aarch64 under qemu, and says which of them were executed:
# tools/test_neon.sh [BAZEL_OPTION...] [-- TARGET...]. Needs neither Python nor TensorFlow for that processor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

options=() targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --) shift; targets=("$@"); break ;;
    *) options+=("$1"); shift ;;
  esac
done
kernels=(piece_test problems_test rnn_memory_test rnn_special_values_test concurrent_kernels_test)
targets+=("${kernels[@]/#/\/\/tests/cc/cpu:}" //tests/cc/step:dense_test //tests/cc/step:rnn_step_test)

triple=aarch64-linux-gnu
cross=$(cross_tools aarch64)
qemu=$(command -v qemu-aarch64-static || true)
if [ -z "$qemu" ]; then
  apt_install qemu-user-static ||
    die "qemu-aarch64-static not found: install it (Debian: apt-get install qemu-user-static)"
  qemu=$(command -v qemu-aarch64-static)
fi

# Debian has GoogleTest's sources beside its library for this machine.
gtest=$PWD/.tools/aarch64/gtest
if [ ! -f "$gtest/libgmock.a" ]; then
  echo "compiling GoogleTest for aarch64"
  rm -rf "$gtest"
  mkdir -p "$gtest"
  sources=/usr/src/googletest
  [ -d $sources ] || apt_install libgtest-dev libgmock-dev ||
    die "$sources not found: install it (Debian: apt-get install libgtest-dev libgmock-dev)"
  for library in googletest/src/gtest-all googletest/src/gtest_main googlemock/src/gmock-all; do
    name=$(basename $library)
    $triple-g++ -std=c++17 -O1 -c -I$sources/googletest/include -I$sources/googletest \
      -I$sources/googlemock/include -I$sources/googlemock $sources/$library.cc -o "$gtest/$name.o"
    $triple-ar rcs "$gtest/lib${name%-all}.a" "$gtest/$name.o"
  done
fi

# The kernels need TensorFlow's Eigen only, which is the same for every processor.
[ ${#options[@]} -gt 0 ] || options=(--repo_env=TF_MACHINE=aarch64 "--repo_env=CC=$cross/gcc"
  "--repo_env=PATH=$cross:/usr/bin:/bin" --platform_suffix=-neon
  --experimental_convenience_symlinks=ignore)

# run CPU TARGET...: the tests on that processor.
run() {
  local cpu=$1
  shift
  # Left out: a test that makes a link to a system library, which leads out of qemu's folder.
  tools/bazelisk.sh test "${options[@]}" --linkopt="-L$gtest" \
    --run_under="$qemu -cpu $cpu -L /usr/$triple" --test_timeout=3600 \
    --test_arg=--gtest_filter=-OpenVariantTest.LibraryWithoutTheTable "$@"
  local logs target
  logs=$(tools/bazelisk.sh info "${options[@]}" bazel-testlogs 2>/dev/null)
  for target in "${kernels[@]}"; do
    [[ " $* " != *":$target "* ]] || cat "$logs/tests/cc/cpu/$target/test.log" >>build/neon.log
  done
}

mkdir -p build
: >build/neon.log
run max "${targets[@]}"
# A processor without products of bytes.
run cortex-a57 //tests/cc/cpu:problems_test
"$(configured python)" tools/executed.py --neon build/neon.log
