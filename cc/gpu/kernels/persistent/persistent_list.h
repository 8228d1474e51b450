// The persistent kernels. Each is a module of its own, so that a program compiles those that it
// runs.
#pragma once

// K(pass, cell, operand, width, tile, general): RunForward or RunBackward with these arguments.
#define RNN_OPS_PERSISTENT_WIDTHS(K, pass, cell, operand, tile, general) \
  K(pass, cell, operand, 256, tile, general)                             \
  K(pass, cell, operand, 512, tile, general)                             \
  K(pass, cell, operand, 1024, tile, general)

#define RNN_OPS_PERSISTENT_PLAIN(K, cell, operand)                \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, cell, operand, 16, false) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, cell, operand, 64, false) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, cell, operand, 64, false)

#define RNN_OPS_PERSISTENT_NARROW(K, operand)                     \
  RNN_OPS_PERSISTENT_PLAIN(K, Lstm, operand)                      \
  RNN_OPS_PERSISTENT_PLAIN(K, Gru, operand)                       \
  RNN_OPS_PERSISTENT_PLAIN(K, Vanilla, operand)                   \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, Lstm, operand, 64, true)  \
  RNN_OPS_PERSISTENT_WIDTHS(K, Forward, Gru, operand, 64, true)   \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Lstm, operand, 64, true) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Gru, operand, 64, true)

// The weights of a general forward pass of 1024 units do not fit the registers in float32.
#define RNN_OPS_PERSISTENT_FLOAT32(K)                             \
  RNN_OPS_PERSISTENT_PLAIN(K, Lstm, Float32)                      \
  RNN_OPS_PERSISTENT_PLAIN(K, Gru, Float32)                       \
  RNN_OPS_PERSISTENT_PLAIN(K, Vanilla, Float32)                   \
  K(Forward, Lstm, Float32, 256, 64, true)                        \
  K(Forward, Lstm, Float32, 512, 64, true)                        \
  K(Forward, Gru, Float32, 256, 64, true)                         \
  K(Forward, Gru, Float32, 512, 64, true)                         \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Lstm, Float32, 64, true) \
  RNN_OPS_PERSISTENT_WIDTHS(K, Backward, Gru, Float32, 64, true)

#define RNN_OPS_PERSISTENT_KERNELS(K)    \
  RNN_OPS_PERSISTENT_NARROW(K, BFloat16) \
  RNN_OPS_PERSISTENT_NARROW(K, Half)     \
  RNN_OPS_PERSISTENT_FLOAT32(K)
