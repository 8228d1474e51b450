// The steps of LayerRNN's gradient in one launch, from the last to the first. Each block keeps the
// recurrent weights of its units in registers, as factors of mma.sync. In a step it multiplies the
// gradients of all gates, which the blocks exchange through L2, and computes its units.
#pragma once

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/kernels/persistent/operand.h"
#include "cc/gpu/kernels/persistent/persistent_shapes.h"

namespace rnn_ops::gpu::elementwise {

template <template <typename> class Cell, class Operand, int kWidth, int kTile, bool kGeneral>
struct BackwardBlock {
  typedef Cell<float> C;
  typedef PersistentCell<C, kGeneral> Unit;
  typedef BackwardShape<C::kGates, Operand::kPerWord, kWidth, kTile, kGeneral> S;

  const PersistentBackward& p;
  const LayerCall& call;
  const Lane lane;
  const int H;
  const int part, first_block;  // of the blocks that share their units

  // The weights of the shared units and of this block's part of the gates.
  Word weights[S::kParts][S::kPackets][4];

  // The units of the thread: one column, and a row of the batch for each item.
  float direct[S::kItems], dc[S::kItems], carried[S::kItems];
  float saved[S::kItems][C::kSaved], h_prev[S::kItems], c_prev[S::kItems], dy[S::kItems];
  float dx[S::kItems][C::kGates], dh[S::kItems][C::kGates];
  int steps[S::kItems];

  RNN_OPS_DEVICE explicit BackwardBlock(const PersistentBackward& arguments)
      : p(arguments),
        call(arguments.step.call),
        H((int)arguments.step.call.units),
        part(BlockOfGrid() % S::kParts),
        first_block(BlockOfGrid() - BlockOfGrid() % S::kParts) {}

  RNN_OPS_DEVICE static int ColumnOfBlock() { return ThreadOfBlock() % S::kUnits; }
  RNN_OPS_DEVICE int Column() const { return BlockOfGrid() * S::kUnits + ColumnOfBlock(); }
  RNN_OPS_DEVICE static int RowOf(int item) {
    return ThreadOfBlock() / S::kUnits + item * (kThreads / S::kUnits);
  }
  RNN_OPS_DEVICE bool Has(int item) const { return Column() < H && RowOf(item) < p.rows; }
  RNN_OPS_DEVICE Int64 BatchRow(int item) const { return p.first_row + RowOf(item); }

  // The first word of this warp's share of the inner dimension.
  RNN_OPS_DEVICE int FirstWord() const {
    return (part * kWarps + lane.warp) * S::kPackets * kPacket;
  }

  // The element of the recurrent kernel for a unit and an element of the inner dimension, or -1.
  RNN_OPS_DEVICE int WeightAt(int unit, int k) const {
    const int gate = k / kWidth, from = k % kWidth;
    return unit < H && from < H && gate < C::kGates ? (unit * C::kGates + gate) * H + from : -1;
  }

  RNN_OPS_DEVICE void LoadWeights() {
    RNN_OPS_UNROLL for (int n = 0; n < S::kParts; ++n) {
      const int unit = (first_block + n) * S::kUnits + lane.group;
      RNN_OPS_UNROLL for (int packet = 0; packet < S::kPackets; ++packet) {
        RNN_OPS_UNROLL for (int e = 0; e < 4; ++e) {
          const int k = (FirstWord() + packet * kPacket + lane.quad * 4 + e) * Operand::kPerWord;
          weights[n][packet][e] =
              Operand::Load(p.recurrent, WeightAt(unit, k), WeightAt(unit, k + 1));
        }
      }
    }
  }

  // The inputs of a step except the product.
  RNN_OPS_DEVICE void LoadStep(int item, int t) {
    const LayerBackStep& step = p.step;
    const Int64 row = (Int64)t * call.batch + BatchRow(item), at = row * H + Column();
    const float* gates = static_cast<const float*>(step.gates) + row * C::kSaved * H + Column();
    RNN_OPS_UNROLL for (int k = 0; k < C::kSaved; ++k) saved[item][k] = gates[k * H];
    if (C::kHasC) c_prev[item] = static_cast<const float*>(step.c_prev)[at];
    if (C::kCarriesH) {
      h_prev[item] = t == 0 ? GetElement<float>(Operand::kElement, step.h_prev, at)
                            : GetElement<float>(Operand::kElement, step.y, at - call.batch * H);
    }
    dy[item] = GetElement<float>(Operand::kElement, step.dy, at);
  }

  RNN_OPS_DEVICE void LoadUnits() {
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      direct[i] = dc[i] = carried[i] = h_prev[i] = c_prev[i] = 0;
      steps[i] = 0;
      if (!Has(i)) continue;
      steps[i] = (int)StepsOf(call, BatchRow(i));
      LoadStep(i, (int)call.max_time - 1);
    }
  }

  // The gradients of the gates of step t.
  RNN_OPS_DEVICE Word* ValuesOf(int t) const {
    return p.exchange.values + (t & 1) * (kTile * S::kWords);
  }

