"""The code of docs/migration-pytorch.md."""

import pathlib
import re

import numpy as np
import onnx_models
import op_runs
import pytest

from tf_rnn_ops import params

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "migration-pytorch.md"


BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def _run(blocks, names):
    exec(compile("\n".join(blocks), str(PAGE), "exec"), names)


def test_page():
    pytest.importorskip("torch")
    assert len(BLOCKS) == 9
    names = {"__name__": "page"}
    _run(BLOCKS[:-1], names)
    x = names["x"].swapaxes(0, 1)
    np.testing.assert_allclose(names["stack"](x), names["want"].swapaxes(0, 1), atol=1e-5)


def test_reading_an_onnx_model(rng, tmp_path, monkeypatch):
    import onnx

    layout = params.Layout("lstm", 2, 4, 3, direction="bidirectional")
    buffer = rng.standard_normal(layout.size).astype("float32")
    monkeypatch.chdir(tmp_path)
    model = onnx_models.make(onnx, params.to_onnx(layout, buffer))
    onnx.save(model, "model.onnx")
    names = {}
    _run(BLOCKS[-1:], names)
    assert op_runs.same_bits(names["buffer"], buffer)


def test_reading_an_onnx_model_with_peepholes(rng):
    import onnx

    layout = params.Layout("lstm", 1, 4, 3)
    nodes = params.to_onnx(layout, rng.standard_normal(layout.size).astype("float32"))
    model = onnx_models.make(onnx, nodes)
    peepholes = rng.standard_normal((1, 12)).astype("float32")
    model.graph.initializer.append(onnx.numpy_helper.from_array(peepholes, "P0"))
    model.graph.node[0].input.extend(["", "", "", "P0"])
    onnx.checker.check_model(model)
    with pytest.raises(ValueError, match="peephole"):
        params.from_onnx(model)
