"""params.from_torch and to_torch, against names and shapes written out here and live torch."""

import dataclasses
import operator

import ml_dtypes
import numpy as np
import op_runs
import pytest

from support import cases
from support.reference import layout as reference_layout
from tf_rnn_ops import params

DTYPES = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)


def _spec(rng, **changes):
    spec = dataclasses.replace(cases.random_spec(rng), input_mode="linear_input", **changes)
    return dataclasses.replace(spec, num_proj=spec.num_proj if spec.has_projection else 0)


def _state_dict(spec, buffer):
    """As torch names and shapes the weights of its modules."""
    state_dict = {}
    for k, cell in enumerate(reference_layout.unpack(spec, buffer)):
        where = f"_l{k // spec.directions}" + ("_reverse" if k % spec.directions else "")
        rows = spec.gates * spec.units
        state_dict["weight_ih" + where] = cell.w.reshape(rows, -1)
        state_dict["weight_hh" + where] = cell.r.reshape(rows, -1)
        state_dict["bias_ih" + where] = cell.bw.reshape(rows)
        state_dict["bias_hh" + where] = cell.br.reshape(rows)
        if cell.proj is not None:
            state_dict["weight_hr" + where] = cell.proj
    return state_dict


def _buffer(spec, rng, dtype=np.float32):
    buffer = rng.standard_normal(reference_layout.params_size(spec)).astype(dtype)
    buffer[::7] = -0.0
    return buffer


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_to_the_bit(dtype, rng):
    for _ in range(25):
        spec = _spec(rng)
        buffer = _buffer(spec, rng, dtype)
        state_dict = _state_dict(spec, buffer)
        converted = params.from_torch(state_dict, rnn_mode=spec.rnn_mode)
        assert op_runs.same_bits(converted.params, buffer), spec
        for name in ("rnn_mode", "input_size", "direction", "num_proj"):
            assert getattr(converted.layout, name) == getattr(spec, name)
        assert (converted.layout.num_layers, converted.layout.num_units) == (
            spec.layers,
            spec.units,
        )
        back = params.to_torch(*converted)
        assert back.keys() == state_dict.keys()
        assert all(op_runs.same_bits(back[name], state_dict[name]) for name in back), spec


def test_the_result_does_not_share_memory(rng):
    spec = _spec(rng)
    buffer = _buffer(spec, rng)
    converted = params.from_torch(_state_dict(spec, buffer), rnn_mode=spec.rnn_mode)
    back = params.to_torch(*converted)
    assert not any(np.shares_memory(array, converted.params) for array in back.values())


def test_prefix_and_other_modules(rng):
    spec = _spec(rng)
    buffer = _buffer(spec, rng)
    model = {f"encoder.rnn.{n}": a for n, a in _state_dict(spec, buffer).items()}
    model |= {"head.weight": np.zeros((2, 2)), "encoder.rnn.norm.weight": np.zeros(2)}
    converted = params.from_torch(model, spec.rnn_mode, prefix="encoder.rnn.")
    assert op_runs.same_bits(converted.params, buffer)
    assert params.to_torch(*converted, prefix="encoder.rnn.").keys() <= model.keys()
    with pytest.raises(ValueError, match=r"no tensor named weight_ih_l0\..*'encoder\.rnn\.'"):
        params.from_torch(model, spec.rnn_mode)


def test_without_bias(rng):
    spec = _spec(rng)
    state_dict = _state_dict(spec, _buffer(spec, rng))
    weights = {name: array for name, array in state_dict.items() if name.startswith("weight")}
    converted = params.from_torch(weights, spec.rnn_mode)
    _, biases = converted.layout.unpack(converted.params)
    assert not any(bias.any() for bias in biases)
    back = params.to_torch(*converted, bias=False)
    assert back.keys() == weights.keys()
    assert all(op_runs.same_bits(back[name], weights[name]) for name in back)
    for bias in (converted.layout.biases[0], converted.layout.biases[-1]):  # input, recurrent
        buffer = converted.params.copy()
        buffer[bias.offset] = 1
        with pytest.raises(ValueError, match="bias=False"):
            params.to_torch(converted.layout, buffer, bias=False)


