"""Rewritten SavedModels: loaded by processes without this package, compared and trained."""

import pathlib

import graphs
import nested_model
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from ops.stock.gpu_model import read_model, write_model
from support import cases
from support.reference.spec import RnnSpec
from tf_rnn_ops import portable

SPEC = RnnSpec("lstm", 2, 5, 3, "bidirectional", num_proj=4)
LENGTHS = np.array([6, 1, 4, 6])


def meta_graph_of(folder):
    data = (pathlib.Path(folder) / "saved_model.pb").read_bytes()
    (meta_graph,) = saved_model_pb2.SavedModel.FromString(data).meta_graphs
    return meta_graph


def ops_of(folder):
    """The ops of a rewritten model, all of which its list has."""
    meta_graph = meta_graph_of(folder)
    listed = {op.name for op in meta_graph.meta_info_def.stripped_op_list.op}
    used = graphs.ops_in(meta_graph.graph_def)
    assert used <= listed
    return used


def test_a_gpu_model_runs_and_trains(tmp_path, rng):
    case = cases.rnn_case(SPEC, 6, 4, rng, "float64", LENGTHS)
    write_model(tmp_path, SPEC, case)
    target = tmp_path / "rewritten"
    report = portable.rewrite_saved_model(tmp_path / "model", target)
    assert report.ok, report
    assert [c.op for c in report.changed] == ["CudnnRNNV3"] * len(report.changed) != []
    names = {c.name.removeprefix("serving_default: ") for c in report.compared}
    assert names == {"output", "output_h", "output_c"}
    assert "CudnnRNNV3" not in ops_of(target)
    assert not (target / "fingerprint.pb").exists()

    got = read_model(tmp_path, case, "nothing", model=target)
    torch_rnn = pytest.importorskip("ops.parity.torch_rnn", reason="needs torch")
    want = torch_rnn.run(case)
    for name in ("output", "output_h", "input_backprop", "input_h_backprop", "params_backprop"):
        np.testing.assert_allclose(got[name], want[name], rtol=1e-10, atol=1e-12, err_msg=name)
    assert np.all(np.diff(got["losses"]) < 0), got["losses"]


@pytest.fixture
def nested(tmp_path, rng):
    model = nested_model.Model(rng)
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=model.run)
    return tmp_path / "model"


def test_nodes_in_branches_loops_and_calls(nested, tmp_path):
    before = (nested / "saved_model.pb").read_bytes()
    inputs = {"x": np.random.default_rng(3).standard_normal((6, 2, nested_model.INPUT_SIZE))}
    report = portable.rewrite_saved_model(nested, tmp_path / "new", verify_inputs=inputs)
    assert report.ok, report
    assert len({change.place for change in report.changed}) >= 3
    assert len(report.compared) == 3
    assert not any(op.startswith("CudnnRNN") for op in ops_of(tmp_path / "new"))
    assert (nested / "saved_model.pb").read_bytes() == before


def test_a_rewritten_model_does_not_change(nested, tmp_path):
    assert portable.rewrite_saved_model(nested, tmp_path / "plain").changed
    report = portable.rewrite_saved_model(tmp_path / "plain", tmp_path / "again")
    assert report.ok and not report.changed and len(report.compared) == 3


def test_a_failed_check_leaves_nothing(nested, tmp_path):
    with pytest.raises(ValueError, match="'typo'"):
        portable.rewrite_saved_model(nested, tmp_path / "new", verify_inputs={"typo": np.zeros(3)})
    assert not (tmp_path / "new").exists()
    assert portable.rewrite_saved_model(nested, tmp_path / "new").ok


def test_the_target_appears_after_the_check(nested, tmp_path, monkeypatch):
    seen = []

    def verify(source, target, verify_inputs):
        seen.append((target / "saved_model.pb").is_file())
        assert not (tmp_path / "new").exists()  # a check that aborts leaves no target
        return []

    monkeypatch.setattr(portable._verify, "verify_saved_model", verify)
    assert portable.rewrite_saved_model(nested, tmp_path / "new").ok
    assert seen == [True] and sorted(p.name for p in tmp_path.iterdir()) == ["model", "new"]


class _Named(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "names")])
    def run(self, names):
        return {"lengths": tf.strings.length(names)}


def test_the_check_has_strings(tmp_path):
    module = _Named()
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=module.run)
    report = portable.rewrite_saved_model(tmp_path / "model", tmp_path / "new")
    assert report.ok and len(report.compared) == 1


def test_refusals(nested, tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        portable.rewrite_saved_model(tmp_path / "nowhere", tmp_path / "new")
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="there exists: give a new path.$"):
        portable.rewrite_saved_model(nested, tmp_path / "there")
    with pytest.raises(ValueError, match="'z'"):
        portable.verify_saved_model(nested, nested, {"z": np.zeros(3)})
    assert not (tmp_path / "new").exists()


def test_a_target_inside_the_source_is_refused(nested, tmp_path):
    before = sorted(nested.rglob("*"))
    (tmp_path / "link").symlink_to(nested)
    for target in (nested / "inside", nested / "new" / "inside", tmp_path / "link" / "inside"):
        with pytest.raises(ValueError, match="target must be outside of source"):
            portable.rewrite_saved_model(nested, target)
    assert sorted(nested.rglob("*")) == before


