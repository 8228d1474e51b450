// The first bytes of a tensor of packed weights: of which network they are, and which kernels read
// them. The panels behind are Note [Packed weights] in pass/weights/pack.h.
#ifndef TF_RNN_OPS_CC_CPU_PACKED_HEADER_H_
#define TF_RNN_OPS_CC_CPU_PACKED_HEADER_H_

#include <cstdint>

#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops {
namespace cpu {

// Where the panels begin; a multiple of the alignment that the kernels want.
constexpr int64_t kPackedHeaderBytes = 128;

// Plain data, stored as it is. The bytes up to kPackedHeaderBytes are zero.
struct PackedHeader {
  uint64_t magic;
  // The kernels. Others read the plain weights instead.
  uint32_t version;  // of the panels
  int32_t vector_bytes;
  int32_t element;  // PackedElement
  // The network. Another one is an error.
  int32_t dtype;  // Dtype of the plain weights
  int32_t mode;
  int32_t skip_input;
  int64_t num_dirs;    // D
  int64_t num_layers;  // L
  int64_t num_units;   // H
  int64_t input_size;  // I
  int64_t num_proj;    // P
  uint64_t checksum;   // of all fields before it
};
static_assert(sizeof(PackedHeader) <= kPackedHeaderBytes);

PackedHeader MakePackedHeader(const RnnProblem& problem, int32_t vector_bytes, int32_t element);

// Fills the first kPackedHeaderBytes.
void WritePackedHeader(const PackedHeader& header, void* packed);

// InvalidArgument unless `packed`, of `bytes` bytes, has a header of the network of `expected`.
// *usable: the panels are for these kernels, and there are `panel_bytes` of them. No size is taken
// from the header.
Status CheckPacked(const PackedHeader& expected, int64_t panel_bytes, const void* packed,
                   int64_t bytes, bool* usable);

}  // namespace cpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CPU_PACKED_HEADER_H_