def test_skipped_input_becomes_identity_weights(rng):
    for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        layout = params.Layout(mode, 2, 4, 4, input_mode="skip_input", direction="bidirectional")
        buffer = 0.5 * rng.standard_normal(layout.size)
        x = rng.standard_normal((5, 3, 4))
        linear = params.from_torch(params.to_torch(layout, buffer), mode)
        assert linear.layout.input_mode == "linear_input"
        for got, want in zip(op_runs.run(*linear, x), op_runs.run(layout, buffer, x)):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-14)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("LSTM", "lstm", {}),
        ("LSTM", "lstm", {"proj_size": 3}),
        ("LSTM", "lstm", {"bias": False}),
        ("GRU", "gru", {}),
        ("GRU", "gru", {"bias": False}),
        ("RNN", "rnn_tanh", {"nonlinearity": "tanh"}),
        ("RNN", "rnn_relu", {"nonlinearity": "relu"}),
    ],
)
def test_live_torch(kind, mode, options, bidirectional, rng):
    torch = pytest.importorskip("torch")
    torch.manual_seed(int(rng.integers(1 << 30)))
    make = getattr(torch.nn, kind)
    for layers, units, input_size in ((1, 5, 3), (3, 4, 4)):
        sizes = {"input_size": input_size, "hidden_size": units, "num_layers": layers}
        sizes |= {"bidirectional": bidirectional, "dtype": torch.float64, **options}
        module = make(**sizes)
        x = torch.randn(6, 2, input_size, dtype=torch.float64)
        converted = params.from_torch(module.state_dict(), mode)
        with torch.no_grad():
            want, states = module(x)
        got = op_runs.run(*converted, x.numpy())
        states = states if kind == "LSTM" else (states,)
        for ours, theirs in zip(got, (want, *states)):
            np.testing.assert_allclose(ours, theirs.numpy(), rtol=0, atol=1e-13)
        back = params.to_torch(*converted, bias=options.get("bias", True))
        other = make(**sizes)
        other.load_state_dict({name: torch.from_numpy(array) for name, array in back.items()})
        with torch.no_grad():
            assert torch.equal(other(x)[0], want)


def _good():
    return {
        "weight_ih_l0": np.ones((12, 2)),
        "weight_hh_l0": np.ones((12, 3)),
        "bias_ih_l0": np.ones(12),
        "bias_hh_l0": np.ones(12),
        "weight_ih_l1": np.ones((12, 3)),
        "weight_hh_l1": np.ones((12, 3)),
        "bias_ih_l1": np.ones(12),
        "bias_hh_l1": np.ones(12),
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight_ih_l1": np.ones((12, 6))}, r"weight_ih_l1 must have shape \(12, 3\).*\(12, 6\)"),
        ({"weight_hh_l1": np.ones((9, 3))}, r"weight_hh_l1 must have shape \(12, 3\).*\(9, 3\)"),
        ({"weight_hh_l0": np.ones((15, 3))}, "weight_hh_l0 has 15 rows for 3 units"),
        ({"weight_hh_l0": np.ones(12)}, "weight_hh_l0 must have 2 dimensions"),
        ({"bias_hh_l0": np.ones(11)}, r"bias_hh_l0 must have shape \(12,\).*\(11,\)"),
        ({"bias_ih_l1": None}, "no bias_ih_l1"),
        ({"weight_hh_l1": None}, "no weight_hh_l1"),
        ({"weight_ih_l0_reverse": np.ones((12, 2))}, "no weight_hh_l0_reverse"),
        ({"weight_hr_l0": np.ones((2, 5))}, "weight_hh_l0 has 12 rows for 5 units"),
        ({"weight_xx_l0": np.ones(1)}, "weight_xx_l0, which is not a weight"),
        ({"bias_ih_l0": np.ones(12, np.int32)}, "bias_ih_l0 must hold floating point.*int32"),
        ({"bias_ih_l0": np.ones(12, np.float32)}, "one dtype.*float32, float64"),
        ({"weight_ih_l3": np.ones((12, 3))}, "no weight_(ih|hh)_l2"),
    ],
)
def test_bad_input(change, message):
    assert params.from_torch(_good()).layout.num_layers == 2
    state_dict = {n: a for n, a in (_good() | change).items() if a is not None}
    with pytest.raises(ValueError, match=message):
        params.from_torch(state_dict)


def test_rnn_needs_its_mode():
    state_dict = {"weight_ih_l0": np.ones((3, 2)), "weight_hh_l0": np.ones((3, 3))}
    with pytest.raises(ValueError, match="'rnn_relu' or 'rnn_tanh'.*None"):
        params.from_torch(state_dict)
    with pytest.raises(ValueError, match="'rnn_relu' or 'rnn_tanh'.*'gru'"):
        params.from_torch(state_dict, "gru")
    with pytest.raises(ValueError, match="no tensor named weight_ih_l0"):
        params.from_torch({})


def test_wrong_buffer():
    layout = params.Layout("gru", 1, 3, 2)
    with pytest.raises(ValueError, match=r"shape \(63,\).*\(62,\)"):
        params.to_torch(layout, np.zeros(62))


