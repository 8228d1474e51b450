"""A toy cell by docs/adding-a-cell.md: h' = h / 2 + tanh(x W + h R + b) / 2, rnn_mode 'toy'.

A file of the page has a fragment: the text of a new file, or pairs of lines that are in the file and of
lines that replace them.
"""

_CPU_CELL = """\
// A toy: h = h_prev / 2 + tanh(.) / 2.
#pragma once

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/cell/vanilla.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

struct Toy {
  static constexpr bool kInStacks = true;

  static constexpr CellFormat Format(int32_t /*weight_layout*/) {
    CellFormat f = {1, 1, {1, {0}}, {1, {0}}};
    f.saves_gates = true;
    f.carries_h = true;
    return f;
  }

  template <typename T>
  using Tensors = TanhFunction<T>;

  template <typename T, int NV>
  struct Forward : SumsInGates<T, NV, 1> {
    Forward(const StepRows<T>& rows, const TanhFunction<T>&) : SumsInGates<T, NV, 1>{rows} {}

    EIGEN_ALWAYS_INLINE void Finish(int64_t i, int64_t panel, const Packet<T>* acc) const {
      const StepRows<T>& rows = this->rows;
      for (int v = 0; v < NV; ++v) {
        const int64_t unit = (rows.first_block + panel * NV + v) * kLanes<T>;
        const Packet<T> made = Tanh<T>(acc[v]);
        const Packet<T> h_prev = LoadFirst(rows.h_prev[i] + unit, rows.units - unit);
        Store(rows.gates[i] + unit, made);
        rows.StoreOut(i, unit, pmul(Set<T>(T(0.5)), padd(h_prev, made)));
      }
    }
  };

  // dgate = dh / 2 * tanh'(.); dh / 2 of dh_prev bypasses the weights.
  template <typename T>
  static void Backward(const UnitRange& range, const PastRow<T>& past, const GradientRow<T>& row,
                       const TanhFunction<T>& function) {
    ForUnitBlocks<T>(range, [&](int64_t unit) {
      const Packet<T> half =
          pmul(Set<T>(T(0.5)), LoadGradient<T>(row.dh, row.dy, unit, range.size));
      const Packet<T> slope = function.Slope(Load(past.gates + unit));
      StoreGradient<1, T>(row.dgates, unit, 0, pmul(half, slope), range.size);
      Store(row.dh + unit, half);
    });
  }
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

"""

_GPU_CELL = """\
// A toy: h = h_prev / 2 + tanh(.) / 2.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"

namespace rnn_ops {
namespace gpu {
namespace elementwise {

template <typename A>
struct Toy {
  enum { kGates = 1, kSaved = 1, kHasC = 0, kCarriesH = 1 };

  RNN_OPS_DEVICE static void Forward(const CellArgs<A>& args, const A* x, const A* h, A* saved, A*,
                                     A* h_new) {
    saved[0] = args.State(x[0] + h[0]);
    *h_new = (args.h_prev + saved[0]) / A(2);
  }

  RNN_OPS_DEVICE static void Backward(const CellArgs<A>& args, const A* saved, A dh,
                                      CellGradients<A>* d) {
    d->direct = dh / A(2);
    d->dx[0] = d->dh[0] = d->direct * args.StateSlope(saved[0]);
  }
};

}  // namespace elementwise
}  // namespace gpu
}  // namespace rnn_ops

"""


def _before(line, text):
    return line, text + line


def _after(line, text):
    return line, line + text


CPP = {
    "cc/core/op/rnn_types.h": [
        _after("  kVanilla = 5,  // one gate with any activation\n", "  kToy = 6,\n"),
        _after(
            '    {RnnMode::kVanilla, "rnn", 1, 1, false, true, false, false, false},\n',
            '    {RnnMode::kToy, "toy", 1, 1, false, false, false, false, false},\n',
        ),
    ],
    "cc/cpu/cell/toy.h": _CPU_CELL,
    "cc/cpu/cell/cells.h": [
        _before('#include "cc/cpu/cell/vanilla.h"\n', '#include "cc/cpu/cell/toy.h"\n'),
        _before(
            "    case RnnMode::kVanilla:\n", "    case RnnMode::kToy:\n      return fn(Toy());\n"
        ),
    ],
    "cc/gpu/kernels/cells/toy.h": _GPU_CELL,
    "cc/gpu/kernels/layer_kernels.h": [
        _before(
            '#include "cc/gpu/kernels/cells/vanilla.h"\n',
            '#include "cc/gpu/kernels/cells/toy.h"\n',
        )
    ],
    "cc/gpu/kernels/kernel_list.h": [
        _before(
            "  K(reset_before_step_##suffix, LayerStep, StepResetBefore<A>)                  \\\n",
            "  K(toy_step_##suffix, LayerStep, (StepCell<Toy, A>))                           \\\n"
            "  K(toy_back_##suffix, LayerBackStep, (BackCell<Toy, A>))                       \\\n",
        )
    ],
    "cc/gpu/steps/layer.cc": [
        (
            "    case RnnMode::kRelu:\n    case RnnMode::kTanh:\n    case RnnMode::kVanilla:\n"
            "      break;\n",
            "    case RnnMode::kToy:\n"
            "      return RowOf<elementwise::Toy<float>>(Kernel::toy_step_f32, Kernel::toy_back_f32);\n"
            "    case RnnMode::kRelu:\n    case RnnMode::kTanh:\n    case RnnMode::kVanilla:\n"
            "      break;\n",
        )
    ],
}