  enum { kP = S::kPacketsAtOnce };
  typedef Words Factors[kP][2];
  typedef Tile Sums[S::kParts];

  // The gradients of 16 rows of the batch, for the packets from `kFirst` on.
  template <int kFirst>
  RNN_OPS_DEVICE void LoadFactors(int t, int group, Factors& v) const {
    const Word* from = ValuesOf(t) + (group * 16 + lane.group) * S::kWords + FirstWord() +
                       kFirst * kPacket + lane.quad * 4;
    RNN_OPS_UNROLL for (int k = 0; k < kP; ++k) {
      RNN_OPS_UNROLL for (int half = 0; half < 2; ++half) {
        v[k][half] = LoadExchanged(from + half * 8 * S::kWords + k * kPacket);
      }
    }
  }

  template <int kFirst>
  RNN_OPS_DEVICE void Multiply(Word zero, const Factors& v, Sums& sums) const {
    RNN_OPS_UNROLL for (int k = 0; k < kP; ++k) {
      const Words &low = v[k][0], &high = v[k][1];
      RNN_OPS_UNROLL for (int e = 0; e < 4; e += 2) {
        const Quartet a = {low.at[e], high.at[e], low.at[e + 1], high.at[e + 1]};
        Pair b[S::kParts];
        RNN_OPS_UNROLL for (int n = 0; n < S::kParts; ++n) {
          b[n][0] = weights[n][kFirst + k][e];
          b[n][1] = weights[n][kFirst + k][e + 1];
        }
        Operand::template Multiply<S::kParts>(sums, a, b, zero);
      }
    }
  }

  // Into shared memory: [warp, row of the batch, unit].
  RNN_OPS_DEVICE void StoreSums(int group, Sums& sums) const {
    FinishProducts();
    float* to =
        SharedMemory() + lane.quad * 2 + (lane.warp * kTile + group * 16 + lane.group) * S::kStride;
    RNN_OPS_UNROLL for (int n = 0; n < S::kParts; ++n) {
      RNN_OPS_UNROLL for (int e = 0; e < 4; ++e) {
        to[(e >> 1) * 8 * S::kStride + n * 8 + (e & 1)] = sums[n][e];
      }
    }
  }

  // The gate of the k-th of `count` equal parts of the inner dimension.
  RNN_OPS_DEVICE static int GateOf(int k, int count) { return k * S::kInnerGates / count; }
  RNN_OPS_DEVICE float MaskOfGate(int item, int gate) const {
    return MaskOf<float>(call, gate, BatchRow(item), Column());
  }

  // The sum of the warps' products for a row of the batch and a column.
  RNN_OPS_DEVICE float SumWarps(int row, int to) const {
    float sum = 0;
    RNN_OPS_UNROLL for (int w = 0; w < kWarps; ++w) {
      sum += SharedMemory()[(w * kTile + row) * S::kStride + to];
    }
    return sum;
  }

  // Sends the sums of this part to the blocks of their units, and waits for the parts of this
  // block's. The result is whether the block is lost.
  RNN_OPS_DEVICE bool SendParts(unsigned round, bool lost) const {
    enum { kSums = kTile * S::kColumns, kEach = Larger(1, kSums / kThreads) };
    RNN_OPS_UNROLL for (int i = 0; i < kEach; ++i) {
      const int k = ThreadOfBlock() + i * kThreads, row = k / S::kColumns;
      const int to = k % S::kColumns, block = first_block + to / S::kUnits;
      if (lost || k >= kSums || row >= p.rows) continue;
      float* const target = p.exchange.partial + (Int64)block * S::kPartialFloats +
                            (part * kTile + row) * S::kUnits + to % S::kUnits;
      StoreExchanged(BitsOf(SumWarps(row, to)), reinterpret_cast<Word*>(target));
    }
    unsigned* const counter = p.exchange.counters + first_block / S::kParts * kCounterStep;
    Announce(counter, lost);
    return IsLost(counter, round * S::kParts, p.exchange.max_spins, lost);
  }

  // The part of the gradient of h that comes through the product with the gates of the next step.
  RNN_OPS_DEVICE float ProductOf(int item) const {
    const int row = RowOf(item);
    if (S::kParts == 1 && !kGeneral) return SumWarps(row, ColumnOfBlock());
    float sum = 0;
    if (S::kParts == 1) {
      RNN_OPS_UNROLL for (int w = 0; w < kWarps; ++w) {
        const float part_sum = SharedMemory()[(w * kTile + row) * S::kStride + ColumnOfBlock()];
        const int gate = GateOf(w, kWarps);
        if (gate < C::kGates) sum += part_sum * MaskOfGate(item, gate);
      }
      return sum;
    }
    const float* from = p.exchange.partial + (Int64)BlockOfGrid() * S::kPartialFloats;
    RNN_OPS_UNROLL for (int k = 0; k < S::kParts; ++k) {
      const float part_sum = LoadExchanged(from + (k * kTile + row) * S::kUnits + ColumnOfBlock());
      const int gate = GateOf(k, S::kParts);
      if (!kGeneral) sum += part_sum;
      if (kGeneral && gate < C::kGates) sum += part_sum * MaskOfGate(item, gate);
    }
    return sum;
  }

