"""The command line: python -m tf_rnn_ops portable."""

import graphs
import keras
import nested_model
import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format

import tf_rnn_ops.keras
from support import cases, subproc
from support.reference.spec import RnnSpec
from tf_rnn_ops._commands import portable as command


@pytest.fixture
def frozen(tmp_path, rng):
    """(folder with graph.pb, graph.pbtxt and inputs.npz; the case)."""
    case = cases.rnn_case(RnnSpec("lstm", 2, 5, 3), 4, 3, rng, "float32")
    graph_def, feeds = graphs.graph_of("CudnnRNNV3", case)
    (tmp_path / "graph.pb").write_bytes(graph_def.SerializeToString())
    (tmp_path / "graph.pbtxt").write_text(text_format.MessageToString(graph_def))
    np.savez(tmp_path / "inputs.npz", **feeds)
    return tmp_path


def test_as_a_process_on_a_saved_model(tmp_path, rng):
    model = nested_model.Model(rng)
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.run)
    out = subproc.run_module("tf_rnn_ops", "portable", tmp_path / "model", tmp_path / "new")
    assert "kept: 0" in out
    assert out.count(": ok") == 3
    assert (tmp_path / "new" / "saved_model.pb").is_file()


@pytest.mark.parametrize("suffix", ["pb", "pbtxt"])
def test_on_a_graph(frozen, suffix, capsys):
    source, target = frozen / f"graph.{suffix}", frozen / f"new.{suffix}"
    arguments = [
        source,
        target,
        "--verify-inputs",
        frozen / "inputs.npz",
        "--outputs",
        *graphs.OUTPUTS,
    ]
    assert command.main([str(a) for a in arguments]) == 0
    assert capsys.readouterr().out.count(": ok") == 3
    assert "CudnnRNNV3" not in graphs.ops_in(command._read(target))


def test_names_of_nodes_mean_their_first_tensors(frozen, capsys):
    with np.load(frozen / "inputs.npz") as file:
        arrays = {name.removesuffix(":0"): array for name, array in file.items()}
    assert not any(":" in name for name in arrays)
    np.savez(frozen / "nodes.npz", **arrays)
    arguments = [
        frozen / "graph.pb",
        frozen / "new.pb",
        "--verify-inputs",
        frozen / "nodes.npz",
        "--outputs",
    ]
    names = [name.removesuffix(":0") for name in graphs.OUTPUTS]
    assert command.main([str(a) for a in [*arguments, *names]]) == 0
    assert capsys.readouterr().out.count(": ok") == len(names)


def test_a_tensor_with_two_names(frozen, capsys):
    with np.load(frozen / "inputs.npz") as file:
        arrays = dict(file)
    name = sorted(arrays)[0]
    assert name.endswith(":0")
    np.savez(frozen / "twice.npz", **arrays, **{name.removesuffix(":0"): arrays[name]})
    arguments = [frozen / "graph.pb", frozen / "new.pb", "--verify-inputs", frozen / "twice.npz"]
    assert command.main([*map(str, arguments), "--outputs", *graphs.OUTPUTS]) == 2
    assert "inputs must name each tensor once" in capsys.readouterr().err


def test_status_of_a_kept_node(tmp_path, rng, capsys):
    case = cases.rnn_case(RnnSpec("lstm", 2, 5, 3), 4, 3, rng, "float32")
    graph_def, _ = graphs.graph_of("CudnnRNNV3", case, dropout=0.5)
    source = tmp_path / "graph.pb"
    source.write_bytes(graph_def.SerializeToString())
    assert command.main([str(source), str(tmp_path / "a.pb")]) == 1
    assert "dropout=0.5" in capsys.readouterr().out
    assert command.main([str(source), str(tmp_path / "b.pb"), "--inference"]) == 0


