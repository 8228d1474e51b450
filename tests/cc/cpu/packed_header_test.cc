#include "cc/cpu/call/packed_header.h"

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rnn_ops::cpu {
namespace {

constexpr int64_t kPanels = 64;

RnnProblem Problem() {
  RnnProblem p;
  p.dtype = kBFloat16;
  p.direction = Direction::kBidirectional;
  p.num_layers = 3;
  p.num_units = 5;
  p.input_size = 7;
  p.num_proj = 4;
  return p;
}

PackedHeader Header() {
  return MakePackedHeader(Problem(), /*vector_bytes=*/64, kPackedArithmetic);
}

std::vector<char> Packed(const PackedHeader& header, int64_t panels = kPanels) {
  std::vector<char> bytes(kPackedHeaderBytes + panels, 0x55);
  WritePackedHeader(header, bytes.data());
  return bytes;
}

struct Outcome {
  Status status;
  bool usable;
};

Outcome Check(const std::vector<char>& bytes) {
  Outcome outcome = {{}, true};
  outcome.status = CheckPacked(Header(), kPanels, bytes.data(), static_cast<int64_t>(bytes.size()),
                               &outcome.usable);
  return outcome;
}

void ExpectRefused(const std::vector<char>& bytes, const std::string& text) {
  const Outcome outcome = Check(bytes);
  EXPECT_EQ(outcome.status.code(), Code::kInvalidArgument);
  EXPECT_FALSE(outcome.usable);
  EXPECT_NE(outcome.status.message().find(text), std::string::npos) << outcome.status.message();
  EXPECT_NE(outcome.status.message().find(
                "(rnn_mode = lstm, T = bfloat16, layers = 3, directions = 2, num_units = 5, "
                "input_size = 7, num_proj = 4)"),
            std::string::npos)
      << outcome.status.message();
}

TEST(PackedHeader, ItsOwnIsTaken) {
  const Outcome outcome = Check(Packed(Header()));
  EXPECT_TRUE(outcome.status.ok()) << outcome.status.message();
  EXPECT_TRUE(outcome.usable);
}

// The FNV-1a hash was computed by another program. A change of the hash or of a field makes saved
// packed weights unreadable.
TEST(PackedHeader, KnownChecksum) {
  uint64_t checksum;
  std::memcpy(&checksum, Packed(Header()).data() + sizeof(PackedHeader), sizeof(checksum));
  EXPECT_EQ(checksum, 0xab36028afbd6dbd4);
}

TEST(PackedHeader, ThatOfOtherKernelsIsLeftAlone) {
  // For any size of the tensor.
  for (int64_t panels : {int64_t{0}, kPanels, 2 * kPanels}) {
    for (int32_t vector_bytes : {16, 32}) {
      const Outcome outcome =
          Check(Packed(MakePackedHeader(Problem(), vector_bytes, kPackedArithmetic), panels));
      EXPECT_TRUE(outcome.status.ok());
      EXPECT_FALSE(outcome.usable);
    }
    const Outcome pairs =
        Check(Packed(MakePackedHeader(Problem(), 64, kPackedBFloat16Pairs), panels));
    EXPECT_TRUE(pairs.status.ok());
    EXPECT_FALSE(pairs.usable);
  }
}

TEST(PackedHeader, AnotherNetworkIsRefusedWithBothNamed) {
  const auto refuse = [](auto change, const std::string& text) {
    RnnProblem other = Problem();
    change(&other);
    // Also for the header of other kernels.
    for (int32_t vector_bytes : {64, 32}) {
      ExpectRefused(Packed(MakePackedHeader(other, vector_bytes, kPackedArithmetic)), text);
    }
  };
  refuse([](RnnProblem* p) { p->dtype = kFloat32; }, "T = float,");
  refuse([](RnnProblem* p) { p->mode = RnnMode::kGru; }, "rnn_mode = gru");
  refuse([](RnnProblem* p) { p->mode = static_cast<RnnMode>(17); }, "rnn_mode = unknown");
  refuse([](RnnProblem* p) { p->input_mode = InputMode::kSkip; }, "skip_input");
  refuse([](RnnProblem* p) { p->direction = Direction::kUnidirectional; }, "directions = 1");
  refuse([](RnnProblem* p) { p->num_layers = 2; }, "layers = 2");
  refuse([](RnnProblem* p) { p->num_units = 6; }, "num_units = 6");
  refuse([](RnnProblem* p) { p->input_size = 8; }, "input_size = 8");
  refuse([](RnnProblem* p) { p->num_proj = 0; }, "num_proj = 0");
}

TEST(PackedHeader, ShapesOfACallDoNotMatter) {
  RnnProblem other = Problem();
  other.max_time = 9;
  other.batch = 3;
  other.time_major = false;
  other.weight_layout = kKerasWeights;
  EXPECT_TRUE(Check(Packed(MakePackedHeader(other, 64, kPackedArithmetic))).usable);
}

TEST(PackedHeader, AnotherLengthIsRefused) {
  std::vector<char> bytes = Packed(Header());
  for (int64_t size = 0; size < static_cast<int64_t>(bytes.size()); ++size) {
    ExpectRefused({bytes.begin(), bytes.begin() + size}, std::to_string(size));
  }
  bytes.push_back(0);
  ExpectRefused(bytes, std::to_string(bytes.size()));
}

TEST(PackedHeader, EveryByteOfItCounts) {
  for (size_t k = 0; k < sizeof(PackedHeader); ++k) {
    std::vector<char> bytes = Packed(Header());
    bytes[k] ^= 0x10;
    ExpectRefused(bytes, "do not begin as such a tensor does");
  }
}

// The header has other fields. An expected one is taken without a look at its checksum.
TEST(PackedHeader, EveryByteOfTheChecksumCounts) {
  const PackedHeader other = MakePackedHeader(Problem(), /*vector_bytes=*/32, kPackedArithmetic);
  for (size_t k = 0; k < sizeof(uint64_t); ++k) {
    std::vector<char> bytes = Packed(other);
    bytes[sizeof(PackedHeader) + k] ^= 0x10;
    ExpectRefused(bytes, "do not begin as such a tensor does");
  }
}

}  // namespace
}  // namespace rnn_ops::cpu