# ---- modules with code of their own ----


def test_modules_with_code_of_their_own():
    torch = pytest.importorskip("torch")

    class Own(torch.nn.LSTM):
        def forward(self, x, states=None):
            return super().forward(2 * x, states)

    class Renamed(torch.nn.LSTM):
        """Has no method of its own."""

    hooked = torch.nn.GRU(3, 4)
    hooked.register_forward_pre_hook(lambda module, args: (2 * args[0],))
    patched = torch.nn.GRU(3, 4)
    patched.forward = lambda x: x
    for source, prefix, match in (
        (Own(3, 4), "", "The module Own has a method forward of its own"),
        (torch.nn.Sequential(Own(3, 4)), "0.", "The module Own at '0.' has a method forward"),
        (hooked, "", "The module GRU has forward hooks of its own"),
        (patched, "", "The module GRU has a method forward of its own"),
    ):
        with pytest.raises(ValueError, match=match):
            params.from_torch(source, prefix=prefix)
        # A state_dict has no code.
        assert params.from_torch(source.state_dict(), prefix=prefix).layout.num_units == 4
    assert params.from_torch(Renamed(3, 4)).layout.rnn_mode == "lstm"


@pytest.mark.parametrize(
    ("add", "remove"),
    [
        ("parametrizations.weight_norm", "parametrize.remove_parametrizations"),
        ("parametrizations.orthogonal", "parametrize.remove_parametrizations"),
        ("parametrizations.spectral_norm", "parametrize.remove_parametrizations"),
        ("weight_norm", "remove_weight_norm"),
        ("spectral_norm", "remove_spectral_norm"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")
def test_a_weight_that_is_computed_in_each_call(add, remove, rng):
    torch = pytest.importorskip("torch")
    utils = torch.nn.utils
    module = torch.nn.LSTM(3, 4)
    operator.attrgetter(add)(utils)(module, "weight_hh_l0")
    for source, prefix in (
        (module, ""),
        (module.state_dict(), ""),
        (torch.nn.Sequential(module), "0."),
    ):
        with pytest.raises(ValueError, match=rf"{prefix}.*weight_hh_l0.*utils.{remove}\("):
            params.from_torch(source, prefix=prefix)
    x = torch.from_numpy(rng.standard_normal((5, 2, 3)).astype(np.float32))
    want = module.eval()(x)[0].detach()
    operator.attrgetter(remove)(utils)(module, "weight_hh_l0")
    plain = torch.nn.LSTM(3, 4)
    converted = params.from_torch(module)
    plain.load_state_dict({n: torch.from_numpy(a) for n, a in params.to_torch(*converted).items()})
    np.testing.assert_allclose(plain(x)[0].detach(), want, atol=1e-6)


@pytest.mark.parametrize(("kind", "mode"), [("LSTMCell", "lstm"), ("GRUCell", "gru")])
def test_the_weights_of_a_cell(kind, mode):
    torch = pytest.importorskip("torch")
    cell = getattr(torch.nn, kind)(3, 4)
    with pytest.raises(ValueError, match="weight_ih_l0.* a cell"):
        params.from_torch(cell)
    # As the message says.
    converted = params.from_torch(
        {f"{name}_l0": tensor for name, tensor in cell.state_dict().items()}
    )
    assert converted.layout.rnn_mode == mode
    got = params.to_torch(*converted)["weight_hh_l0"]
    np.testing.assert_array_equal(got, cell.weight_hh.detach())


def test_a_module_of_torch_compile():
    torch = pytest.importorskip("torch")
    module = torch.nn.GRU(3, 4)
    compiled = torch.compile(module)
    outer = torch.nn.ModuleDict({"rnn": compiled})
    for source, prefix in ((compiled, ""), (outer, "rnn.")):
        match = f"was made by torch.compile.* or prefix='{prefix}_orig_mod.'"
        with pytest.raises(ValueError, match=match):
            params.from_torch(source, prefix=prefix)
        got = params.from_torch(source, prefix=f"{prefix}_orig_mod.")
        np.testing.assert_array_equal(got.params, params.from_torch(module).params)


def test_a_mode_that_is_not_that_of_the_module():
    torch = pytest.importorskip("torch")
    module = torch.nn.RNN(3, 4, nonlinearity="relu")
    assert params.from_torch(module, rnn_mode="rnn_relu").layout.rnn_mode == "rnn_relu"
    with pytest.raises(
        ValueError, match="rnn_mode must be 'rnn_relu' for the module RNN.* 'rnn_tanh'"
    ):
        params.from_torch(module, rnn_mode="rnn_tanh")
