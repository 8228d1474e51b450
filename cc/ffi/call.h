// One call of a handler on the CPU: its tensors, threads and memory.
#ifndef TF_RNN_OPS_CC_FFI_CALL_H_
#define TF_RNN_OPS_CC_FFI_CALL_H_

#include <cstdint>
#include <vector>

#include "cc/core/float_environment.h"
#include "cc/core/status.h"
#include "cc/core/team.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/team_parallel_for.h"
#include "cc/ffi/tensors.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops {
namespace ffi {

class Call : public Tensors {
 public:
  Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
       xla::ffi::Dictionary attrs);
  ~Call();

  // Sets all bytes of a result to zero.
  void Zero(int index) const;

  // Valid as long as this object.
  cpu::ParallelFor parallel() { return cpu::ParallelForOf(&team_); }

  // Memory aligned to 64 bytes that lives as long as this object.
  Status Scratch(int64_t bytes, void** data);
  // The data of an argument, or of a copy where it is not aligned to 64 bytes.
  Status Aligned(int index, const void** data);

 private:
  ScopedFloatEnvironment environment_;
  Team team_;
  std::vector<void*> allocated_;  // by the C library
  std::vector<void*> cached_;     // from the cache of blocks
};

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_CALL_H_
