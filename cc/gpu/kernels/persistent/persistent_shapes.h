// How a persistent kernel divides its product among blocks, warps and registers. The kernels and
// their launches read it.
//
// kWidth: units, padded. kTile: rows of the batch, padded. A packet is 16 words of the inner
// dimension: 4 for each of the lanes that share a row. A general kernel has masks for each gate.
#pragma once

#include "cc/gpu/kernels/cells/cell.h"
#include "cc/gpu/kernels/elements.h"
#include "cc/gpu/kernels/layer_rows.h"

namespace rnn_ops::gpu::elementwise {

enum { kPacket = 16, kWarps = 8, kThreads = 32 * kWarps };

RNN_OPS_DEVICE constexpr int Smaller(int a, int b) { return a < b ? a : b; }
RNN_OPS_DEVICE constexpr int Larger(int a, int b) { return a > b ? a : b; }

// Forward: the product's rows are gates of the block's units, its columns rows of the batch. The
// warps share the inner dimension. With masks, a gate has warps and copies of h of its own.
template <int kGatesOfCell, int kPerWord, int kWidth, int kTile, bool kGeneral>
struct ForwardShape {
  enum {
    kJoinedGates = kGatesOfCell == 3 ? 2 : kGatesOfCell,  // those whose biases the cell adds
    kRowsOfUnit = kGeneral || kGatesOfCell == 1 ? 1 : 4,
    kTiles = kRowsOfUnit == 4 && kWidth > 512 ? 2 : 1,  // of 16 rows
    kUnits = 16 / kRowsOfUnit * kTiles,                 // of a block
    kCopies = kGeneral && kGatesOfCell > 1 ? 4 : 1,     // of h
    kWarpsOfCopy = kWarps / kCopies,
    kWords = kWidth / kPerWord,
    kPackets = kWords / kPacket / kWarpsOfCopy,  // of a warp
    kColumnTiles = kTile / 8,
    // Loads at a time: fewer if the weights fill the registers.
    kLoads = kTiles * kPackets >= 8 ? 8 : 16,
    kPacketsAtOnce = Smaller(kPackets, kLoads),
    kColumnsAtOnce = Smaller(kColumnTiles, kLoads / kPacketsAtOnce),
    kIsHalved = kPackets > kPacketsAtOnce,  // packets are loaded in two halves
    kHasGroups = kColumnTiles > kColumnsAtOnce,
    kItems = Larger(1, kUnits* kTile / kThreads),  // units of a thread
    // The stride of a column in shared memory. With + 4, the lanes of a warp use other banks.
    kStride = 16 * kTiles + 4,
    kSharedBytes = kWarps * kTile * kStride * 4,
    kExchangeWords = 2 * kCopies * kTile * kWords,
    kPartialFloats = 0,
    kParts = 1,
  };
  static_assert(kPackets * kPacket * kWarpsOfCopy == kWords, "a warp has whole packets");
  static_assert(kPackets == kPacketsAtOnce || kPackets == 2 * kPacketsAtOnce, "two halves");
};

// Backward: the product's rows are rows of the batch, its columns are units, and the inner
// dimension is the gates of all units. kParts blocks share their units and the inner dimension.
template <int kGatesOfCell, int kPerWord, int kWidth, int kTile, bool kGeneral>
struct BackwardShape {
  enum {
    kUnits = 8,  // of a block
    kParts = kWidth > 512 ? 4 : 1,
    kColumns = kUnits * kParts,
    // With masks, a warp or a part has one gate.
    kInnerGates = kGeneral && kGatesOfCell == 3 ? 4 : kGatesOfCell,
    kWords = kInnerGates * kWidth / kPerWord,
    kPackets = kWords / kPacket / kWarps / kParts,  // of a warp
    kRowTiles = (kTile + 15) / 16,
    kLoads = kPackets * kParts >= 32 ? 4 : 8,  // packets at a time, at most
    kPacketsAtOnce = kPackets <= kLoads ? kPackets : kPackets / 2,
    kIsHalved = kPackets > kPacketsAtOnce,  // packets are loaded in two halves
    kHasGroups = kRowTiles > 1,
    kItems = Larger(1, kUnits* kTile / kThreads),     // units of a thread
    kStride = kParts == 1 ? kColumns : kColumns + 8,  // of a row in shared memory, as above
    kSharedBytes = kWarps * kTile * kStride * 4,
    kExchangeWords = 2 * kTile * kWords,
    kPartialFloats = kParts == 1 ? 0 : kParts * kTile * kUnits,  // for each block
  };
  static_assert(kPackets * kPacket * kWarps * kParts == kWords, "a warp has whole packets");
  static_assert(kPackets == kPacketsAtOnce || kPackets == 2 * kPacketsAtOnce, "two halves");
};

// The unit of a cell in a persistent kernel: the functors of cells/. A kernel that is not general
// knows the activations and lacks peepholes, the clip and zoneout, so that its code is short.

template <class Cell, bool kGeneral>
struct PersistentCell {
  typedef CellArgs<float> Args;

  RNN_OPS_DEVICE static Args ArgsOf(const LayerCall& call, Int64 u, float h_prev, float c_prev) {
    Args args = {};
    if (kGeneral) {
      args = CellArgsOf<float>(call, u);
    } else {
      args.activation = Cell::kGates == 1 ? call.activation : kTanhNumber;
      args.recurrent_activation = kSigmoidNumber;
    }
    args.h_prev = h_prev, args.c_prev = c_prev;
    return args;
  }

  // A state (0: h, 1: c) with the part of the old one that zoneout keeps, and that part.
  RNN_OPS_DEVICE static float Mix(const LayerCall& call, unsigned state, Int64 t, Int64 b, Int64 u,
                                  float old, float made) {
    return kGeneral ? Kept<float>(call, state, t, b, u).Mix(old, made) : made;
  }
  RNN_OPS_DEVICE static float KeptFactor(const LayerCall& call, unsigned state, Int64 t, Int64 b,
                                         Int64 u) {
    return kGeneral ? Kept<float>(call, state, t, b, u).factor : 0.0f;
  }
};

}  // namespace rnn_ops::gpu::elementwise
