// One call of a handler on the CPU: its tensors, its threads and its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/call/op_run.h"
#include "cc/xla/handlers/tensors.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops::ffi {

class Call final : public Tensors, public cpu::Host {
 public:
  Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
       xla::ffi::Dictionary attrs);
  ~Call();

  // Fills the results that are always zero.
  void SetZeros() const;

  cpu::ParallelFor parallel() override { return cpu::ParallelForOf(&team_); }
  Status Scratch(int64_t bytes, void** data) override;
  // Returns InvalidArgument unless the result reserve_space has the size for sequences of T steps.
  Status NewReserve(const cpu::ReserveSizes& sizes, void** data) override;
  PartialShape ShapeOf(Arg input) const override { return arg(input).shape; }
  Status Aligned(Arg input, const void** data) override;

  // Copies the reserve space to the result if the result is not aligned to 64 bytes.
  void FinishReserve() const;

 private:
  ScopedFloatEnvironment environment_;
  Team team_;
  std::vector<void*> allocated_;  // from the C library
  std::vector<void*> cached_;     // from the block cache
  // The source and the size of the copy in FinishReserve().
  void* reserve_copy_ = nullptr;
  int64_t reserve_bytes_ = 0;
};

// The functions that the handlers call.

// Ops of the CudnnRNN family and of LayerRNN.
Status RnnForward(const OpSpec& op, Call* call);
Status RnnBackprop(const OpSpec& op, Call* call);

Status BlockLstm(const OpSpec& op, Call* call);
Status BlockLstmGrad(const OpSpec& op, Call* call);

Status LinearRecurrence(const OpSpec& op, Call* call);

}  // namespace rnn_ops::ffi
