#!/usr/bin/env bash
# Builds step against the library in the tf_rnn_ops of a Python: build.sh FOLDER [PYTHON]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || { echo "usage: build.sh FOLDER [PYTHON]" >&2; exit 1; }
python=${2:-python3}
mkdir -p "$1"

# This import needs no TensorFlow.
package=$("$python" -c 'import tf_rnn_ops; print(tf_rnn_ops.__path__[0])')
# The wheel has the header in tf_rnn_ops/include; a source tree has it in cc/step.
"${CC:-cc}" -std=c99 -O2 -Wall -Wextra -Werror -pedantic "-I$package/include" "-I$package/../cc/step" "$here/step.c" \
  "$package/_tf_rnn_ops_step.so" "-Wl,-rpath,$package" -lm -o "$1/step"
