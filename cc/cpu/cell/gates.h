// The activation functions of cells: the functions of the papers, or the functions that the problem
// names.
#pragma once

#include <limits>

#include "cc/cpu/cell/cell.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// Gate is the function of the input, forget, output, reset and update gates. State is the function
// of the values that these gates multiply. A slope is the derivative, computed from the value y of
// the function.
template <typename T>
struct UsualGates {
  explicit UsualGates(const CellInputs<T>&) {}

  EIGEN_ALWAYS_INLINE Packet<T> Gate(const Packet<T>& x) const { return Sigmoid<T>(x); }
  EIGEN_ALWAYS_INLINE Packet<T> GateSlope(const Packet<T>& y) const { return SigmoidSlope<T>(y); }
  EIGEN_ALWAYS_INLINE Packet<T> State(const Packet<T>& x) const { return Tanh<T>(x); }
  EIGEN_ALWAYS_INLINE Packet<T> StateSlope(const Packet<T>& y) const { return TanhSlope<T>(y); }
};

// (1 - z) * n + z * h. WHY not n + z * (h - n): for a large n, which relu or no function can
// produce, that formula would lose the bits of an h that z carries over.
template <typename T>
EIGEN_ALWAYS_INLINE Packet<T> Between(const Packet<T>& z, const Packet<T>& h, const Packet<T>& n) {
  return pmadd(z, h, pmul(psub(Set<T>(T(1)), z), n));
}

// A function that the problem selects. Every function except sigmoid and tanh is linear between two
// bounds, so three kinds are sufficient.
template <typename T>
class GateFunction {
 public:
  explicit GateFunction(Activation activation) {
    constexpr T kBelowOne = T(1) - std::numeric_limits<T>::epsilon() / 2;
    switch (activation) {
      case Activation::kTanh:
        kind_ = Kind::kTanh;
        break;
      case Activation::kSigmoid:
        kind_ = Kind::kSigmoid;
        break;
      case Activation::kHardSigmoid:
        high_ = T(1);
        last_ = kBelowOne;
        slope_ = T(1) / T(6);
        offset_ = T(0.5);
        break;
      case Activation::kHardSigmoidKeras2:
        high_ = T(1);
        last_ = kBelowOne;
        slope_ = T(0.2);
        offset_ = T(0.5);
        break;
      case Activation::kRelu:
        break;
      case Activation::kLinear:
        low_ = -kInfinity;
        slope_outside_ = T(1);
        break;
    }
  }
  explicit GateFunction(const CellInputs<T>& in) : GateFunction(in.problem.activation) {}

  // WHY not inlined: a cell applies the function five times to each row of a tile. Inlined code
  // would be large, and a call costs little compared with the product before it.
  EIGEN_DONT_INLINE Packet<T> Apply(Packet<T> x) const {
    if (kind_ == Kind::kSigmoid) return Sigmoid<T>(x);
    if (kind_ == Kind::kTanh) return Tanh<T>(x);
    const Packet<T> y = pmadd(x, Set<T>(slope_), Set<T>(offset_));
    return Min(Max(y, Set<T>(low_)), Set<T>(high_));
  }

  EIGEN_ALWAYS_INLINE Packet<T> Slope(const Packet<T>& y) const {
    if (kind_ == Kind::kSigmoid) return SigmoidSlope<T>(y);
    if (kind_ == Kind::kTanh) return TanhSlope<T>(y);
    const auto inside = And(Less(Set<T>(low_), y), LessOrEqual(y, Set<T>(last_)));
    return Select(inside, Set<T>(slope_), Set<T>(slope_outside_));
  }

 private:
  enum class Kind { kTanh, kSigmoid, kLine };
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  Kind kind_ = Kind::kLine;
  T slope_ = T(1), offset_ = T(0), low_ = T(0), high_ = kInfinity;
  // The slope is slope_ in (low_, last_]. WHY not below high_: an infinite y of relu has slope 1.
  // The slope of linear is 1 everywhere, also for NaN.
  T last_ = kInfinity, slope_outside_ = T(0);
};

template <typename T>
class ChosenGates {
 public:
  explicit ChosenGates(const CellInputs<T>& in)
      : gate_(in.problem.recurrent_activation), state_(in.problem.activation) {}

  EIGEN_ALWAYS_INLINE Packet<T> Gate(const Packet<T>& x) const { return gate_.Apply(x); }
  EIGEN_ALWAYS_INLINE Packet<T> GateSlope(const Packet<T>& y) const { return gate_.Slope(y); }
  EIGEN_ALWAYS_INLINE Packet<T> State(const Packet<T>& x) const { return state_.Apply(x); }
  EIGEN_ALWAYS_INLINE Packet<T> StateSlope(const Packet<T>& y) const { return state_.Slope(y); }

 private:
  GateFunction<T> gate_;
  GateFunction<T> state_;
};

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
