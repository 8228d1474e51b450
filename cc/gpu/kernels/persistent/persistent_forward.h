// The steps of LayerRNN's forward pass in one launch. Each block keeps the recurrent weights of its
// units in registers, as factors of mma.sync. In a step it multiplies them by h of all units, which
// the blocks exchange through L2, and computes its units. A counter tells that h is complete. The
// GRU whose reset gate comes first does so twice in a step: with h, then with m = r * h.
// After Diamos et al. (ICML 2016), "Persistent RNNs".
#pragma once

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/kernels/persistent/operand.h"
#include "cc/gpu/kernels/persistent/persistent_shapes.h"

namespace rnn_ops::gpu::elementwise {

template <template <typename> class Cell, class Operand, int kWidth, int kTile, bool kGeneral>
struct ForwardBlock {
  typedef Cell<float> C;
  typedef PersistentCell<C, kGeneral> Unit;
  typedef ForwardShape<C::kGates, Operand::kPerWord, kWidth, kTile, kGeneral> S;

  const PersistentForward& p;
  const LayerCall& call;
  const Lane lane;
  const int H;
  const int first_unit;
  const bool has_product;  // whether the gate of this warp exists

  // The weights of the block: fragments of the lower and upper 8 rows of each tile.
  Words weights[S::kTiles][S::kPackets][2];

  // The units of the thread: one column, and a row of the batch for each item.
  float h[S::kItems], c[S::kItems], x[S::kItems][C::kGates], saved[S::kItems][C::kSaved];
  float bias_x[C::kGates], bias_h;  // bias_h: of the candidate of GRU, which is the last gate
  int steps[S::kItems];

  RNN_OPS_DEVICE explicit ForwardBlock(const PersistentForward& arguments)
      : p(arguments),
        call(arguments.step.call),
        H((int)arguments.step.call.units),
        first_unit(BlockOfGrid() * S::kUnits),
        has_product(lane.warp / S::kWarpsOfCopy < C::kGates) {}

  RNN_OPS_DEVICE static int ColumnOfBlock() { return ThreadOfBlock() % S::kUnits; }
  RNN_OPS_DEVICE int Column() const { return first_unit + ColumnOfBlock(); }
  RNN_OPS_DEVICE static int RowOf(int item) {
    return ThreadOfBlock() / S::kUnits + item * (kThreads / S::kUnits);
  }
  RNN_OPS_DEVICE bool Has(int item) const { return Column() < H && RowOf(item) < p.rows; }
  RNN_OPS_DEVICE Int64 BatchRow(int item) const { return p.first_row + RowOf(item); }

  // The element of the recurrent kernel for a word's k and a row of a tile, or -1.
  RNN_OPS_DEVICE int WeightAt(int k, int tile, int row) const {
    const int unit = S::kRowsOfUnit == 4 ? tile * 4 + row / 4 : row;
    const int gate =
        S::kCopies > 1 ? lane.warp / S::kWarpsOfCopy : (S::kRowsOfUnit == 4 ? row % 4 : 0);
    const int to = first_unit + unit;
    return k < H && to < H && gate < C::kGates ? (k * C::kGates + gate) * H + to : -1;
  }

  RNN_OPS_DEVICE void LoadWeights() {
    const int first = lane.warp % S::kWarpsOfCopy * S::kPackets;
    RNN_OPS_UNROLL for (int m = 0; m < S::kTiles; ++m) {
      RNN_OPS_UNROLL for (int packet = 0; packet < S::kPackets; ++packet) {
        RNN_OPS_UNROLL for (int half = 0; half < 2; ++half) {
          RNN_OPS_UNROLL for (int e = 0; e < 4; ++e) {
            const int word = (first + packet) * kPacket + lane.quad * 4 + e;
            const int k = word * Operand::kPerWord, row = half * 8 + lane.group;
            weights[m][packet][half].at[e] =
                Operand::Load(p.recurrent, WeightAt(k, m, row), WeightAt(k + 1, m, row));
          }
        }
      }
    }
  }

