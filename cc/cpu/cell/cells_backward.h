// The backward step of each cell: from the gradient of h to that of the gates' pre-activations, for
// a range of units of one row. Notation as in cells.h; d(.) is the gradient of the loss.
#ifndef TF_RNN_OPS_CC_CPU_CELL_CELLS_BACKWARD_H_
#define TF_RNN_OPS_CC_CPU_CELL_CELLS_BACKWARD_H_

#include <cstdint>

#include "cc/core/check.h"
#include "cc/cpu/cell/cells.h"
#include "cc/cpu/simd/activations.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops {
namespace cpu {
namespace RNN_OPS_ISA_NAMESPACE {

// s'(x) and tanh'(x) from the function's value y.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> SigmoidSlope(const Packet<T>& y) {
  return pmul(y, psub(Set<T>(T(1)), y));
}
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> TanhSlope(const Packet<T>& y) {
  return psub(Set<T>(T(1)), pmul(y, y));
}

// Units [begin, end) of a row of `size` units; begin is a multiple of V.
struct UnitRange {
  int64_t begin;
  int64_t end;
  int64_t size;
};

// dy may be null: then dh is the whole gradient of h (LSTM with projection).
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> LoadGradient(const T* dh, const T* dy, int64_t unit, int64_t units) {
  const Packet<T> carried = Load(dh + unit);
  return dy == nullptr ? carried : padd(carried, LoadFirst(dy + unit, units - unit));
}

// do = dh * tanh(c) * s'(o); dc += dh * o * tanh'(c); di = dc * g * s'(i); df = dc * c_prev *
// s'(f); dg = dc * i * tanh'(g); dc_prev = dc * f. dc is updated in place; m, if wanted, gets o *
// tanh(c). Lanes beyond H are cleared: where an input is infinite they hold inf * 0, and a product
// of all lanes follows.
template <typename T, typename E>
void LstmRowBackward(const UnitRange& range, const T* gates, const T* c_prev, const T* c,
                     const T* dh, const T* dy, T* dc, E* dgates, T* m) {
  constexpr int V = kLanes<T>;
  const int64_t units = range.size;
  RNN_DCHECK(range.begin % V == 0 && range.end <= units);
  for (int64_t unit = range.begin; unit < range.end; unit += V) {
    const T* g = gates + 4 * unit;
    const int64_t at = 4 * unit;
    const int64_t n = units - unit;
    const Packet<T> in = Load(g), forget = Load(g + V), candidate = Load(g + 2 * V),
                    out = Load(g + 3 * V);
    const Packet<T> tanh_c = Tanh<T>(Load(c + unit));
    const Packet<T> dhv = LoadGradient(dh, dy, unit, units);
    const Packet<T> dcv = pmadd(pmul(dhv, out), TanhSlope<T>(tanh_c), Load(dc + unit));
    const Packet<T> previous = Load(c_prev + unit);
    auto store = [&](int v, const Packet<T>& value) {
      StoreOperands(dgates, at + v * V, KeepFirst<T>(value, n));
    };
    store(0, pmul(pmul(dcv, candidate), SigmoidSlope<T>(in)));
    store(1, pmul(pmul(dcv, previous), SigmoidSlope<T>(forget)));
    store(2, pmul(pmul(dcv, in), TanhSlope<T>(candidate)));
    store(3, pmul(pmul(dhv, tanh_c), SigmoidSlope<T>(out)));
    Store(dc + unit, pmul(dcv, forget));
    if (m != nullptr) Store(m + unit, pmul(out, tanh_c));
  }
}

// dn = dh * (1 - z) * tanh'(n); dz = dh * (h_prev - n) * s'(z); dq = dn * r; dr = dn * q * s'(r);
// the part of dh_prev that does not pass the weights, dh * z, replaces dh.
template <typename T, typename E>
void GruRowBackward(const UnitRange& range, const T* gates, const T* h_prev, T* dh, const T* dy,
                    E* dgates) {
  constexpr int V = kLanes<T>;
  const int64_t units = range.size;
  RNN_DCHECK(range.begin % V == 0 && range.end <= units);
  for (int64_t unit = range.begin; unit < range.end; unit += V) {
    const T* g = gates + 4 * unit;
    const int64_t at = 4 * unit;
    const int64_t n = units - unit;
    const Packet<T> candidate = Load(g), reset = Load(g + V), update = Load(g + 2 * V),
                    q = Load(g + 3 * V);
    const Packet<T> dhv = LoadGradient(dh, dy, unit, units);
    const Packet<T> dn = pmul(pmul(dhv, psub(Set<T>(T(1)), update)), TanhSlope<T>(candidate));
    const Packet<T> change = psub(LoadFirst(h_prev + unit, n), candidate);
    auto store = [&](int v, const Packet<T>& value) {
      StoreOperands(dgates, at + v * V, KeepFirst<T>(value, n));
    };
    store(0, dn);
    store(1, pmul(pmul(dn, q), SigmoidSlope<T>(reset)));
    store(2, pmul(pmul(dhv, change), SigmoidSlope<T>(update)));
    store(3, pmul(dn, reset));
    Store(dh + unit, pmul(dhv, update));
  }
}

// dgate = dh * act'(h); lanes beyond H as in LstmRowBackward.
template <typename T, typename Activation, typename E>
void VanillaRowBackward(const UnitRange& range, const T* h, const T* dh, const T* dy, E* dgates) {
  constexpr int V = kLanes<T>;
  const int64_t units = range.size;
  RNN_DCHECK(range.begin % V == 0 && range.end <= units);
  for (int64_t unit = range.begin; unit < range.end; unit += V) {
    const int64_t n = units - unit;
    const Packet<T> slope = Activation::template Slope<T>(LoadFirst(h + unit, n));
    const Packet<T> dgate = pmul(LoadGradient(dh, dy, unit, units), slope);
    StoreOperands(dgates, unit, KeepFirst<T>(dgate, n));
  }
}

}  // namespace RNN_OPS_ISA_NAMESPACE
}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_CELL_CELLS_BACKWARD_H_
