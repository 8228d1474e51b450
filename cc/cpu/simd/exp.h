// exp(x) and exp(x) - 1 on vectors, in the same operations at every level.
#pragma once

#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// exp(x) = 2 * half * (1 + rest).
struct ExpParts {
  Packet<float> half;  // a power of two: its double may be 2^128
  Packet<float> rest;  // exp(f) - 1
};

// Let x = r * ln 2 + f with an integer r. Then exp(x) = 2^r * exp(f) with |f| < 0.35, and a
// polynomial of degree 6 has a relative error of 3e-9. exp(x) overflows to infinity. Below 2e-38 it
// is 0. NaN passes through both bounds.
EIGEN_ALWAYS_INLINE ExpParts SplitExp(const Packet<float>& x) {
  const Packet<float> bounded = Max(Min(x, Set(89.0f)), Set(-87.3365f));
  // The sum has r - 1 + 127 in its lowest bits.
  const Packet<float> magic = Set(0x1.8p23f + 126);
  const Packet<float> sum = pmadd(bounded, Set(1.44269504f), magic);
  const Packet<float> r = psub(sum, magic);
  // ln 2 in two parts. The first part has few bits, so its product with r is exact.
  Packet<float> f = pmadd(r, Set(-0.693359375f), bounded);
  f = pmadd(r, Set(2.12194440e-4f), f);
  Packet<float> p = Set(1.381422160e-3f);
  p = pmadd(p, f, Set(8.368899114e-3f));
  p = pmadd(p, f, Set(4.166840389e-2f));
  p = pmadd(p, f, Set(1.666651964e-1f));
  p = pmadd(p, f, Set(4.999999404e-1f));
  return {PowerOfTwo(sum), pmadd(pmul(f, f), p, f)};
}

EIGEN_ALWAYS_INLINE Packet<float> Exp(const Packet<float>& x) {
  const ExpParts e = SplitExp(x);
  return pmul(pmadd(e.rest, Set(2.0f), Set(2.0f)), e.half);
}

// exp(x) - 1, which keeps the digits of small x. x <= 88.
EIGEN_ALWAYS_INLINE Packet<float> ExpMinusOne(const Packet<float>& x) {
  const ExpParts e = SplitExp(x);
  const Packet<float> power = padd(e.half, e.half);
  return pmadd(e.rest, power, psub(power, Set(1.0f)));
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
