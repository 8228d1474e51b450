// The interface between a cell and its kernels.
//
// A cell is one file of this folder: a struct of functions of one unit of one row, with the names
// and the order of gates of cc/cpu/cell.
//
//   kGates     G
//   kSaved     numbers of a unit that the backward pass reads
//   kHasC      whether there is a second state
//   kCarriesH  whether h depends on h_prev outside of the product
//   kProducts  recurrent products of a step
//   Forward    from the sums of both products, with biases, to the saved numbers, c and h; with two
//              recurrent products it is in two parts
//   Backward   from dh and dc to the gradients of the sums, of c_prev, and of h_prev outside of the
//              product
#pragma once

#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/kernel_args.h"

namespace rnn_ops::gpu::elementwise {

// The numbers of rnn_types.h.
enum ActivationNumber {
  kTanhNumber = 0,
  kSigmoidNumber = 1,
  kHardSigmoidNumber = 2,
  kHardSigmoidKeras2Number = 3,
  kReluNumber = 4,
  kLinearNumber = 5,
};

// Comparisons that keep NaN.
template <typename A>
RNN_OPS_DEVICE A Limited(A x, A limit) {
  return x > limit ? limit : (x < -limit ? -limit : x);
}
template <typename A>
RNN_OPS_DEVICE A BetweenZeroAndOne(A x) {
  return x > A(1) ? A(1) : (x < A(0) ? A(0) : x);
}

template <typename A>
RNN_OPS_DEVICE_CALL A Activate(int number, A x) {
  switch (number) {
    case kTanhNumber:
      return Tanh(x);
    case kSigmoidNumber:
      return Sigmoid(x);
    case kHardSigmoidNumber:
      return BetweenZeroAndOne(x / A(6) + A(0.5));
    case kHardSigmoidKeras2Number:
      return BetweenZeroAndOne(x / A(5) + A(0.5));
    case kReluNumber:
      return x < A(0) ? A(0) : x;
    default:
      return x;
  }
}

// The derivative, from the value y of the function.
template <typename A>
RNN_OPS_DEVICE_CALL A ActivationSlope(int number, A y) {
  switch (number) {
    case kTanhNumber:
      return TanhSlope(y);
    case kSigmoidNumber:
      return SigmoidSlope(y);
    case kHardSigmoidNumber:
      return y > A(0) && y < A(1) ? A(1) / A(6) : A(0);
    case kHardSigmoidKeras2Number:
      return y > A(0) && y < A(1) ? A(1) / A(5) : A(0);
    case kReluNumber:
      return y > A(0) ? A(1) : A(0);
    default:
      return A(1);
  }
}

// The arguments of a cell in addition to its sums.
template <typename A>
struct CellArgs {
  int activation, recurrent_activation;
  A cell_clip;  // 0: off
  bool has_peepholes;
  A peepholes[3];
  A h_prev, c_prev;  // h_prev: only if the cell carries h

  RNN_OPS_DEVICE A Gate(A x) const { return Activate(recurrent_activation, x); }
  RNN_OPS_DEVICE A State(A x) const { return Activate(activation, x); }
  RNN_OPS_DEVICE A GateSlope(A y) const { return ActivationSlope(recurrent_activation, y); }
  RNN_OPS_DEVICE A StateSlope(A y) const { return ActivationSlope(activation, y); }
};

// The gradients of one unit. dc is in and out.
template <typename A>
struct CellGradients {
  A dx[kMostGates], dh[kMostGates];  // of the sums from x and from h
  A direct;                          // of h_prev, outside of the product
  A dc;
  A m;  // h before a projection
};

}  // namespace rnn_ops::gpu::elementwise
