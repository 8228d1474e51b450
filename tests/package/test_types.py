"""A user's program type-checks under `mypy --strict`: what is public has annotations."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent


def mypy(path, *options):
    command = [sys.executable, "-m", "mypy", "--config-file", HERE.parents[1] / "pyproject.toml"]
    command += ["--strict", "--cache-dir", "/dev/null", *options, path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_calls_of_what_is_public():
    done = mypy(HERE / "typed_user.py")
    wrong = [line for line in done.stdout.splitlines() if "typed_user.py" in line]
    assert wrong == [] and done.stdout, done.stderr


@pytest.mark.thorough
def test_a_wrong_call_is_found(tmp_path):
    path = tmp_path / "typed_wrongly.py"
    path.write_text("import tf_rnn_ops\n\nname: int = tf_rnn_ops.get_lib()\n")
    assert 'expression has type "str", variable has type "int"' in mypy(path).stdout
