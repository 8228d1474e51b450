"""The code of docs/migration-contrib.md and of examples/contrib_classic."""

import pathlib
import re

import numpy as np
import tensorflow as tf

from support import subproc
from tf_rnn_ops import contrib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "migration-contrib.md"


def test_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    exec(compile("\n".join(blocks), str(PAGE), "exec"), names := {"__name__": "page"})
    # The layers of the last blocks compute what the model of the first two did.
    model = contrib.CudnnLSTM(2, 64, 20, "linear_input", "bidirectional")
    params = model.canonical_to_params(names["weights"], names["biases"])
    want = model(names["x"], names["state"], names["state"], params, is_training=False)[0]
    for outputs in (names["outputs"], names["keras_layer"](names["x"])):
        np.testing.assert_allclose(outputs, want, rtol=0, atol=1e-6)
    assert names["gradient"][0].shape == params.shape


def test_example(tmp_path):
    script = ROOT / "examples" / "contrib_classic" / "classic.py"
    process = subproc.run([script, "--steps", "40", "--folder", tmp_path], timeout=300)
    assert process.returncode == 0, process.stderr
    row = r"^(\w+) +loss ([\d.]+) -> ([\d.]+), after restoring ([\d.e+-]+) apart$"
    rows = re.findall(row, process.stdout, re.MULTILINE)
    assert [name for name, *_ in rows] == ["eager", "function", "session"]
    for _, first, last, difference in rows:
        assert float(last) < 0.5 * float(first)
        assert float(difference) < 1e-6
    names = [name for name, _ in tf.train.list_variables(str(tmp_path / "eager"))]
    assert names == [name for name, _ in tf.train.list_variables(str(tmp_path / "session"))]
    assert all(name in process.stdout for name in names)
