// The backward pass of a stack, in the type of the arithmetic (float or double).
//
// Note [Backward schedule]
// Layers run from the last to the first. In each layer, every direction and slice of the batch runs
// back through time. A step computes the gradients of the gates from dh, and dh of the step before
// from the gradients of the gates and the recurrent weights. The gradients of the gates are kept
// for all rows. Then dx (by blocks of rows) and the weight gradients (by panels) are computed as
// products over all rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cc/cpu/cell/cells.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/pass/backward/cell_gradients.h"
#include "cc/cpu/pass/backward/plan.h"
#include "cc/cpu/pass/backward/products.h"
#include "cc/cpu/pass/backward/slice.h"
#include "cc/cpu/pass/memory/reserve.h"
#include "cc/cpu/pass/slice.h"
#include "cc/cpu/pass/weights/cell_inputs.h"
#include "cc/cpu/pass/weights/layer_norm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/dropout_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/rows/zoneout_masks.h"
#include "cc/cpu/simd/operand.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// The implementation of rnn_backward in the kernel table.
template <typename T>
class BackwardPass {
 public:
  explicit BackwardPass(const RnnArgs& args)
      : p_(args.problem), parallel_(args.parallel), plan_(p_, parallel_.threads) {}

  // Measures or allocates the memory.
  void Take(Arena& arena) { plan_.Take(p_, arena); }
  ReserveSizes reserve_sizes() const {
    return {ReserveOn(nullptr).bytes(), LongestReserveBytes(p_, plan_.layer.sizes)};
  }
  // Whether an input of a 16-bit type is read in its own type, or not at all.
  bool ReadsAsIs(Arg arg) const {
    // Pairs are packed from bfloat16.
    return arg == Arg::output_h || arg == Arg::output_c || (pairs() && IsPackable(arg));
  }
  // Gradients are sums in T, also those of weights that are read as bfloat16.
  bool WritesAsIs(Arg) const { return false; }

  KernelResult Run(const RnnArgs& args, void* reserve_space) {
    const CallTensors& t = args.tensors;
    const Sizes<T>& s = plan_.layer.sizes;
    const Reserve<T> reserve = ReserveOn(reserve_space);
    if (!ReadHeader(reserve)) return kOtherReserve;
    DrawZoneoutMasks(p_, plan_.seq, s.units, s.padded, plan_.zoneout_masks, parallel_);
    const CellInputs<T> inputs =
        CellInputsOf(p_, t, s, plan_.peepholes, plan_.layer_norm, plan_.zoneout_masks);
    plan_.layer.cells = WithCell(p_, [&](auto cell) {
      using Cell = decltype(cell);
      return GradientRunnerOf<Cell>(cell_.template Make<Cell>(inputs));
    });
    SetStates(t);
    ZeroPadding(plan_.seq, UserRows(plan_.seq, t.out<T>(Arg::input), p_.input_size), p_.input_size,
                parallel_);
    for (int64_t l = p_.num_layers - 1; l >= 0; --l) {
      SetRows(t, reserve, l);
      RunLayer(t, reserve, l);
    }
    return kDone;
  }

 private:
  bool pairs() const { return plan_.layer.sizes.operands == OperandType::kPairs; }

  Reserve<T> ReserveOn(void* base) const {
    return MakeReserve<T>(base, plan_.rows, plan_.layer.sizes, p_.num_layers);
  }

  // Reads the header and the dropout key. Returns false if the reserve space belongs to
  // another problem.
  bool ReadHeader(const Reserve<T>& reserve) {
    ReserveHeader header;
    std::memcpy(&header, reserve.header, sizeof(header));
    std::copy_n(header.dropout_key, 2, p_.dropout_key);
    return header.magic == kReserveMagic && header.version == kReserveVersion &&
           header.vector_bytes == kLanes<T> * sizeof(T) &&
           header.fingerprint == Fingerprint(p_, pairs());
  }

