#include "cc/gpu/engine_choice.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/steps/persistent_steps.h"

namespace rnn_ops::gpu {
namespace {

// Note [Measured rows]: the bounds below were measured on an H100 only (docs/history/gpu-h100.md,
// tests/gpu/core/run.py --only stack-times layer-times), up to 128 sequences and 1024 units.

// With its 132 multiprocessors all persistent kernels run. Without one, the steps would run, which
// are slower than cuDNN.
bool WasMeasured(const DeviceTraits& gpu) {
  constexpr int kHopper = 9, kFewestMultiprocessors = 128;
  return gpu.major == kHopper && gpu.multiprocessors >= kFewestMultiprocessors;
}

bool HasGates(const RnnConfig& c) {
  return c.mode == RnnMode::kLstm || c.mode == RnnMode::kGru || c.mode == RnnMode::kGruResetBefore;
}

// The largest batch with which the persistent kernels are faster than a product and a kernel for
// each step. In float32 they compute three products for one.
int64_t MostRowsAgainstSteps(const RnnConfig& c, Dtype dtype) {
  if (dtype != Dtype::kFloat32 || c.num_units <= 256) return kMostPersistentRows;
  if (c.num_units > 512) return 16;
  return HasGates(c) ? 64 : kMostPersistentRows;
}

struct Rows {
  int64_t fewest, most;
  bool Have(int64_t batch) const { return fewest <= batch && batch <= most; }
};

// In float16, cuDNN's persistent kernels run on tensor cores if all sizes fill their tiles.
Rows HalfRowsAgainstCudnn(const RnnConfig& c) {
  constexpr int64_t kTile = 128;
  if (!HasGates(c)) return {1, 0};
  const bool fills_tiles =
      c.num_units % kTile == 0 && c.input_size % kTile == 0 && c.batch % 8 == 0;
  if (c.mode == RnnMode::kLstm && fills_tiles) return {1, 0};
  return {16, 64};
}

// The batches with which the persistent kernels are faster than cuDNN's best algorithm.
Rows RowsAgainstCudnn(const RnnConfig& c, Dtype dtype) {
  // PERSIST_STATIC_SMALL_H is faster for few units.
  if (c.num_units <= (HasGates(c) ? 128 : 256)) return {1, 0};
  // For few rows PERSIST_STATIC is as fast or faster in most cells and sizes.
  switch (dtype) {
    case Dtype::kFloat32:
      return {5, MostRowsAgainstSteps(c, dtype)};
    case Dtype::kBFloat16:
      return {4, HasGates(c) && c.num_units > 512 ? 64 : kMostPersistentRows};
    case Dtype::kFloat16:
      return HalfRowsAgainstCudnn(c);
    default:
      return {1, 0};
  }
}

bool BeatsSteps(const RnnConfig& c, Dtype dtype, const DeviceTraits& gpu) {
  return WasMeasured(gpu) && c.batch <= MostRowsAgainstSteps(c, dtype);
}

bool BeatsCudnn(const RnnConfig& c, Dtype dtype, const DeviceTraits& gpu) {
  constexpr int64_t kMostUnits = 1024;  // of a persistent kernel
  return WasMeasured(gpu) && c.num_proj == 0 && c.cell_clip == 0 &&
         c.input_mode == InputMode::kLinear && c.num_units <= kMostUnits &&
         c.max_time <= kMostPersistentSteps && RowsAgainstCudnn(c, dtype).Have(c.batch);
}

}  // namespace

Status ParseEnginePolicy(const char* text, EnginePolicy* policy) {
  constexpr struct {
    const char* text;
    EnginePolicy policy;
  } kValues[] = {{"", EnginePolicy::kHeuristic},
                 {"heuristic", EnginePolicy::kHeuristic},
                 {"cudnn", EnginePolicy::kCudnn},
                 {"persistent", EnginePolicy::kPersistent},
                 {"steps", EnginePolicy::kSteps}};
  for (const auto& value : kValues) {
    if (std::strcmp(text == nullptr ? "" : text, value.text) != 0) continue;
    *policy = value.policy;
    return Status();
  }
  return InvalidArgument(
      "TF_RNN_OPS_GPU_ALGO must be one of heuristic, cudnn, persistent, steps, but it is '", text,
      "'.");
}

EngineChoice ChooseEngine(EnginePolicy policy, const RnnConfig& config, Dtype dtype,
                          const DeviceTraits& gpu) {
  switch (policy) {
    case EnginePolicy::kCudnn:
      return {false, LayerAlgorithm::kSteps};
    case EnginePolicy::kPersistent:
      return {true, LayerAlgorithm::kPersistent};
    case EnginePolicy::kSteps:
      return {true, LayerAlgorithm::kSteps};
    case EnginePolicy::kHeuristic:
      break;
  }
  const bool persistent = BeatsSteps(config, dtype, gpu);
  return {BeatsCudnn(config, dtype, gpu),
          persistent ? LayerAlgorithm::kPersistent : LayerAlgorithm::kSteps};
}

Status GetEnginePolicy(EnginePolicy* policy) {
  return ParseEnginePolicy(std::getenv("TF_RNN_OPS_GPU_ALGO"), policy);
}

Status ChooseEngine(const RnnConfig& config, Dtype dtype, void* stream, EngineChoice* choice) {
  EnginePolicy policy = EnginePolicy::kHeuristic;
  RNN_OPS_RETURN_IF_ERROR(GetEnginePolicy(&policy));
  DeviceTraits gpu;
  if (policy == EnginePolicy::kHeuristic) {
    const DriverApi* driver = nullptr;
    RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
    RNN_OPS_RETURN_IF_ERROR(GetDeviceTraits(*driver, stream, &gpu));
  }
  *choice = ChooseEngine(policy, config, dtype, gpu);
  return Status();
}

}  // namespace rnn_ops::gpu
