// The steps of a call in persistent kernels, where one fits: a launch for up to 64 rows of the
// batch.
#pragma once

#include <cstdint>
#include <vector>

#include "cc/core/status.h"
#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/launch/persistent_kernels.h"
#include "cc/gpu/launch/product_call.h"
#include "cc/gpu/problem/layer_problem.h"

namespace rnn_ops::gpu {

// With more rows, a product for each step is as fast.
constexpr int64_t kMostPersistentRows = 128;
// A launch occupies the GPU for at most about a second. Counters have 32 bits, and UnknownZero()
// needs less than 2^30.
constexpr int64_t kMostPersistentSteps = int64_t{1} << 16;

// Whether a problem needs the general kernels: masks for each gate, zoneout, peepholes, a clip, or
// activations other than the usual ones.
bool IsGeneral(const LayerProblem& problem);

class PersistentSteps {
 public:
  // Chooses the kernels and allocates what their blocks share. If none fits, or a CUDA graph
  // captures the call, Runs() is false. If the GPU or the driver lacks something, a warning says
  // so.
  Status Choose(const ProductCall& call, const LayerProblem& p, PersistentPass pass);
  bool Runs() const { return !parts_.empty(); }

  // All steps in `args`, for all rows. The fields `exchange`, `first_row` and `rows` are set here.
  template <typename Args>
  Status Run(const ProductCall& call, Args args) const {
    for (const Part& part : parts_) {
      args.first_row = part.first_row;
      args.rows = static_cast<int>(part.rows);
      RNN_OPS_RETURN_IF_ERROR(call.persistent().Launch(call.place(), part.kernel, memory_, args));
    }
    return Status();
  }

 private:
  struct Part {
    LoadedKernel* kernel;
    int64_t first_row, rows;
  };

  std::vector<Part> parts_;
  void* memory_ = nullptr;
};

}  // namespace rnn_ops::gpu