  RNN_OPS_DEVICE void LoadX(int item, int t) {
    const float* from = static_cast<const float*>(p.step.gates) +
                        ((Int64)t * call.batch + BatchRow(item)) * C::kSaved * H + Column();
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) x[item][g] = from[g * H];
  }

  RNN_OPS_DEVICE void LoadBias() {
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
      const int at = g * H + Column();
      const float second = Column() < H ? BiasOf<float>(call, 1, at) : 0.0f;
      bias_x[g] = Column() < H ? BiasOf<float>(call, 0, at) : 0.0f;
      // The cells add both sums, except for the candidate of GRU.
      if (g < S::kJoinedGates) bias_x[g] += second;
      if (g >= S::kJoinedGates) bias_h = second;
    }
  }

  RNN_OPS_DEVICE void LoadUnits() {
    bias_h = 0;
    LoadBias();
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      h[i] = c[i] = 0;
      steps[i] = 0;
      if (!Has(i)) continue;
      const Int64 b = BatchRow(i), at = b * H + Column();
      steps[i] = (int)(StepsOf(call, b) - p.step.t);
      h[i] = p.step.h_state ? static_cast<const float*>(p.step.h_state)[at]
                            : GetElement<float>(Operand::kElement, p.h_before, at);
      if (C::kHasC) c[i] = static_cast<const float*>(p.step.c_prev)[at];
      LoadX(i, 0);
    }
  }

  RNN_OPS_DEVICE Word* ValuesOf(int product) const {
    return p.exchange.values + (product & 1) * (S::kCopies * kTile * S::kWords);
  }

  // The factors of a product, which are counted from the first step on: h or m of the units.
  RNN_OPS_DEVICE void Publish(int product, const float* factors, bool lost) const {
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      if (lost || !Has(i)) continue;
      RNN_OPS_UNROLL for (int g = 0; g < (S::kCopies > 1 ? C::kGates : 1); ++g) {
        Operand::Store(
            kGeneral ? factors[i] * MaskOf<float>(call, g, BatchRow(i), Column()) : factors[i],
            ValuesOf(product), (Int64)(g * kTile + RowOf(i)) * kWidth + Column());
      }
    }
    Announce(p.exchange.counter, lost);
  }

  enum { kP = S::kPacketsAtOnce, kN = S::kColumnsAtOnce };
  typedef Words Factors[kP][kN];
  typedef Tile Sums[S::kTiles][kN];

  // The factors of some rows of the batch, for the packets from `kFirst` on.
  template <int kFirst>
  RNN_OPS_DEVICE void LoadFactors(int product, int group, Factors& v) const {
    const int copy = S::kCopies > 1 ? lane.warp / S::kWarpsOfCopy : 0;
    const int row = copy * kTile + group * (kN * 8) + lane.group;
    const int packet = lane.warp % S::kWarpsOfCopy * S::kPackets + kFirst;
    const Word* from = ValuesOf(product) + row * S::kWords + packet * kPacket + lane.quad * 4;
    RNN_OPS_UNROLL for (int k = 0; k < kP; ++k) {
      RNN_OPS_UNROLL for (int n = 0; n < kN; ++n) {
        v[k][n] = LoadExchanged(from + n * 8 * S::kWords + k * kPacket);
      }
    }
  }

  template <int kFirst>
  RNN_OPS_DEVICE void Multiply(Word zero, const Factors& v, Sums& sums) const {
    RNN_OPS_UNROLL for (int k = 0; k < kP; ++k) {
      RNN_OPS_UNROLL for (int m = 0; m < S::kTiles; ++m) {
        const Words& low = weights[m][kFirst + k][0];
        const Words& high = weights[m][kFirst + k][1];
        RNN_OPS_UNROLL for (int e = 0; e < 4; e += 2) {
          const Quartet a = {low.at[e], high.at[e], low.at[e + 1], high.at[e + 1]};
          Pair b[kN];
          RNN_OPS_UNROLL for (int n = 0; n < kN; ++n) {
            b[n][0] = v[k][n].at[e];
            b[n][1] = v[k][n].at[e + 1];
          }
          Operand::template Multiply<kN>(sums[m], a, b, zero);
        }
      }
    }
  }

  // Into shared memory: [warp, row of the batch, row of the tiles].
  RNN_OPS_DEVICE void StoreSums(int group, Sums& sums) const {
    FinishProducts();
    float* to = SharedMemory() + lane.group +
                (lane.warp * kTile + group * (kN * 8) + lane.quad * 2) * S::kStride;
    RNN_OPS_UNROLL for (int m = 0; m < S::kTiles; ++m) {
      RNN_OPS_UNROLL for (int n = 0; n < kN; ++n) {
        RNN_OPS_UNROLL for (int e = 0; e < 4; ++e) {
          to[(n * 8 + (e & 1)) * S::kStride + m * 16 + (e >> 1) * 8] = sums[m][n][e];
        }
      }
    }
  }

  // Waits for the factors of all blocks and multiplies them. The result is whether the block is
  // lost.
  RNN_OPS_DEVICE bool Product(int product, bool lost) const {
    const unsigned count = (unsigned)(product + 1) * BlocksOfGrid();
    lost = IsLost(p.exchange.counter, count, p.exchange.max_spins, lost);
    if (has_product) MultiplyGroups(*this, product, (p.rows + kN * 8 - 1) / (kN * 8));
    BlockBarrier();
    return lost;
  }

  // The product of one unit: the sums over the warps.
  RNN_OPS_DEVICE void SumWarps(int item, float* sums) const {
    const float* from = SharedMemory() + RowOf(item) * S::kStride +
                        (S::kRowsOfUnit == 4 ? ColumnOfBlock() * 4 : ColumnOfBlock());
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
      sums[g] = g < S::kJoinedGates ? 0.0f : bias_h;
    }
    if (S::kRowsOfUnit == 4) {
      RNN_OPS_UNROLL for (int w = 0; w < kWarps; ++w) {
        const Floats v = *reinterpret_cast<const Floats*>(from + w * kTile * S::kStride);
        RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) sums[g] += v.at[g];
      }
    } else {
      RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) {
        RNN_OPS_UNROLL for (int w = 0; w < S::kWarpsOfCopy; ++w) {
          sums[g] += from[(g * S::kWarpsOfCopy + w) * kTile * S::kStride];
        }
      }
    }
  }

  // A step of one unit. `fault`: 0, or NaN if some block of the grid does not run.
  RNN_OPS_DEVICE void StepUnit(int item, int t, float fault) {
    float from_x[C::kGates], from_h[C::kGates], c_new = 0, h_new = 0;
    SumWarps(item, from_h);
    RNN_OPS_UNROLL for (int g = 0; g < C::kGates; ++g) from_x[g] = x[item][g] + bias_x[g];
    const CellArgs<float> args = Unit::ArgsOf(call, Column(), h[item], c[item]);
    C::Forward(args, from_x, from_h, saved[item], &c_new, &h_new);
    if (t >= steps[item]) return;
    const Int64 b = BatchRow(item), all = p.step.t + t;
    if (C::kHasC) c[item] = Unit::Mix(call, 1, all, b, Column(), c[item], c_new) + fault;
    h[item] = Unit::Mix(call, 0, all, b, Column(), h[item], h_new) + fault;
  }

  // The two parts of a step of GruResetBefore: z, r and the result m, then n and h.
  RNN_OPS_DEVICE float BeginUnit(int item) {
    float from_h[C::kGates];
    SumWarps(item, from_h);
    const CellArgs<float> args = Unit::ArgsOf(call, Column(), h[item], 0);
    RNN_OPS_UNROLL for (int g = 0; g < C::kCandidate; ++g) {
      saved[item][g] = args.Gate(x[item][g] + bias_x[g] + from_h[g]);
    }
    return saved[item][C::kReset] * h[item];
  }
  RNN_OPS_DEVICE void FinishUnit(int item, int t, float fault) {
    float from_m[C::kGates];
    SumWarps(item, from_m);
    const CellArgs<float> args = Unit::ArgsOf(call, Column(), h[item], 0);
    const float candidate =
        C::Candidate(args, x[item][C::kCandidate] + bias_x[C::kCandidate], from_m[C::kCandidate]);
    saved[item][C::kCandidate] = candidate;
    if (t < steps[item]) h[item] = C::NewH(args, saved[item][C::kUpdate], candidate) + fault;
  }

  // Everything but h for the other blocks, which wait for that.
  RNN_OPS_DEVICE void StoreUnit(int item, int t) const {
    const Int64 b = BatchRow(item), at = b * H + Column(), step = (Int64)t * call.batch * H;
    const bool running = t < steps[item];
    PutElement(Operand::kElement, running ? h[item] : 0.0f, p.step.y, step + at);
    if (C::kHasC && p.c_stride) {
      static_cast<float*>(p.step.c)[t * p.c_stride + at] = running ? c[item] : 0.0f;
    }
    if (!running) return;
    if (call.header) {
      float* to = static_cast<float*>(p.step.gates) + ((Int64)t * call.batch + b) * C::kSaved * H +
                  Column();
      RNN_OPS_UNROLL for (int k = 0; k < C::kSaved; ++k) to[k * H] = saved[item][k];
    }
    if (t != steps[item] - 1) return;
    PutElement(Operand::kElement, h[item], p.step.h_n, at);
    if (C::kHasC) PutElement(Operand::kElement, c[item], p.step.c_n, at);
  }

  // The states of the rows, for the next launch.
  RNN_OPS_DEVICE void StoreStates() const {
    RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
      if (!Has(i)) continue;
      const Int64 at = BatchRow(i) * H + Column();
      if (p.step.h_state) static_cast<float*>(p.step.h_state)[at] = h[i];
      if (C::kHasC && !p.c_stride) static_cast<float*>(p.step.c)[at] = c[i];
    }
  }

  RNN_OPS_DEVICE void Run() {
    LoadWeights();
    LoadUnits();
    bool lost = false;
    Publish(0, h, lost);
    RNN_OPS_NO_UNROLL for (int t = 0; t < p.steps; ++t) {
      const int product = t * C::kProducts;
      lost = Product(product, lost);
      if constexpr (C::kProducts == 2) {
        float m[S::kItems];
        RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) m[i] = Has(i) ? BeginUnit(i) : 0.0f;
        Publish(product + 1, m, lost);
        lost = Product(product + 1, lost);
      }
      const float fault = lost ? NotANumber<float>() : 0.0f;
      RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
        if (!Has(i)) continue;
        if constexpr (C::kProducts == 2) {
          FinishUnit(i, t, fault);
        } else {
          StepUnit(i, t, fault);
        }
      }
      Publish(product + C::kProducts, h, lost);
      RNN_OPS_UNROLL for (int i = 0; i < S::kItems; ++i) {
        if (!Has(i)) continue;
        StoreUnit(i, t);
        if (t + 1 < p.steps) LoadX(i, t + 1);
      }
    }
    StoreStates();
    if (lost && ThreadOfBlock() == 0) StoreForHost(p.exchange.number, p.exchange.gave_up);
  }
};

template <template <typename> class Cell, class Operand, int kWidth, int kTile, bool kGeneral>
RNN_OPS_DEVICE void RunForward(const PersistentForward& p) {
  ForwardBlock<Cell, Operand, kWidth, kTile, kGeneral>(p).Run();
}

}  // namespace rnn_ops::gpu::elementwise
