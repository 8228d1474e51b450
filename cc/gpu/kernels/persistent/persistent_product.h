// The product of a step in the registers of a warp, for the rows of the batch in groups.
#pragma once

#include "cc/gpu/kernels/persistent/warp.h"

namespace rnn_ops::gpu::elementwise {

// Multiplies all groups of a step: ForwardBlock or BackwardBlock loads, multiplies and stores. Each
// load is issued before the product of the values before it. So a group whose packets come in two
// halves uses two buffers, and otherwise two groups by turns do.
template <class Block>
RNN_OPS_DEVICE void MultiplyGroups(const Block& block, int t, int groups) {
  typedef typename Block::S S;
  enum { kSecond = S::kIsHalved ? S::kPackets - S::kPacketsAtOnce : 0 };
  typename Block::Factors v, next;
  block.template LoadFactors<0>(t, 0, v);
  RNN_OPS_NO_UNROLL for (int group = 0; group < (S::kHasGroups ? groups : 1); ++group) {
    const bool has_next = S::kHasGroups && group + 1 < groups;
    typename Block::Sums sums = {};
    if (S::kIsHalved) {
      block.template LoadFactors<kSecond>(t, group, next);
      block.template Multiply<0>(UnknownZero(t + group), v, sums);
      if (has_next) block.template LoadFactors<0>(t, group + 1, v);
      block.template Multiply<kSecond>(UnknownZero(t + group), next, sums);
      block.StoreSums(group, sums);
      continue;
    }
    if (has_next) block.template LoadFactors<0>(t, group + 1, next);
    block.template Multiply<0>(UnknownZero(t + group), v, sums);
    block.StoreSums(group, sums);
    if (!has_next) break;
    // The same with the buffers exchanged, which saves the moves.
    ++group;
    if (group + 1 < groups) block.template LoadFactors<0>(t, group + 1, v);
    typename Block::Sums second = {};
    block.template Multiply<0>(UnknownZero(t + group), next, second);
    block.StoreSums(group, second);
  }
}

}  // namespace rnn_ops::gpu::elementwise
