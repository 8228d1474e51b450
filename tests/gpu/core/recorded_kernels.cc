#include "tests/gpu/core/recorded_kernels.h"

#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "cc/gpu/kernels/kernel_list.h"
#include "cc/gpu/launch/persistent_kernels.h"
#include "cc/gpu/libraries/driver_api.h"

#define CORE_API extern "C" __attribute__((visibility("default")))

namespace rnn_ops::gpu {
namespace {

// Some two seconds, so that a block that waits in vain does not cost the time of a whole run.
constexpr unsigned kMaxSpins = 1u << 22;

struct Record {
  const DriverApi* driver = nullptr;
  std::mutex mutex;
  std::map<CUmodule, double> milliseconds;
  std::map<CUfunction, std::string> names;
  std::map<std::string, double> loads;
  std::string launched;  // the names of the kernels, with a space behind each
};

// Never destroyed, because kernels may run while the process exits.
Record& TheRecord() {
  static Record* const record = new Record;
  return *record;
}

CUresult Load(CUmodule* module, const void* image) {
  Record& record = TheRecord();
  const auto start = std::chrono::steady_clock::now();
  const CUresult result = record.driver->ModuleLoadData(module, image);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  std::lock_guard<std::mutex> lock(record.mutex);
  if (result == CUDA_SUCCESS) record.milliseconds[*module] = time.count();
  return result;
}

CUresult Find(CUfunction* function, CUmodule module, const char* name) {
  Record& record = TheRecord();
  const CUresult result = record.driver->ModuleGetFunction(function, module, name);
  std::lock_guard<std::mutex> lock(record.mutex);
  if (result == CUDA_SUCCESS) {
    record.names[*function] = name;
    record.loads[name] = record.milliseconds[module];
  }
  return result;
}

CUresult Launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                CUstream stream, void** parameters) {
  Record& record = TheRecord();
  const CUresult result =
      record.driver->LaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
                                             block_z, shared_bytes, stream, parameters);
  std::lock_guard<std::mutex> lock(record.mutex);
  if (result == CUDA_SUCCESS) record.launched += record.names[function] + " ";
  return result;
}

PersistentKernels* NewRecordedKernels(const DriverApi* driver) {
  TheRecord().driver = driver;
  auto* const recorded = new DriverApi(*driver);
  recorded->ModuleLoadData = Load;
  recorded->ModuleGetFunction = Find;
  recorded->LaunchCooperativeKernel = Launch;
  return new PersistentKernels(recorded, kMaxSpins);
}

struct Row {
  const char* name;
  PersistentProblem largest;
};

RnnMode ModeOf(const char* cell) {
  return std::strcmp(cell, "Lstm") == 0             ? RnnMode::kLstm
         : std::strcmp(cell, "Gru") == 0            ? RnnMode::kGru
         : std::strcmp(cell, "GruResetBefore") == 0 ? RnnMode::kGruResetBefore
                                                    : RnnMode::kTanh;
}
Dtype DtypeOf(const char* operand) {
  return std::strcmp(operand, "Half") == 0       ? Dtype::kFloat16
         : std::strcmp(operand, "BFloat16") == 0 ? Dtype::kBFloat16
                                                 : Dtype::kFloat32;
}

#define RNN_OPS_ROW(pass, cell, operand, width, tile, general)        \
  Row{#pass "_" #cell "_" #operand "_" #width "_" #tile "_" #general, \
      {PersistentPass::k##pass, ModeOf(#cell), DtypeOf(#operand), width, tile, general}},
const Row kRows[] = {RNN_OPS_PERSISTENT_KERNELS(RNN_OPS_ROW)};
#undef RNN_OPS_ROW
constexpr int kCount = sizeof(kRows) / sizeof(kRows[0]);

Status LoadKernel(const Row& row, void* stream, double* milliseconds) {
  ProductLibraries libraries;
  RNN_OPS_RETURN_IF_ERROR(OpenRecordedLibraries(&libraries));
  const PersistentKernel* const kernel = FindPersistentKernel(row.largest);
  if (kernel == nullptr || std::strcmp(kernel->name, row.name) != 0) {
    return Internal("another kernel runs the largest problem of ", row.name);
  }
  ScopedContext context;
  RNN_OPS_RETURN_IF_ERROR(context.Enter(*libraries.driver, static_cast<CUstream>(stream)));
  LoadedKernel* loaded = nullptr;
  std::string reason;
  RNN_OPS_RETURN_IF_ERROR(libraries.persistent->Prepare(context.context(), *kernel,
                                                        row.largest.units, &loaded, &reason));
  if (loaded == nullptr) return FailedPrecondition("it cannot run here: ", reason);
  Record& record = TheRecord();
  std::lock_guard<std::mutex> lock(record.mutex);
  *milliseconds = record.loads[row.name];
  return Status();
}

thread_local std::string text;

}  // namespace

Status OpenRecordedLibraries(ProductLibraries* libraries) {
  RNN_OPS_RETURN_IF_ERROR(OpenProductLibraries(libraries));
  static PersistentKernels* const recorded = NewRecordedKernels(libraries->driver);
  libraries->persistent = recorded;
  return Status();
}

// Null behind the last kernel.
CORE_API const char* core_persistent_name(int index) {
  return index < kCount ? kRows[index].name : nullptr;
}

// Loads a kernel, unless it is loaded. Returns null or an error; then the kernel cannot run.
CORE_API const char* core_persistent_load(int index, void* stream, double* milliseconds) {
  const Status status = LoadKernel(kRows[index], stream, milliseconds);
  text = status.message();
  return status.ok() ? nullptr : text.c_str();
}

// The names of the kernels that were launched after the last call of this function.
CORE_API const char* core_persistent_launched() {
  Record& record = TheRecord();
  std::lock_guard<std::mutex> lock(record.mutex);
  text.clear();
  text.swap(record.launched);
  return text.c_str();
}

}  // namespace rnn_ops::gpu