def test_models_without_nodes_are_refused(tmp_path):
    model = saved_model_pb2.SavedModel()
    for graphs_in_it in range(2):
        folder = tmp_path / f"model{graphs_in_it}"
        folder.mkdir()
        (folder / "saved_model.pb").write_bytes(model.SerializeToString())
        with pytest.raises(ValueError, match="must hold the graph of a SavedModel"):
            portable.rewrite_saved_model(folder, tmp_path / "new", verify=False)
        assert not (tmp_path / "new").exists()
        model.meta_graphs.add()


def test_two_graphs_of_tensorflow_1(tmp_path, rng):
    """For training and serving: both are rewritten and checked."""
    case = cases.rnn_case(RnnSpec("gru", 1, 4, 3), 5, 2, rng, "float32")
    v1 = tf.compat.v1
    builder = v1.saved_model.Builder(str(tmp_path / "model"))
    for tag in ("train", "serve"):
        graph_def, feeds = graphs.graph_of("CudnnRNNV3", case, known_batch=True)
        with tf.Graph().as_default(), v1.Session() as session:
            tf.import_graph_def(graph_def, name="")
            get = v1.get_default_graph().get_tensor_by_name
            signature = v1.saved_model.predict_signature_def(
                {name.split(":")[0]: get(name) for name in feeds}, {"y": get("output:0")}
            )
            if tag == "train":
                builder.add_meta_graph_and_variables(session, [tag], {"run": signature})
            else:
                builder.add_meta_graph([tag], {"run": signature})
    builder.save()
    inputs = {name.split(":")[0]: array for name, array in feeds.items()}
    report = portable.rewrite_saved_model(
        tmp_path / "model", tmp_path / "new", verify_inputs=inputs
    )
    assert report.ok and len(report.changed) == 2, report
    assert [c.name for c in report.compared] == ["train: run: y", "serve: run: y"]


def test_a_check_of_what_cannot_be_read(nested, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "saved_model.pb").write_bytes(b"\xff\xff\xff")
    for pair, which in (((broken, nested), "original"), ((nested, broken), "rewritten")):
        with pytest.raises(ValueError, match=f"The {which} model cannot be loaded: "):
            portable.verify_saved_model(*pair)


class _Signatures(tf.Module):
    """Signatures by name, each with outputs that double its argument."""

    def __init__(self, outputs):
        self.functions = {name: self._function(names) for name, names in outputs.items()}

    @staticmethod
    def _function(names):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
        def run(x):
            return {name: 2 * x for name in names}

        return run

    def save(self, folder):
        tf.saved_model.save(self, str(folder), signatures=self.functions)
        return folder


def test_what_only_one_model_has_is_reported(tmp_path):
    less = _Signatures({"run": ["a"]}).save(tmp_path / "less")
    more = _Signatures({"run": ["a", "b"], "walk": ["c"]}).save(tmp_path / "more")
    for pair, which in (((less, more), "rewritten"), ((more, less), "original")):
        found = {c.name: c for c in portable.verify_saved_model(*pair)}
        assert set(found) == {"run: a", "run: b", "walk"}
        assert [name for name, c in found.items() if c.ok] == ["run: a"]
        assert all(which in found[name].fault for name in ("run: b", "walk"))
    assert all(c.ok for c in portable.verify_saved_model(more, more))


def test_a_graph_that_only_one_model_has_is_reported(tmp_path):
    v1 = tf.compat.v1

    def save(name, *tags):
        builder = v1.saved_model.Builder(str(tmp_path / name))
        for k, tag in enumerate(tags):
            with tf.Graph().as_default(), v1.Session() as session:
                x = v1.placeholder(tf.float32, [None], "x")
                signature = v1.saved_model.predict_signature_def({"x": x}, {"y": 2 * x})
                add = builder.add_meta_graph if k else builder.add_meta_graph_and_variables
                add(*([] if k else [session]), [tag], {"run": signature})
        builder.save()
        return tmp_path / name

    one, two = save("one", "serve"), save("two", "train", "serve")
    for pair, which in (((one, two), "rewritten"), ((two, one), "original")):
        found = {c.name: c for c in portable.verify_saved_model(*pair)}
        assert {name: c.ok for name, c in found.items()} == {"train": False, "serve: run: y": True}
        assert which in found["train"].fault


def test_made_up_integers_tell_an_order(tmp_path):
    """Words in another order, and other lengths, have other results."""
    rows = tf.constant(np.random.default_rng(0).standard_normal((4, 2)), tf.float32)

    class Module(tf.Module):
        def __init__(self, wrong):
            super().__init__()
            self.wrong = wrong

        @tf.function(
            input_signature=[tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)]
        )
        def serve(self, words, lengths):
            words = words[:, ::-1] if self.wrong == "words" else words
            lengths = lengths[::-1] if self.wrong == "lengths" else lengths
            x = tf.gather(rows, words) * tf.range(1.0, 4.0)[:, None]
            return x * tf.sequence_mask(lengths, 3, tf.float32)[:, :, None]

    paths = {wrong: str(tmp_path / wrong) for wrong in ("no", "words", "lengths")}
    for wrong, path in paths.items():
        tf.saved_model.save(Module(wrong), path)
    assert all(c.ok for c in portable.verify_saved_model(paths["no"], paths["no"]))
    for wrong in ("words", "lengths"):
        assert not all(c.ok for c in portable.verify_saved_model(paths["no"], paths[wrong]))
