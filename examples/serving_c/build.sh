#!/usr/bin/env bash
# Builds run_saved_model and serve_batched against the TensorFlow of a Python: build.sh FOLDER [PYTHON]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || { echo "usage: build.sh FOLDER [PYTHON]" >&2; exit 1; }
python=${2:-python3}
mkdir -p "$1"

# The wheel has the headers of the C interface and, in libtensorflow_cc, what they declare.
read -r include lib < <("$python" -c 'import tensorflow as tf
print(tf.sysconfig.get_include(), tf.sysconfig.get_lib())' 2>/dev/null)
flags=(-O2 -Wall -Wextra -Werror "-isystem$include")
libraries=("-L$lib" -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2 "-Wl,-rpath,$lib")
"${CC:-cc}" -std=c11 "${flags[@]}" "$here/run_saved_model.c" "${libraries[@]}" -o "$1/run_saved_model"
"${CXX:-c++}" -std=c++17 -pthread "${flags[@]}" "$here/serve_batched.cc" "${libraries[@]}" \
  -o "$1/serve_batched"
