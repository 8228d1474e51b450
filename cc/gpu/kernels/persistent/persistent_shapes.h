// How a persistent kernel divides its product among blocks, warps and registers. The kernels and
// their launches read it.
//
// kWidth: units, padded. kTile: rows of the batch, padded. A packet is 16 words of the inner
// dimension: 4 for each of the lanes that share a row. A general kernel has masks for each gate.
//
// WHY enumerators: NVRTC writes each static constexpr member into the PTX as a variable.
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
//
//                      kWords words of h
//               +--------+--------+-   -+--------+        warp: kPackets packets
//   16 * kTiles | warp 0 | warp 1 | ... | warp 7 |        packet: 16 words of 16 rows, of which
//   gate rows   +--------+--------+-   -+--------+          lane 4 * group + quad has the words
//   in registers     x the same words of h, 8 columns       4 * quad to 4 * quad + 3 of the rows
//                      of the kTile at a time               `group` and `group` + 8
//
//   sums of the warps in shared memory: [kWarps][kTile][kStride]; then a thread has kItems units
template <int kGatesOfCell, int kPerWord, int kWidth, int kTile, bool kGeneral>
struct ForwardShape {
  enum {
    // The weights of a block.
    kRowsOfUnit = kGeneral || kGatesOfCell == 1 ? 1 : 4,
    kTiles = kRowsOfUnit == 4 && kWidth > 512 ? 2 : 1,  // of 16 rows
    kUnits = 16 / kRowsOfUnit * kTiles,
    // The gates whose two biases the cell adds.
    kJoinedGates = kGatesOfCell == 3 ? 2 : kGatesOfCell,

    // The inner dimension.
    kCopies = kGeneral && kGatesOfCell > 1 ? 4 : 1,  // of h
    kWarpsOfCopy = kWarps / kCopies,
    kWords = kWidth / kPerWord,
    kPackets = kWords / kPacket / kWarpsOfCopy,  // of a warp

    // The rows of the batch, and how many loads are on their way: fewer if the weights fill the
    // registers. Many weights of float32 are multiplied by more columns at a time, because each of
    // their products splits them again.
    kColumnTiles = kTile / 8,
    kHeldPackets = kTiles * kPackets,
    kLoads = kHeldPackets >= 8 ? 8 : 16,
    kSplitsMany = kPerWord == 1 && kHeldPackets >= 8,
    kPacketsAtOnce = kSplitsMany ? (kTile == 64 && kHeldPackets >= 16 ? 1 : 2)
                                 : Smaller(kPackets, kLoads),
    kColumnsAtOnce = kSplitsMany ? (kTile == 64 ? 4 : 2)
                                 : Smaller(kColumnTiles, kLoads / kPacketsAtOnce),
    kTurns = kPackets / kPacketsAtOnce,  // loads of packets for a product
    kHasGroups = kColumnTiles > kColumnsAtOnce,
    kItems = Larger(1, kUnits* kTile / kThreads),  // units of a thread

    // Memory: of a column in shared memory (with + 4, the lanes of a warp use other banks), of a
    // block in bytes, of the whole grid in words.
    kStride = 16 * kTiles + 4,
    kSharedBytes = kWarps * kTile * kStride * 4,
    kExchangeWords = 2 * kCopies * kTile * kWords,
    kPartialFloats = 0,
    kParts = 1,
  };

  static_assert(kPackets * kPacket * kWarpsOfCopy == kWords, "a warp has whole packets");
  static_assert(kTurns * kPacketsAtOnce == kPackets, "a turn has whole packets");
  static_assert(kTurns == 1 || kTurns % 2 == 0, "two buffers take turns");
};

// Backward: the product's rows are rows of the batch, its columns are units, and the inner
// dimension is the gates of all units. kParts blocks share their units and the inner dimension.
//
//                kWords words of gradients of gates
//                +- part 0 ------------+- part 1 ------------+-   -+
//   kTile rows   | warp 0 ... warp 7   | warp 0 ... warp 7   | ... |   x weights of kColumns
//   of the batch +---------------------+---------------------+-   -+     units in registers
//   in tiles of 16     block 0               block 1
//
//   A block sums its warps in shared memory, [kWarps][kTile][kStride], and sends the sums of the
//   other blocks' units to them. Then a thread has kItems units.
template <int kGatesOfCell, int kPerWord, int kWidth, int kTile, bool kGeneral>
struct BackwardShape {
  enum {
    // The weights of a block.
    kUnits = 8,
    kParts = kWidth * (kPerWord == 1 ? 2 : 1) > 512 ? 4 : 1,
    kColumns = kUnits * kParts,

    // The inner dimension. With masks, a warp or a part has one gate.
    kInnerGates = kGeneral && kGatesOfCell == 3 ? 4 : kGatesOfCell,
    kWords = kInnerGates * kWidth / kPerWord,
    kPackets = kWords / kPacket / kWarps / kParts,  // of a warp

    // The rows of the batch, and how many packets are on their way at most.
    kRowTiles = (kTile + 15) / 16,
    kLoads = kPackets * kParts >= 32 ? 4 : 8,
    kPacketsAtOnce = kPackets <= kLoads ? kPackets : kPackets / 2,
    kTurns = kPackets / kPacketsAtOnce,
    kHasGroups = kRowTiles > 1,
    kItems = Larger(1, kUnits* kTile / kThreads),  // units of a thread

    // Memory, as above; kPartialFloats: of each block, for the sums of its parts.
    kStride = kParts == 1 ? kColumns : kColumns + 8,  // of a row
    kSharedBytes = kWarps * kTile * kStride * 4,
    kExchangeWords = 2 * kTile * kWords,
    kPartialFloats = kParts == 1 ? 0 : kParts * kTile * kUnits,
  };

  static_assert(kPackets * kPacket * kWarps * kParts == kWords, "a warp has whole packets");
  static_assert(kTurns * kPacketsAtOnce == kPackets, "a turn has whole packets");
  static_assert(kTurns == 1 || kTurns % 2 == 0, "two buffers take turns");
};

// The unit of a cell in a persistent kernel: the functors of cells/. A kernel that is not general
// lacks peepholes, the clip and zoneout, and knows the activations of the LSTM and the GRU, so that
// its code is short.

template <class Cell, bool kGeneral>
struct PersistentCell {
  typedef CellArgs<float> Args;

  RNN_OPS_DEVICE static Args ArgsOf(const LayerCall& call, Int64 u, float h_prev, float c_prev) {
    Args args = {};
    if (kGeneral) {
      args = CellArgsOf<float>(call, u);
    } else {
      const bool knows = Cell::kGates > 1 && Cell::kProducts == 1;
      args.activation = knows ? kTanhNumber : call.activation;
      args.recurrent_activation = knows ? kSigmoidNumber : call.recurrent_activation;
    }
    args.h_prev = h_prev;
    args.c_prev = c_prev;
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