PYTHON = {
    "tf_rnn_ops/plain/cells.py": [
        _before(
            "# {rnn_mode: function of a cell, the product of h,",
            "def _toy(cell, sums, xw, h):\n    del cell\n    return [0.5 * (h + tf.tanh(xw + sums))]\n\n\n",
        ),
        ('    "rnn_relu": _relu,\n}\n', '    "rnn_relu": _relu,\n    "toy": _toy,\n}\n'),
    ],
    "tf_rnn_ops/params/gates.py": [('"rnn_relu": 1}\n', '"rnn_relu": 1, "toy": 1}\n')],
    "tf_rnn_ops/raw_ops/layer_rnn.py": [
        _after(
            "        'rnn'               1; 'rnn_tanh' and 'rnn_relu' have that activation compiled in\n",
            "        'toy'               1; half of the old h, and half of a tanh\n",
        )
    ],
}

TESTS = {
    "tests/support/reference/spec.py": [
        _before(
            "}\nGATES = ",
            '    "toy": Cell(\n        1, (0,), activation=False, recurrent_activation=False, '
            'drawn_for=("rnn_tanh",), percent=30\n    ),\n',
        )
    ],
    "tests/support/reference/cells.py": [
        _before(
            "def given_outputs(mode, cache, h_prev, h):\n",
            "def toy_step(a, u, h, c, cell, q=exact):\n"
            "    made = q(np.tanh(q(a[0] + u[0])))\n"
            "    return q(0.5 * q(h + made)), c, (made, _smooth(made))\n\n\n"
            "def toy_step_grad(dh, dc, cache, cell, q=exact):\n"
            "    half = q(0.5 * dh)\n"
            "    da = q(half * q(1 - q(cache[0] * cache[0])))[None]\n"
            "    return da, da, half, dc, None\n\n\n",
        ),
        _after(
            '    "rnn_relu": (relu_step, relu_step_grad),\n',
            '    "toy": (toy_step, toy_step_grad),\n',
        ),
    ],
    "tests/cc/cpu/layer_reference.cc": [
        (
            "      if (G_ == 1) std::copy_n(given, H_,",
            "      if (G_ == 1 && p_.mode != RnnMode::kToy) std::copy_n(given, H_,",
        ),
        _after(
            "        s->h[u] = gate(0) = Apply(act_, Sum(*s, 0, u));\n",
            "        if (p_.mode == RnnMode::kToy) s->h[u] = 0.5 * (s->h_prev[u] + gate(0));\n",
        ),
        (
            "        put(0, dhu * act_.SlopeOf(gate(0)));\n",
            "        const double part = p_.mode == RnnMode::kToy ? 0.5 : 1;\n"
            "        put(0, part * dhu * act_.SlopeOf(gate(0)));\n"
            "        if (p_.mode == RnnMode::kToy) before[u] = 0.5 * dhu;\n",
        ),
        (
            "    case kGruResetBefore:\n      return 3;\n",
            "    case kGruResetBefore:\n      return 3;\n    case RnnMode::kToy:\n      return 1;\n",
        ),
    ],
}


def apply(root):
    """Adds the cell to a copy of the tree.

    Raises:
        ValueError: A fragment does not fit the file.
    """
    for path, fragment in (CPP | PYTHON | TESTS).items():
        file = root / path
        if isinstance(fragment, str):
            if file.exists():
                raise ValueError(f"{path} exists")
            file.write_text(fragment)
            continue
        text = file.read_text()
        for old, new in fragment:
            if text.count(old) != 1:
                raise ValueError(f"{path} has {text.count(old)} times, expected once: {old!r}")
            text = text.replace(old, new)
        file.write_text(text)
