// Zoneout (Krueger et al. 2017) around a cell: h = k * h_prev + (1 - k) * h~, and c in the same way
// with a separate k. k is a rate, or a random 0 or 1 for each unit of each step.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"

namespace rnn_ops::gpu::elementwise {

typedef unsigned long long Word64;

// The numbers of cc/core/op/dropout.h, whose headers NVRTC lacks. Tests compare the two.
RNN_OPS_DEVICE Word64 MixBits(Word64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

RNN_OPS_DEVICE_CALL Word64 DropoutKeyOf(const long long* seed) {
  const Word64 step = 0x9E3779B97F4A7C15ull;
  Word64 key = MixBits((Word64)seed[0] + step);
  key = MixBits((key ^ (Word64)seed[1]) + step);
  return MixBits(key + step);
}

// The random word of a unit in a place: word u % 4 of Philox4x32-10 (Salmon et al., SC 2011).
RNN_OPS_DEVICE_CALL unsigned RandomWord(Word64 key, Int64 unit, unsigned state, Word64 place) {
  unsigned c0 = (unsigned)(unit / 4), c1 = state;
  unsigned c2 = (unsigned)place, c3 = (unsigned)(place >> 32);
  unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
  RNN_OPS_NO_UNROLL for (int round = 0; round < 10; ++round) {
    const Word64 p0 = 0xD2511F53ull * c0, p1 = 0xCD9E8D57ull * c2;
    c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned)p1;
    c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned)p0;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const int word = (int)(unit % 4);
  return word == 0 ? c0 : word == 1 ? c1 : word == 2 ? c2 : c3;
}

// The factor k of one state of one unit.
template <typename A>
struct Kept {
  A factor;
  bool drawn;

  RNN_OPS_DEVICE Kept(const LayerCall& call, unsigned state, Int64 t, Int64 b, Int64 u) {
    const float rate = state == 0 ? call.zoneout_h : call.zoneout_c;
    drawn = call.seed && rate > 0;
    factor = rate;
    if (!drawn) return;
    const unsigned word =
        RandomWord(DropoutKeyOf(call.seed), u, state, (Word64)t * (Word64)call.batch + (Word64)b);
    factor = word < (Word64)((double)rate * 4294967296.0) ? A(1) : A(0);
  }

  // Where one state is selected, an infinite value of the other state has no effect.
  RNN_OPS_DEVICE A Mix(A old, A made) const {
    if (factor == A(0)) return made;
    return factor == A(1) ? old : factor * old + (A(1) - factor) * made;
  }
};

}  // namespace rnn_ops::gpu::elementwise
