// The choice of what runs a problem on a GPU: cuDNN, or one of this package's two implementations.
// Pure functions of the problem and the GPU, so the same problem runs in the same way in every run.
#pragma once

#include "cc/core/op/dtype.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/status.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/problem/layer_problem.h"

namespace rnn_ops::gpu {

// The values of the environment variable TF_RNN_OPS_GPU_ALGO.
enum class EnginePolicy {
  kHeuristic,   // the fastest one of a table of measurements; the default
  kCudnn,       // cuDNN for CudnnRNNV3. LayerRNN, which cuDNN cannot run, runs its steps
  kPersistent,  // LayerAlgorithm::kPersistent for both
  kSteps,       // LayerAlgorithm::kSteps for both
};

struct EngineChoice {
  bool replaces_cudnn = false;  // for CudnnRNNV3: LayerRNN's engine instead of cuDNN
  LayerAlgorithm forward = LayerAlgorithm::kSteps, backward = LayerAlgorithm::kSteps;
};

// Null or "" means kHeuristic. InvalidArgument for an unknown text.
Status ParseEnginePolicy(const char* text, EnginePolicy* policy);

// Reads the variable.
Status GetEnginePolicy(EnginePolicy* policy);

// The kernels that a problem needs, see IsGeneral() in steps/persistent_steps.h.
enum class KernelKind { kUsual, kGeneral };

// Depends neither on lengths nor on is_training, so that all calls of a network agree.
EngineChoice ChooseEngine(EnginePolicy policy, const RnnConfig& config, Dtype dtype,
                          KernelKind kind, const DeviceTraits& gpu);

// The same, by the variable, which is read in each call, and the GPU of `stream`, a CUstream.
// Null: that of the current context.
Status ChooseEngine(const RnnConfig& config, Dtype dtype, KernelKind kind, void* stream,
                    EngineChoice* choice);

}  // namespace rnn_ops::gpu
