#!/usr/bin/env bash
# Finds Python and its TensorFlow and writes .tf_configure.bazelrc. Asks nothing, installs nothing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/tools/common.sh"

usage() {
  cat <<'TEXT'
Usage: ./configure.sh [--python PATH] [--help]

  --python PATH   the Python whose pip TensorFlow to build against
                  (default: $PYTHON_BIN_PATH, .venv/bin/python, python3)

Says in one line what is missing for building; make's targets install it where they may.

Environment: PYTHON_BIN_PATH as --python; BAZELISK, a bazelisk to use; USE_BAZEL_VERSION, a Bazel
version or the absolute path of a Bazel 4.2 binary, as bazelisk reads it.
TEXT
}

python=${PYTHON_BIN_PATH:-}
while [ $# -gt 0 ]; do
  case $1 in
    --python) [ $# -gt 1 ] || die "--python needs a path"; python=$2; shift 2 ;;
    --python=*) python=${1#--python=}; shift ;;
    --help|-h) usage; exit 0 ;;
    *) die "unknown argument $1; see ./configure.sh --help" ;;
  esac
done

find_python() {
  if [ -z "$python" ]; then
    if [ -x "$here/.venv/bin/python" ]; then python=$here/.venv/bin/python; else python=python3; fi
  fi
  python=$(command -v "$python") || die "Python not found: pass --python PATH"
  case $python in /*) ;; *) python=$PWD/$python ;; esac
}

find_tensorflow() {
  tf_lines=$("$python" "$here/tools/tf_info.py") ||
    die "run: $python -m pip install '$(cd "$here" && tensorflow_requirement)'"
}

# The kernels take Eigen from the newest TensorFlow, whichever one they are built for: older ones lack
# functions, and the kernels are then the same for all.
find_kernel_eigen() {
  local newest found=$tf_lines
  newest=$(cd "$here" && tensorflow_versions | tail -n 1)
  case $tf_lines in
    TF_VERSION=$newest.*) ;;
    *) found=$("$python" "$here/tools/fetch_tensorflow.py" --no-download "$newest" "$(uname -m)") ||
      die "the kernels need it: run $python tools/fetch_tensorflow.py $newest $(uname -m)" ;;
  esac
  tf_lines+=$'\n'KERNEL_EIGEN_DIR=$(sed -n 's/^TF_INCLUDE_DIR=//p' <<<"$found")
}

find_python
"$here/tools/preflight.sh"
find_tensorflow
find_kernel_eigen

{
  echo "# Written by configure.sh; run it again instead of editing."
  echo "# python=$python"
  while IFS='=' read -r key value; do
    echo "common --repo_env=$key=\"$value\""
  done <<<"$tf_lines"
} >"$here/.tf_configure.bazelrc"
echo "configured: $python, $(sed -n 's/^TF_VERSION=/TensorFlow /p' <<<"$tf_lines")"