  void SetStates(const CallTensors& t) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    layer.h0 = MakeStateRows(p_, t.in<T>(Arg::input_h), s.hidden);
    layer.c0 = MakeStateRows(p_, t.in<T>(Arg::input_c), s.units);
    layer.dh_n = MakeStateRows(p_, t.in<T>(Arg::output_h_backprop), s.hidden);
    layer.dc_n = MakeStateRows(p_, t.in<T>(Arg::output_c_backprop), s.units);
    layer.dh0 = MakeStateRows(p_, t.out<T>(Arg::input_h), s.hidden);
    layer.dc0 = MakeStateRows(p_, t.out<T>(Arg::input_c), s.units);
    layer.input_masks = MasksOf<T>(p_, t, Arg::input_mask);
    layer.recurrent_masks = MasksOf<T>(p_, t, Arg::recurrent_mask);
  }

  // Sets x, y and their gradients for layer l. The layers above l are done.
  void SetRows(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sequence& seq = plan_.seq;
    const int64_t output = layer.sizes.output;
    if (l + 1 == p_.num_layers) {
      layer.y = UserRows(seq, t.in<T>(Arg::output), output);
      layer.dy = UserRows(seq, t.in<T>(Arg::output_backprop), output);
    } else {
      T* const dy = plan_.between[(l + 1) % 2];
      if (p_.dropout > 0) DropRows<T>(p_, seq, l, output, dy, dy, parallel_);
      layer.y = PackedRows(seq, static_cast<const T*>(reserve.LayerOutput(l)), output);
      layer.dy = PackedRows(seq, static_cast<const T*>(dy), output);
    }
    layer.in = l == 0 ? p_.input_size : output;
    layer.skip_input = p_.skips_input(l);
    layer.first_pseudo_layer = l * p_.num_dirs();
    if (l == 0) {
      layer.x = UserRows(seq, t.in<T>(Arg::input), p_.input_size);
      layer.dx = UserRows(seq, t.out<T>(Arg::input), p_.input_size);
      return;
    }
    const T* x = reserve.LayerOutput(l - 1);
    if (p_.dropout > 0) {
      DropRows<T>(p_, seq, l - 1, output, x, plan_.dropped, parallel_);
      x = plan_.dropped;
    }
    layer.x = PackedRows(seq, x, output);
    layer.dx = PackedRows(seq, plan_.between[l % 2], output);
  }

  void RunLayer(const CallTensors& t, const Reserve<T>& reserve, int64_t l) {
    BackwardLayer<T>& layer = plan_.layer;
    const Sizes<T>& s = layer.sizes;
    WeightSource<T> src[2];
    WeightViews<T> to[2];
    for (int d = 0; d < p_.num_dirs(); ++d) {
      src[d] = SourceOf(p_, s, t, l, d);
      to[d] = TargetOf<T>(p_, s, t, l, d);
      if (p_.has_layer_norm) to[d].input_bias = nullptr;  // LayerNormGradients computes it
      const auto saved = reserve.At(layer.first_pseudo_layer + d);
      layer.dirs[d].gates = saved.gates;
      layer.dirs[d].c = saved.c;
    }
    PackBackwardWeights(layer, src, plan_.split, parallel_);
    RunBackwardRecurrence(layer, plan_.split, parallel_);
    RunBackwardProducts(layer, to, parallel_);
    if (p_.has_peepholes) {
      T* const first = t.out<T>(Arg::peepholes);
      PeepholeGradients(layer, {first, first + s.units, first + 2 * s.units}, parallel_);
    }
    if (p_.has_layer_norm) {
      LayerNormGradients(layer, t.out<T>(Arg::layer_norm),
                         p_.bias_rows > 0 ? t.out<T>(Arg::bias) : nullptr, parallel_);
    }
  }

  RnnProblem p_;  // with the dropout_key from the reserve space
  const ParallelFor& parallel_;
  BackwardPlan<T> plan_;
  CellStorage<T> cell_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
