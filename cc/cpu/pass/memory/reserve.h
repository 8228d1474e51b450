// The reserve space of the CPU kernels.
//
// Note [Reserve space]
// The arrays of the reserve space, in order, with packed rows (Note [Packed rows]) and in the type
// of the arithmetic:
//   - a header
//   - for every pseudo-layer: the gate buffer [R, gate_row], and for LSTM also c [R, padded]
//   - for every layer except the last: its output [R, D*S]
//
// The gate buffer has these values of each unit:
//   - LSTM: i, f, g, o; with layer normalization instead both products of each gate
//   - GRU: n, r, z, q; without q if the reset gate is applied before the product
//   - vanilla modes: none
//
// So a unit and step needs 5 values for LSTM, 9 with layer normalization, 4 or 3 for GRU, and 0 for
// tanh and relu, plus one value if another layer follows. The backward pass recomputes all other
// values. The header identifies the problem, so that the backward pass rejects the reserve space of
// another call. The content may change with every version.
#pragma once

#include <cstdint>
#include <cstring>

#include "cc/core/checked_math.h"
#include "cc/core/fnv1a.h"
#include "cc/cpu/pass/memory/sizes.h"
#include "cc/cpu/rows/arena.h"
#include "cc/cpu/rows/sequence.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {

// tf_rnn_ops/plain/dropout.py reads the magic number and the key.
struct ReserveHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t vector_bytes;
  uint64_t fingerprint;
  uint32_t dropout_key[2];
};

constexpr uint64_t kReserveMagic = 0x7466526e6e4f7073;  // "tfRnnOps"
constexpr uint32_t kReserveVersion = 1;

// A hash of all properties that determine the content, except the key. `pairs`: see
// Note [Pairs].
inline uint64_t Fingerprint(const RnnProblem& p, bool pairs) {
  Fnv1a hash;
  auto bits = [](float value) {
    uint32_t found;
    std::memcpy(&found, &value, sizeof(found));
    return int64_t{found};
  };
  for (int64_t value : {int64_t{p.dtype},
                        static_cast<int64_t>(p.mode),
                        static_cast<int64_t>(p.activation),
                        static_cast<int64_t>(p.recurrent_activation),
                        static_cast<int64_t>(p.input_mode),
                        p.num_dirs(),
                        int64_t{p.time_major},
                        bits(p.dropout),
                        bits(p.cell_clip),
                        bits(p.proj_clip),
                        int64_t{p.weight_layout},
                        int64_t{p.has_peepholes},
                        int64_t{p.input_masked},
                        int64_t{p.recurrent_masked},
                        int64_t{pairs},
                        p.num_layers,
                        p.num_units,
                        p.input_size,
                        p.num_proj,
                        p.max_time,
                        p.batch}) {
    hash.Add(static_cast<uint64_t>(value));
  }
  if (p.has_zoneout()) {
    hash.Add(p.zoneout_h);
    hash.Add(p.zoneout_c);
    hash.Add(uint64_t{p.zoneout_drawn});
  }
  if (p.has_layer_norm) hash.Add(p.layer_norm_epsilon);
  for (int64_t b = 0; b < p.batch; ++b) hash.Add(static_cast<uint64_t>(p.lengths.steps[b]));
  return hash.value();
}

template <typename T>
struct Reserve {
  ReserveHeader* header;
  Arena arena;  // behind the header
  int64_t rows;
  const Sizes<T>* sizes;
  int64_t num_layers;

  struct PseudoLayer {
    T* gates;  // no elements if the cell saves no gates
    T* c;      // no elements in a cell without c
  };
  PseudoLayer At(int64_t pseudo_layer) const;
  T* LayerOutput(int64_t layer) const;
  int64_t bytes() const;
  // Zeroes the memory that no pass writes: the rest of the header and the gaps between aligned
  // arrays. Otherwise an output of the op would show old memory.
  void ClearGaps() const;

 private:
  // Calls fn(data, elements) for the arrays in order.
  template <typename F>
  Arena Walk(F&& fn) const;
  int64_t GateElements() const { return sizes->cell.saves_gates ? Area(rows, sizes->gate_row) : 0; }
  int64_t CElements() const { return sizes->cell.has_c ? Area(rows, sizes->padded) : 0; }
  int64_t PseudoLayerBytes() const {
    Arena one;
    one.Take<T>(GateElements());
    one.Take<T>(CElements());
    return one.bytes();
  }
};

template <typename T>
Reserve<T> MakeReserve(void* base, int64_t rows, const Sizes<T>& sizes, int64_t num_layers) {
  Reserve<T> r;
  r.arena = Arena(base);
  r.header = r.arena.template Take<ReserveHeader>(1);
  r.rows = rows;
  r.sizes = &sizes;
  r.num_layers = num_layers;
  return r;
}

// The bytes of the reserve space if every sequence has T steps.
template <typename T>
int64_t LongestReserveBytes(const RnnProblem& p, const Sizes<T>& sizes) {
  return MakeReserve<T>(nullptr, Area(p.max_time, p.batch), sizes, p.num_layers).bytes();
}

template <typename T>
typename Reserve<T>::PseudoLayer Reserve<T>::At(int64_t pseudo_layer) const {
  Arena walk = arena;
  walk.Skip(pseudo_layer * PseudoLayerBytes());
  PseudoLayer found{};
  found.gates = walk.Take<T>(GateElements());
  found.c = walk.Take<T>(CElements());
  return found;
}

template <typename T>
T* Reserve<T>::LayerOutput(int64_t layer) const {
  Arena one;
  one.Take<T>(Area(rows, sizes->output));
  Arena walk = arena;
  walk.Skip(num_layers * sizes->num_dirs * PseudoLayerBytes() + layer * one.bytes());
  return walk.Take<T>(Area(rows, sizes->output));
}

template <typename T>
template <typename F>
Arena Reserve<T>::Walk(F&& fn) const {
  Arena walk = arena;
  auto visit = [&](int64_t elements) { fn(walk.Take<T>(elements), elements); };
  for (int64_t i = 0; i < num_layers * sizes->num_dirs; ++i) {
    visit(GateElements());
    visit(CElements());
  }
  for (int64_t l = 0; l + 1 < num_layers; ++l) visit(Area(rows, sizes->output));
  return walk;
}

template <typename T>
int64_t Reserve<T>::bytes() const {
  return Walk([](T*, int64_t) {}).bytes();
}

template <typename T>
void Reserve<T>::ClearGaps() const {
  std::memset(static_cast<void*>(header), 0,
              RoundUp(static_cast<int64_t>(sizeof(ReserveHeader)), Arena::kAlignment));
  Walk([](T* data, int64_t elements) {
    const int64_t bytes = elements * static_cast<int64_t>(sizeof(T));
    std::memset(static_cast<void*>(data + elements), 0, RoundUp(bytes, Arena::kAlignment) - bytes);
  });
}

}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE
