#include "cc/gpu/problem/stack_problem.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kReserveUnit = 256;

bool IsReserveOfProgram(int8_t algorithm) {
  return algorithm > 0 && (algorithm & kReserveOfProgram) != 0;
}

}  // namespace

int64_t RoundedReserve(int64_t needed) { return (needed / kReserveUnit + 1) * kReserveUnit; }

int8_t WithoutFlag(int8_t algorithm) {
  const int flag = IsReserveOfProgram(algorithm) ? kReserveOfProgram : 0;
  return static_cast<int8_t>(algorithm - flag);
}

Status CheckReserve(const RnnBackwardArgs& args, int64_t expected) {
  const int64_t actual = args.reserve_bytes;
  const bool of_program = IsReserveOfProgram(args.algorithm);
  if (actual == expected) return Status();
  if (of_program && actual > expected && actual % kReserveUnit == 0) return Status();
  return InvalidArgument(
      "reserve_space must be the output of the forward op with is_training=True on this device for "
      "these inputs and attributes, which has ",
      of_program ? "at least " : "", expected, " bytes, but it has ", actual, " bytes.");
}

}  // namespace rnn_ops::gpu