  // A step of one unit. `fault`: 0, or NaN if some block of the grid does not run.
  RNN_OPS_DEVICE void StepUnit(int item, int t, float fault) {
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) dx[item][g] = dh[item][g] = 0;
    if (t >= steps[item]) return;
    const Int64 b = BatchRow(item), at = b * H + Column();
    const bool is_last = t == steps[item] - 1;
    float of_h = carried[item] + direct[item], of_c = dc[item];
    if (is_last) {
      of_h = GetElement<float>(Operand::kElement, p.step.dh_n, at);
      if (C::kHasC) of_c = GetElement<float>(Operand::kElement, p.step.dc_n, at);
      if (!HasGradient(call, b)) of_h = of_c = NotANumber<float>();
    }
    of_h += dy[item];
    CellArgs<float> args = Unit::ArgsOf(call, Column(), h_prev[item], c_prev[item]);
    // The gradient of a clipped c is 0, which would hide NaN.
    if (args.cell_clip > 0 && !HasGradient(call, b)) args.cell_clip = 0;
    CellGradients<float> d = {};
    const float kept_h = Unit::KeptFactor(call, 0, t, b, Column());
    float kept_dc = 0;
    if (C::kHasC) {
      kept_dc = Unit::KeptFactor(call, 1, t, b, Column()) * of_c;
      d.dc = of_c - kept_dc;
    }
    C::Backward(args, saved[item], of_h - kept_h * of_h, &d);
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
      dx[item][g] = d.dx[g] + fault;
      dh[item][g] = d.dh[g] + fault;
    }
    if (C::kHasC) dc[item] = d.dc + kept_dc + fault;
    direct[item] = d.direct + kept_h * of_h + fault;
  }

  RNN_OPS_DEVICE void StoreGradients(int item, int t) const {
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
      Operand::Store(dh[item][g], ValuesOf(t),
                     (Int64)RowOf(item) * (S::kInnerGates * kWidth) + g * kWidth + Column());
    }
  }

  RNN_OPS_DEVICE void StoreUnit(int item, int t) const {
    const Int64 at = ((Int64)t * call.batch + BatchRow(item)) * C::kGates * H + Column();
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
      PutElement(Operand::kElement, dx[item][g], p.step.dgates_x, at + g * H);
      if (p.step.dgates_h != p.step.dgates_x) {
        PutElement(Operand::kElement, dh[item][g], p.step.dgates_h, at + g * H);
      }
    }
  }

  // The gradients of the first states, for the kernel layer_end.
  RNN_OPS_DEVICE void StoreStates() const {
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      if (!Has(i)) continue;
      const Int64 at = BatchRow(i) * H + Column();
      static_cast<float*>(const_cast<void*>(p.step.dh))[at] = carried[i];
      if (p.step.direct) static_cast<float*>(p.step.direct)[at] = direct[i];
      if (C::kHasC) static_cast<float*>(p.step.dc)[at] = dc[i];
    }
  }

  // carried = the gradients of the gates of step t times R'. The result is whether the block is
  // lost.
  RNN_OPS_DEVICE bool Carry(int t, bool lost) {
    const unsigned round = (unsigned)(call.max_time - t);
    lost = IsLost(p.exchange.counter, round * BlocksOfGrid(), p.exchange.max_spins, lost);
    MultiplyGroups(*this, t, (p.rows + 15) / 16);
    BlockBarrier();
    if (S::kParts > 1) lost = SendParts(round, lost);
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      if (Has(i)) carried[i] = ProductOf(i) + (lost ? NotANumber<float>() : 0.0f);
    }
    return lost;
  }

  RNN_OPS_DEVICE void Run() {
    LoadWeights();
    LoadUnits();
    bool lost = false;
    RNN_OPS_NO_UNROLL for (int t = (int)call.max_time - 1; t >= 0; --t) {
      if (t < call.max_time - 1) lost = Carry(t + 1, lost);
      const float fault = lost ? NotANumber<float>() : 0.0f;
      RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
        if (!Has(i)) continue;
        StepUnit(i, t, fault);
        if (!lost) StoreGradients(i, t);
      }
      Announce(p.exchange.counter, lost);
      RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
        if (!Has(i)) continue;
        StoreUnit(i, t);
        if (t > 0) LoadStep(i, t - 1);
      }
    }
    lost = Carry(0, lost);
    StoreStates();
    if (lost && ThreadOfBlock() == 0) StoreForHost(p.exchange.number, p.exchange.gave_up);
  }
};

template <template <typename> class Cell, class Operand, int kWidth, int kTile, bool kGeneral>
RNN_OPS_DEVICE void RunBackward(const PersistentBackward& p) {
  BackwardBlock<Cell, Operand, kWidth, kTile, kGeneral>(p).Run();
}

}  // namespace rnn_ops::gpu::elementwise
