#include "cc/tf/reserve_maker.h"

#include "cc/cpu/call/op_run.h"
#include "cc/gpu/layer_gpu.h"

namespace rnn_ops::tf_kernels {
namespace {

int64_t GpuElements(const LayerReserveCall& call) {
  gpu::LayerProblem problem;
  static_cast<RnnConfig&>(problem) = call.config;
  problem.dtype = call.dtype;
  problem.has_layer_norm = call.has_layer_norm;
  return ReserveElements(gpu::LayerReserveBytes(problem), SizeOf(call.dtype));
}

int64_t CpuElements(const LayerReserveCall& call) {
  cpu::RnnProblem problem = cpu::MakeRnnProblem(call.config, call.dtype);
  problem.has_layer_norm = call.has_layer_norm;
  return ReserveElements(cpu::LongestReserveBytes(problem), SizeOf(call.dtype));
}

// The elements on a CPU if the lengths have this sum.
int64_t CpuElements(LayerReserveCall call, int64_t rows) {
  call.config.batch = 1;
  call.config.max_time = rows;
  return CpuElements(call);
}

// The smallest sum of lengths whose reserve space on a CPU has at least this size, or `most`.
int64_t RowsFor(const LayerReserveCall& call, int64_t elements, int64_t most) {
  int64_t first = 1, last = most;
  while (first < last) {
    const int64_t rows = first + (last - first) / 2;
    const int64_t found = CpuElements(call, rows);
    if (found >= 0 && found < elements) {
      first = rows + 1;
    } else {
      last = rows;
    }
  }
  return first;
}

// Whether a CPU's reserve space may have this size.
bool MayComeFromCpu(const LayerReserveCall& call, int64_t elements) {
  const int64_t most = call.config.max_time * call.config.batch;
  if (most == 0) return elements == 0;
  // XLA allocates the size for full lengths.
  if (elements == CpuElements(call)) return true;
  const int64_t rows = call.rows >= 0 ? call.rows : RowsFor(call, elements, most);
  return elements == CpuElements(call, rows);
}

const char* Name(DeviceKind device) { return device == DeviceKind::kGpu ? "a GPU" : "a CPU"; }

}  // namespace

int64_t LayerReserveElements(const LayerReserveCall& call, DeviceKind device) {
  return device == DeviceKind::kGpu ? GpuElements(call) : CpuElements(call);
}

Status CheckReserveMaker(const LayerReserveCall& call, DeviceKind reader,
                         const PartialShape& reserve_space) {
  if (reserve_space.dims.size() != 1) return Status();
  const int64_t elements = reserve_space.dims[0];
  const DeviceKind other = reader == DeviceKind::kGpu ? DeviceKind::kCpu : DeviceKind::kGpu;
  // The GPU first, whose size is a formula.
  const bool on_gpu = elements == GpuElements(call);
  if (on_gpu == (reader == DeviceKind::kGpu)) return Status();
  const bool on_cpu = MayComeFromCpu(call, elements);
  if (on_cpu == on_gpu) return Status();
  return InvalidArgument(
      "reserve_space must come from the device that reads it: this gradient runs ", "on ",
      Name(reader), ", but a vector of ", elements, " elements is what the forward op returns on ",
      Name(other), " for these inputs and attributes.");
}

}  // namespace rnn_ops::tf_kernels
