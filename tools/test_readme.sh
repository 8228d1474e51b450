#!/usr/bin/env bash
# Runs the commands of README.md: the first block of shell, whose `make` lines run in this clone and the
# others with a fresh environment in build/readme, then the first block of Python and `python -m tf_rnn_ops info`.
# That environment sees TensorFlow of .venv and what TensorFlow requires, so pip installs no second one.
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
python=$(configured python)
"$python" -m venv "$fresh"
"$python" - "$fresh" <<'PYTHON'
import importlib.metadata as metadata
import pathlib
import sysconfig
import sys

from packaging.requirements import Requirement

fresh = pathlib.Path(sys.argv[1])
names = metadata.packages_distributions()["tensorflow"][:1]
for name in names:
    for line in metadata.requires(name) or []:
        required = Requirement(line)
        if required.name not in names and (not required.marker or required.marker.evaluate({"extra": ""})):
            names.append(required.name)
packages = fresh / "packages"
packages.mkdir()
entries = {file.parts[0] for name in names for file in metadata.files(name)}
for entry in entries - {"..", "__pycache__", "_distutils_hack", "distutils-precedence.pth"}:
    (packages / entry).symlink_to(pathlib.Path(sysconfig.get_path("purelib"), entry))
(site,) = fresh.glob("lib/python*/site-packages")
(site / "packages_of_venv.pth").write_text(f"{packages}\n")
PYTHON
export PATH=$fresh/bin:$PATH
unset PYTHONPATH
bash -euxo pipefail -c "$(grep -v '^make ' <<<"$commands")"
# In the clone Python imports the source tree, in another folder the wheel.
for folder in . "$fresh"; do
  (
    cd "$folder"
    python -c "$python_code"
    python -m tf_rnn_ops info | tee "$fresh/info.txt"
    # Of the ops and of XLA.
    [ "$(grep -c '^Library .*\.so$' "$fresh/info.txt")" = 2 ]
  )
done
rm -rf "$fresh"
