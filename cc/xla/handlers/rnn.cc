// The ops on the CPU.

#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/cpu/call/op_run.h"
#include "cc/xla/handlers/call.h"
#include "cc/xla/handlers/tensors.h"

namespace rnn_ops::ffi {
namespace {

// The CudnnRNN family and LayerRNN on the CPU.

// Copies the lengths, [B], to `memory` and refers to them in *lengths.
Status CopyLengths(const Call& call, std::vector<int32_t>* memory, cpu::SequenceLengths* lengths) {
  const RnnConfig& config = call.config();
  memory->resize(config.batch);
  lengths->steps = memory->data();
  const auto* given = static_cast<const int32_t*>(call.tensors().in(Arg::sequence_lengths));
  if (given != nullptr && config.batch > 0) RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(given[0]));
  return CopySequenceLengths(given, config.batch, config.max_time, memory->data(), &lengths->sum);
}

Status DrawKey(const Call& call, DropoutKey* key) {
  const void* given = call.tensors().in(Arg::seed);
  const bool zones_out = call.attrs().has_zoneout() && given != nullptr;
  if (!HasDropout(call.attrs()) && !zones_out) return Status();
  int64_t seed[2];
  if (given != nullptr) std::memcpy(seed, given, sizeof(seed));
  return DrawDropoutKey(call, given == nullptr ? nullptr : seed, key);
}

}  // namespace

Status RnnForward(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  std::vector<int32_t> memory;
  cpu::SequenceLengths lengths;
  RNN_OPS_RETURN_IF_ERROR(CopyLengths(*call, &memory, &lengths));
  DropoutKey key;
  RNN_OPS_RETURN_IF_ERROR(DrawKey(*call, &key));
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call->config(), call->dtype(), call->tensors());
  problem.lengths = lengths;
  problem.dropout_key[0] = key.k0;
  problem.dropout_key[1] = key.k1;
  call->SetZeros();
  RNN_OPS_RETURN_IF_ERROR(cpu::RunRnnForward(problem, call->tensors(), call));
  call->FinishReserve();
  return Status();
}

Status RnnBackprop(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  std::vector<int32_t> memory;
  cpu::SequenceLengths lengths;
  RNN_OPS_RETURN_IF_ERROR(CopyLengths(*call, &memory, &lengths));
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call->config(), call->dtype(), call->tensors());
  problem.lengths = lengths;
  call->SetZeros();
  return cpu::RunRnnBackward(problem, call->tensors(), call);
}

// BlockLSTMV2 and its gradient on the CPU.

namespace {

Status MakeProblem(const OpSpec& op, Call* call, cpu::BlockLstmProblem* problem) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  int64_t seq_len_max = 0;
  std::memcpy(&seq_len_max, call->tensors().in(Arg::seq_len_max), sizeof(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(CheckRunTimeSizes(seq_len_max));
  RNN_OPS_RETURN_IF_ERROR(MakeBlockLstmConfig(call->dims(), seq_len_max, problem));
  problem->dtype = call->dtype();
  return call->Attr("use_peephole", &problem->use_peephole);
}

}  // namespace

Status BlockLstm(const OpSpec& op, Call* call) {
  cpu::BlockLstmProblem problem;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &problem));
  RNN_OPS_RETURN_IF_ERROR(call->Attr("cell_clip", &problem.cell_clip));
  return cpu::RunBlockLstmForward(problem, call->tensors(), call);
}

Status BlockLstmGrad(const OpSpec& op, Call* call) {
  cpu::BlockLstmProblem problem;
  RNN_OPS_RETURN_IF_ERROR(MakeProblem(op, call, &problem));
  return cpu::RunBlockLstmBackward(problem, call->tensors(), call);
}

// LinearRecurrence on the CPU.

Status LinearRecurrence(const OpSpec& op, Call* call) {
  RNN_OPS_RETURN_IF_ERROR(call->Bind(op));
  bool transposed = false;
  RNN_OPS_RETURN_IF_ERROR(call->Attr("transposed", &transposed));
  if (IsNarrow(call->dtype())) return InvalidArgument("T must be float or double.");
  call->SetZeros();
  const cpu::LinearRecurrenceProblem problem = cpu::MakeLinearRecurrenceProblem(
      call->attrs().mode, call->dims(), call->dtype(), transposed, call->tensors());
  return cpu::RunLinearRecurrence(problem, call->tensors(), call);
}

}  // namespace rnn_ops::ffi
