#include "cc/cpu/call/packed_header.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "cc/core/fnv1a.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"

namespace rnn_ops::cpu {
namespace {

constexpr uint64_t kMagic = 0x7466526e6e50636b;  // "tfRnnPck"
// Increment this with every change of the panels.
constexpr uint32_t kVersion = 1;

struct Stored {
  PackedHeader header;
  uint64_t checksum;
};

uint64_t Checksum(const PackedHeader& header) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&header);
  Fnv1a hash;
  for (size_t i = 0; i < sizeof(header); ++i) hash.AddByte(bytes[i]);
  return hash.value();
}

std::string Network(const PackedHeader& h) {
  // The numbers of a header may be any.
  return StrCat("(rnn_mode = ", Name(static_cast<RnnMode>(h.mode)),
                ", T = ", Name(static_cast<Dtype>(h.dtype)), ", layers = ", h.num_layers,
                ", directions = ", h.num_dirs, ", num_units = ", h.num_units,
                ", input_size = ", h.input_size, ", num_proj = ", h.num_proj,
                h.skip_input ? ", skip_input)" : ")");
}

bool SameNetwork(const PackedHeader& a, const PackedHeader& b) {
  return a.dtype == b.dtype && a.mode == b.mode && a.skip_input == b.skip_input &&
         a.num_dirs == b.num_dirs && a.num_layers == b.num_layers && a.num_units == b.num_units &&
         a.input_size == b.input_size && a.num_proj == b.num_proj;
}

}  // namespace

PackedHeader MakePackedHeader(const RnnProblem& p, int32_t vector_bytes, int32_t element) {
  PackedHeader h = {};
  h.magic = kMagic;
  h.version = kVersion;
  h.vector_bytes = vector_bytes;
  h.element = element;
  h.dtype = p.dtype;
  h.mode = static_cast<int32_t>(p.mode);
  h.skip_input = p.skips_input(0);
  h.num_dirs = p.num_dirs();
  h.num_layers = p.num_layers;
  h.num_units = p.num_units;
  h.input_size = p.input_size;
  h.num_proj = p.num_proj;
  return h;
}

void WritePackedHeader(const PackedHeader& header, void* packed) {
  const Stored stored = {header, Checksum(header)};
  std::memset(packed, 0, kPackedHeaderBytes);
  std::memcpy(packed, &stored, sizeof(stored));
}

Status CheckPacked(const PackedHeader& expected, int64_t panel_bytes, const void* packed,
                   int64_t bytes, bool* usable) {
  *usable = false;
  Stored stored = {};
  if (bytes >= kPackedHeaderBytes) std::memcpy(&stored, packed, sizeof(stored));
  const PackedHeader& found = stored.header;
  // WHY no checksum of the expected header: it takes longer than the rest of the check.
  const bool same = std::memcmp(&found, &expected, sizeof(found)) == 0;
  if (!same && (found.magic != kMagic || stored.checksum != Checksum(found))) {
    return InvalidArgument("packed must be the packed weights of ", Network(expected),
                           ", as the op that packs them returned them, but its ", bytes,
                           " bytes do not begin as such a tensor does.");
  }
  if (!SameNetwork(found, expected)) {
    return InvalidArgument("packed must be the packed weights of ", Network(expected),
                           ", but it has those of ", Network(found), ".");
  }
  if (found.version != expected.version || found.vector_bytes != expected.vector_bytes ||
      found.element != expected.element) {
    return Status();
  }
  if (bytes - kPackedHeaderBytes != panel_bytes) {
    return InvalidArgument("packed must have ", kPackedHeaderBytes + panel_bytes, " bytes for ",
                           Network(expected), ", but it has ", bytes, ".");
  }
  *usable = true;
  return Status();
}

}  // namespace rnn_ops::cpu