def test_errors_are_one_line(frozen, capsys):
    assert command.main([str(frozen / "none.pb"), str(frozen / "new.pb")]) == 2
    assert command.main([str(frozen / "graph.pb"), str(frozen / "graph.pbtxt")]) == 2
    (frozen / "bad.pb").write_bytes(b"\xff\xff\xff")
    assert command.main([str(frozen / "bad.pb"), str(frozen / "new.pb")]) == 2
    (frozen / "folder").mkdir()
    assert command.main([str(frozen / "folder"), str(frozen / "new")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4, lines
    assert lines[0].endswith("none.pb does not exist.")
    assert all(line.startswith("python -m tf_rnn_ops portable: ") for line in lines)


def test_bad_inputs_are_one_line(frozen, capsys):
    (frozen / "text.npz").write_text("no arrays")
    np.save(frozen / "one.npy", np.zeros(3))
    np.savez(frozen / "wrong.npz", **{"input:0": np.zeros(3, "f")})
    np.savez(frozen / "empty.npz")
    np.savez(frozen / "typo.npz", **{"typo:0": np.zeros(3, "f")})
    for name in ("none.npz", "typo.npz", "text.npz", "one.npy", "wrong.npz", "empty.npz"):
        arguments = [frozen / "graph.pb", frozen / "new.pb", "--verify-inputs", frozen / name]
        arguments += ["--outputs", "output:0"]
        assert command.main([str(a) for a in arguments]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("python -m tf_rnn_ops portable: "), line
        assert not (frozen / "new.pb").exists()


def test_a_stateful_keras_model(tmp_path, rng, capsys):
    layer = tf_rnn_ops.keras.LSTM(4, stateful=True)
    model = keras.Sequential([keras.Input(batch_shape=(2, None, 3)), layer])
    model.export(str(tmp_path / "model"))
    arguments = [str(tmp_path / "model"), str(tmp_path / "new")]
    # Keras exports an open batch size, and the check makes up another one than the states have.
    assert command.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--verify-inputs" in line
    assert not (tmp_path / "new").exists()
    signature = tf.saved_model.load(arguments[0]).signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    np.savez(tmp_path / "inputs.npz", **{name: rng.standard_normal((2, 5, 3)).astype("f")})
    assert command.main([*arguments, "--verify-inputs", str(tmp_path / "inputs.npz")]) == 0


def test_a_failed_check_leaves_no_file(frozen):
    arguments = [frozen / "graph.pb", frozen / "new.pb", "--verify-inputs", frozen / "inputs.npz"]
    assert command.main([*map(str, arguments), "--outputs", "typo:0"]) == 2
    assert not (frozen / "new.pb").exists()
    assert command.main([*map(str, arguments), "--outputs", *graphs.OUTPUTS]) == 0


def _refusal(arguments, capsys):
    """The one line of a call that fails."""
    assert command.main([str(a) for a in arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_graph_without_outputs_is_said_to_be_unchecked(frozen, capsys):
    arguments = [str(frozen / "graph.pb"), str(frozen / "new.pb")]
    assert command.main(arguments) == 0
    assert "  not checked: give --outputs TENSOR" in capsys.readouterr().out
    (frozen / "new.pb").unlink()
    assert command.main([*arguments, "--no-verify"]) == 0
    assert "not checked" not in capsys.readouterr().out


def test_a_model_without_signatures_is_said_to_be_unchecked(tmp_path, rng, capsys):
    tf.saved_model.save(nested_model.Model(rng), str(tmp_path / "model"), signatures={})
    assert command.main([str(tmp_path / "model"), str(tmp_path / "new")]) == 0
    assert "  not checked: the model has no signature" in capsys.readouterr().out


def test_a_graph_that_lacks_its_inputs(frozen, capsys):
    arguments = [frozen / "graph.pb", frozen / "new.pb", "--outputs", "output:0"]
    assert "The original graph does not run without inputs: " in _refusal(arguments, capsys)


def test_flags_without_effect_are_refused(frozen, tmp_path, rng, capsys):
    model = tmp_path / "model"
    tf.saved_model.save(nested_model.Model(rng), str(model))
    graph, inputs = frozen / "graph.pb", ["--verify-inputs", frozen / "inputs.npz"]
    for source, flags, named in (
        (model, ["--outputs", "y:0"], "--outputs is for a GraphDef"),
        (graph, inputs, "--verify-inputs has no effect on a GraphDef without --outputs"),
        (graph, ["--no-verify", *inputs], "--verify-inputs has no effect with --no-verify"),
        (graph, ["--no-verify", "--outputs", "y:0"], "--outputs has no effect with --no-verify"),
    ):
        assert named in _refusal([source, frozen / "new", *flags], capsys)
        assert not (frozen / "new").exists()


@pytest.mark.parametrize("suffix", ["pb", "pbtxt"])
def test_files_without_a_graph_are_refused(frozen, suffix, capsys):
    (frozen / f"empty.{suffix}").write_bytes(b"")
    line = _refusal([frozen / f"empty.{suffix}", frozen / "new.pb"], capsys)
    assert f"empty.{suffix} must hold a GraphDef with nodes" in line
    assert not (frozen / "new.pb").exists()


def test_the_file_of_a_saved_model_is_refused(tmp_path, rng, capsys):
    tf.saved_model.save(nested_model.Model(rng), str(tmp_path / "model"))
    line = _refusal([tmp_path / "model" / "saved_model.pb", tmp_path / "new.pb"], capsys)
    assert "GraphDef" in line and not (tmp_path / "new.pb").exists()


def test_a_failure_leaves_no_file_in_new_folders(frozen, capsys):
    arguments = [frozen / "graph.pb", frozen / "failed" / "parent" / "new.pb"]
    arguments += ["--verify-inputs", frozen / "inputs.npz", "--outputs"]
    _refusal([*arguments, "nothere:0"], capsys)
    assert [*frozen.glob("failed/**/*")] == [frozen / "failed" / "parent"]
    assert command.main([str(a) for a in [*arguments, "output:0"]]) == 0
    assert (frozen / "failed" / "parent" / "new.pb").is_file()


def test_a_target_below_a_file(frozen, capsys):
    line = _refusal([frozen / "graph.pb", frozen / "graph.pbtxt" / "new" / "new.pb"], capsys)
    assert "graph.pbtxt" in line and (frozen / "graph.pbtxt").is_file()
