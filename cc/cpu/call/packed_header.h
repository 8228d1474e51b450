// The header of a tensor of packed weights. It identifies the network and the kernels that can read
// the panels. The panels follow the header (Note [Packed weights] in
// pass/weights/packed_weights.h).
#pragma once

#include <cstdint>

#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {

// The offset of the panels; a multiple of the alignment that the kernels need.
constexpr int64_t kPackedHeaderBytes = 128;

// Plain data, stored without conversion. A checksum of it, 8 bytes, and zeros follow.
struct PackedHeader {
  uint64_t magic;
  // The kernels. Other kernels read the unpacked weights instead.
  uint32_t version;  // version of the panels
  int32_t vector_bytes;
  int32_t element;  // PackedElement
  // The network. The weights of another network are an error.
  int32_t dtype;  // Dtype of the unpacked weights
  int32_t mode;
  int32_t skip_input;
  int64_t num_dirs;    // D
  int64_t num_layers;  // L
  int64_t num_units;   // H
  int64_t input_size;  // I
  int64_t num_proj;    // P
};
static_assert(sizeof(PackedHeader) == 72, "all bytes are fields");

PackedHeader MakePackedHeader(const RnnProblem& problem, int32_t vector_bytes, int32_t element);

// Writes the first kPackedHeaderBytes bytes of `packed`.
void WritePackedHeader(const PackedHeader& header, void* packed);

// Returns InvalidArgument unless `packed`, of `bytes` bytes, has a header of the network of
// `expected`. Sets *usable to whether the panels are for these kernels and have `panel_bytes`
// bytes. No size is read from the header.
Status CheckPacked(const PackedHeader& expected, int64_t panel_bytes, const void* packed,
                   int64_t bytes, bool* usable);

}  // namespace rnn_ops::cpu
