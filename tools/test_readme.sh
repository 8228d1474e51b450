#!/usr/bin/env bash
# Runs the commands of README.md: the first block of shell, whose `make` lines run in this clone and the
# others in a fresh environment in build/readme, then there the first block of Python and
# `python -m tf_rnn_ops info`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

# block LANGUAGE: the first block of that language.
block() {
  awk -v fence="\`\`\`$1" '$0 == "```" && inside { exit } inside; $0 == fence { inside = 1 }' README.md
}

commands=$(block sh)
python_code=$(block python)
[[ $commands == *"make wheel"*"pip install "* && $python_code == *"import tf_rnn_ops"* ]] ||
  die "README.md begins with other blocks than make wheel, pip install and import tf_rnn_ops"

bash -euxo pipefail -c "$(grep '^make ' <<<"$commands")"
fresh=$PWD/build/readme
rm -rf "$fresh"
"$(configured python)" -m venv "$fresh"
export PATH=$fresh/bin:$PATH
unset PYTHONPATH
bash -euxo pipefail -c "$(grep -v '^make ' <<<"$commands")"
# From another folder than the clone, where Python would find the source tree.
cd "$fresh"
python -c "$python_code"
python -m tf_rnn_ops info
rm -rf "$fresh"
