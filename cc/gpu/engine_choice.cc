#include "cc/gpu/engine_choice.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/steps/persistent_steps.h"

namespace rnn_ops::gpu {
namespace {

// With its 132 multiprocessors all persistent kernels run. Without one, the steps would run, which
// are slower than cuDNN.
bool WasMeasured(const DeviceTraits& gpu) {
  constexpr int kHopper = 9, kFewestMultiprocessors = 128;
  return gpu.major == kHopper && gpu.multiprocessors >= kFewestMultiprocessors;
}

// The implementations next to which the persistent kernels were timed.
enum class Rival {
  kForward,         // the steps of a forward pass
  kBackward,        // of a backward pass
  kGeneralForward,  // the same two with the general kernels
  kGeneralBackward,
  kCudnn,            // cuDNN's best algorithm, in inference and training
  kCudnnTensorCores  // that of float16 if all sizes fill the tiles of tensor cores
};

enum class Cell { kLstm, kGru, kGruResetBefore, kVanilla };

struct Range {
  int64_t fewest, most;
  bool Has(int64_t number) const { return fewest <= number && number <= most; }
};

// The problems in which the persistent kernels are faster than a rival.
struct EngineRow {
  Rival rival;
  Cell cell;
  Dtype dtype;
  Range units, batch;
};

// Note [Measured rows]: tools/engine_table.py writes the rows from the times of a run on a GPU.
constexpr EngineRow kRows[] = {
#include "cc/gpu/engine_rows.inc"
};

bool FindCell(RnnMode mode, Cell* cell) {
  switch (mode) {
    case RnnMode::kLstm:
      *cell = Cell::kLstm;
      return true;
    case RnnMode::kGru:
      *cell = Cell::kGru;
      return true;
    case RnnMode::kGruResetBefore:
      *cell = Cell::kGruResetBefore;
      return true;
    case RnnMode::kTanh:
    case RnnMode::kRelu:
    case RnnMode::kVanilla:
      *cell = Cell::kVanilla;
      return true;
    default:
      return false;
  }
}

bool Beats(Rival rival, const RnnConfig& c, Dtype dtype) {
  Cell cell;
  if (!FindCell(c.mode, &cell)) return false;
  for (const EngineRow& row : kRows) {
    if (row.rival == rival && row.cell == cell && row.dtype == dtype &&
        row.units.Has(c.num_units) && row.batch.Has(c.batch)) {
      return true;
    }
  }
  return false;
}

LayerAlgorithm FasterOf(Rival rival, const RnnConfig& c, Dtype dtype) {
  return Beats(rival, c, dtype) ? LayerAlgorithm::kPersistent : LayerAlgorithm::kSteps;
}

bool BeatsCudnn(const RnnConfig& c, Dtype dtype) {
  constexpr int64_t kTile = 128;
  if (c.num_proj > 0 || c.cell_clip > 0 || c.input_mode != InputMode::kLinear ||
      c.max_time > kMostPersistentSteps) {
    return false;
  }
  const bool fills_tiles = dtype == Dtype::kFloat16 && c.num_units % kTile == 0 &&
                           c.input_size % kTile == 0 && c.batch % 8 == 0;
  return Beats(fills_tiles ? Rival::kCudnnTensorCores : Rival::kCudnn, c, dtype);
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
                          KernelKind kind, const DeviceTraits& gpu) {
  constexpr auto kSteps = LayerAlgorithm::kSteps, kPersistent = LayerAlgorithm::kPersistent;
  switch (policy) {
    case EnginePolicy::kCudnn:
      return {false, kSteps, kSteps};
    case EnginePolicy::kPersistent:
      return {true, kPersistent, kPersistent};
    case EnginePolicy::kSteps:
      return {true, kSteps, kSteps};
    case EnginePolicy::kHeuristic:
      break;
  }
  if (!WasMeasured(gpu)) return {false, kSteps, kSteps};
  const bool usual = kind == KernelKind::kUsual;
  return {BeatsCudnn(config, dtype),
          FasterOf(usual ? Rival::kForward : Rival::kGeneralForward, config, dtype),
          FasterOf(usual ? Rival::kBackward : Rival::kGeneralBackward, config, dtype)};
}

Status GetEnginePolicy(EnginePolicy* policy) {
  return ParseEnginePolicy(std::getenv("TF_RNN_OPS_GPU_ALGO"), policy);
}

Status ChooseEngine(const RnnConfig& config, Dtype dtype, KernelKind kind, void* stream,
                    EngineChoice* choice) {
  EnginePolicy policy = EnginePolicy::kHeuristic;
  RNN_OPS_RETURN_IF_ERROR(GetEnginePolicy(&policy));
  DeviceTraits gpu;
  if (policy == EnginePolicy::kHeuristic) {
    const DriverApi* driver = nullptr;
    RNN_OPS_RETURN_IF_ERROR(GetLibrary(&driver));
    RNN_OPS_RETURN_IF_ERROR(GetDeviceTraits(*driver, stream, &gpu));
  }
  *choice = ChooseEngine(policy, config, dtype, kind, gpu);
  return Status();
}

}  // namespace rnn_ops::gpu
