// One call of a handler on the CPU: its tensors, threads and memory.
#ifndef TF_RNN_OPS_CC_FFI_CALL_H_
#define TF_RNN_OPS_CC_FFI_CALL_H_

#include <cstdint>
#include <vector>

#include "cc/core/machine/float_environment.h"
#include "cc/core/machine/team.h"
#include "cc/core/status.h"
#include "cc/cpu/op_run.h"
#include "cc/cpu/team_parallel_for.h"
#include "cc/ffi/tensors.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops {
namespace ffi {

class Call final : public Tensors, public cpu::Host {
 public:
  Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
       xla::ffi::Dictionary attrs);
  ~Call();

  // Fills the results that are zero whatever is computed.
  void SetZeros() const;

  cpu::ParallelFor parallel() override { return cpu::ParallelForOf(&team_); }
  Status Scratch(int64_t bytes, void** data) override;
  // After CheckReserveResult().
  Status NewReserve(int64_t bytes, void** data) override;
  PartialShape ShapeOf(Arg input) const override { return arg(input).shape; }
  Status Aligned(Arg input, const void** data) override;

  // InvalidArgument unless the result reserve_space has `bytes`, rounded up to whole elements.
  Status CheckReserveResult(int64_t bytes) const;
  // Copies the reserve space to the result where that is not aligned to 64 bytes.
  void FinishReserve() const;

 private:
  ScopedFloatEnvironment environment_;
  Team team_;
  std::vector<void*> allocated_;  // by the C library
  std::vector<void*> cached_;     // from the cache of blocks
  // What FinishReserve() copies.
  void* reserve_copy_ = nullptr;
  int64_t reserve_bytes_ = 0;
};

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_CALL_H_
