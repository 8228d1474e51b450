#include "cc/cpu/call/op_run.h"

#include <cstring>
#include <exception>
#include <new>

#include "cc/core/op/rnn_config.h"
#include "cc/cpu/call/packed_header.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"

namespace rnn_ops::cpu {

namespace {

bool IsEmpty(const RnnProblem& problem) { return problem.max_time == 0 || problem.batch == 0; }

// WHY the checks of sizes: memset and memcpy require valid pointers even for 0 bytes, and an empty
// tensor has a null pointer.
void ZeroOutputs(const CallTensors& tensors, Dtype dtype) {
  for (int k = 0; k < kNumArgs; ++k) {
    const Arg arg = static_cast<Arg>(k);
    if (tensors.out_type(arg) != TypeOf(dtype)) continue;
    const int64_t bytes = tensors.out_elements(arg) * SizeOf(dtype);
    if (bytes > 0) std::memset(tensors.out(arg), 0, bytes);
  }
}

// Copies a state that passes through unchanged. Does nothing if the op or the mode has no `to`.
void CopyState(const CallTensors& tensors, Dtype dtype, Arg from, Arg to) {
  const int64_t bytes = tensors.out_elements(to) * SizeOf(dtype);
  if (bytes > 0) std::memcpy(tensors.out(to), tensors.in(from), bytes);
}

Status FromKernel(int32_t code) {
  switch (code) {
    case kDone:
      return Status();
    case kOtherReserve:
      return InvalidArgument(
          "reserve_space was not written by the forward op for these inputs and attributes.");
    default:
      return Internal("The ", Kernels().isa, " kernels returned code ", code, ".");
  }
}

// Sets the memory of a call: *status, or *no_memory, since the sentence of an error needs memory
// too. No exception may pass through the frames of a kernel, which calls this function.
template <typename Allocate>
void AllocateOrCatch(const Allocate& allocate, Status* status, bool* no_memory) {
  try {
    try {
      *status = allocate();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {
      *status = Internal("The memory of the call could not be allocated: ", error.what());
    } catch (...) {
      *status = Internal("The memory of the call could not be allocated.");
    }
  } catch (const std::bad_alloc&) {
    *no_memory = true;
  }
}

// Runs a function of the kernel table. `reserve`(sizes, data) sets the reserve space.
template <typename Args, typename Reserve>
Status RunKernel(int32_t (*kernel)(const Args*), Args* args, Host* host, const Reserve& reserve) {
  Status status;
  bool no_memory = false;
  const auto allocate = [&](const MemorySizes& sizes, MemoryBlocks* blocks) {
    if (sizes.scratch_bytes < 0) {
      return InvalidArgument("The problem needs more scratch memory than 2^62 bytes.");
    }
    RNN_OPS_RETURN_IF_ERROR(reserve(sizes.reserve, &blocks->reserve));
    return sizes.scratch_bytes == 0 ? Status()
                                    : host->Scratch(sizes.scratch_bytes, &blocks->scratch);
  };
  auto caught = [&](const MemorySizes& sizes, MemoryBlocks* blocks) {
    AllocateOrCatch([&] { return allocate(sizes, blocks); }, &status, &no_memory);
    return !no_memory && status.ok();
  };
  args->parallel = host->parallel();
  args->memory = {&caught, [](void* context, const MemorySizes& sizes, MemoryBlocks* blocks) {
                    return (*static_cast<decltype(&caught)>(context))(sizes, blocks);
                  }};
  const int32_t code = kernel(args);
  // WHY no exception_ptr: it needs a libstdc++ that is newer than the wheel's.
  if (no_memory) throw std::bad_alloc();
  return code == kStopped ? status : FromKernel(code);
}

Status NoReserve(const ReserveSizes&, void**) { return Status(); }

// Returns InvalidArgument unless reserve_space is a vector with the number of elements that the
// forward op allocates for this problem, with or without XLA.
Status CheckReserveSpace(const ReserveSizes& sizes, Dtype dtype, const PartialShape& shape) {
  const int64_t element = SizeOf(dtype);
  const Status exact = CheckReserveSpace(shape, ReserveElements(sizes.bytes, element));
  if (exact.ok()) return exact;
  // XLA allocates more elements if a sequence is shorter than T.
  const int64_t longest = ReserveElements(sizes.longest_bytes, element);
  return CheckReserveSpace(shape, longest).ok() ? Status() : exact;
}

// Sets the panels of a call with packed weights. If `packed` was packed for other kernels, the call
// reads the unpacked weights. Returns InvalidArgument if `packed` belongs to another network.
Status SetPanels(Host* host, RnnArgs* args) {
  const RnnProblem& p = args->problem;
  const CallTensors& t = *args->tensors;
  const PackedFormat format = Kernels().rnn_packed_format(&p);
  bool usable = false;
  RNN_OPS_RETURN_IF_ERROR(CheckPacked(MakePackedHeader(p, Kernels().vector_bytes, format.element),
                                      format.bytes, t.in(Arg::packed), t.in_elements(Arg::packed),
                                      &usable));
  if (!usable) return Status();
  const void* data = nullptr;
  RNN_OPS_RETURN_IF_ERROR(host->Aligned(Arg::packed, &data));
  args->panels = static_cast<char*>(const_cast<void*>(data)) + kPackedHeaderBytes;
  args->problem.weights_packed = true;
  return Status();
}

template <typename Args, typename Problem>
Args ArgsOf(const Problem& problem, const CallTensors& tensors) {
  Args args = {};
  args.problem = problem;
  args.tensors = &tensors;
  return args;
}

Status RunBlockLstm(int32_t (*kernel)(const BlockLstmArgs*), const BlockLstmProblem& problem,
                    const CallTensors& tensors, Host* host) {
  if (problem.empty()) {
    ZeroOutputs(tensors, problem.dtype);
    return Status();
  }
  BlockLstmArgs args = ArgsOf<BlockLstmArgs>(problem, tensors);
  return RunKernel(kernel, &args, host, NoReserve);
}

}  // namespace

RnnProblem MakeRnnProblem(const RnnConfig& config, Dtype dtype, const CallTensors& tensors) {
  RnnProblem p;
  static_cast<LayerConfig&>(p) = MakeLayerConfig(config, tensors);
  p.dtype = dtype;
  p.bf16_products = AllowsBf16Products();
  if (tensors.in(Arg::kernel) != nullptr) p.weight_layout = kKerasWeights;
  p.int8_weights = tensors.in(Arg::kernel_scale) != nullptr;
  return p;
}

Status RunRnnForward(const RnnProblem& problem, const CallTensors& tensors, Host* host) {
  const auto reserve = [&](const ReserveSizes& sizes, void** data) {
    if (!problem.is_training) return Status();
    if (sizes.bytes < 0) return InvalidArgument("reserve_space would need more than 2^62 bytes.");
    return host->NewReserve(sizes, data);
  };
  RnnArgs args = ArgsOf<RnnArgs>(problem, tensors);
  if (tensors.in_elements(Arg::packed) > 0) RNN_OPS_RETURN_IF_ERROR(SetPanels(host, &args));
  if (!IsEmpty(problem)) return RunKernel(Kernels().rnn_forward, &args, host, reserve);
  CopyState(tensors, problem.dtype, Arg::input_h, Arg::output_h);
  CopyState(tensors, problem.dtype, Arg::input_c, Arg::output_c);
  void* empty = nullptr;
  return reserve({}, &empty);
}

Status RunRnnBackward(const RnnProblem& problem, const CallTensors& tensors, Host* host) {
  const auto reserve = [&](const ReserveSizes& sizes, void** data) {
    RNN_OPS_RETURN_IF_ERROR(
        CheckReserveSpace(sizes, problem.dtype, host->ShapeOf(Arg::reserve_space)));
    const void* aligned = nullptr;
    RNN_OPS_RETURN_IF_ERROR(host->Aligned(Arg::reserve_space, &aligned));
    *data = const_cast<void*>(aligned);  // the kernel only reads it
    return Status();
  };
  if (!IsEmpty(problem)) {
    RnnArgs args = ArgsOf<RnnArgs>(problem, tensors);
    return RunKernel(Kernels().rnn_backward, &args, host, reserve);
  }
  void* empty = nullptr;
  RNN_OPS_RETURN_IF_ERROR(reserve({}, &empty));
  ZeroOutputs(tensors, problem.dtype);
  CopyState(tensors, problem.dtype, Arg::output_h_backprop, Arg::input_h);
  CopyState(tensors, problem.dtype, Arg::output_c_backprop, Arg::input_c);
  return Status();
}

Status RunRnnPack(const RnnProblem& problem, const CallTensors& tensors, void* panels, Host* host) {
  RnnArgs args = ArgsOf<RnnArgs>(problem, tensors);
  args.panels = panels;
  return RunKernel(Kernels().rnn_pack, &args, host, NoReserve);
}

Status RunBlockLstmForward(const BlockLstmProblem& problem, const CallTensors& tensors,
                           Host* host) {
  return RunBlockLstm(Kernels().block_lstm_forward, problem, tensors, host);
}

Status RunBlockLstmBackward(const BlockLstmProblem& problem, const CallTensors& tensors,
                            Host* host) {
  return RunBlockLstm(Kernels().block_lstm_backward, problem, tensors, host);
}

LinearRecurrenceProblem MakeLinearRecurrenceProblem(RnnMode mode, const RnnDims& dims, Dtype dtype,
                                                    bool transposed, const CallTensors& tensors) {
  LinearRecurrenceProblem p;
  p.dtype = dtype;
  p.num_states = FactsOf(mode).has_c ? 2 : 1;
  p.transposed = transposed;
  p.has_gates = tensors.in(Arg::h_by_gates) != nullptr ||
                (p.num_states > 1 && tensors.in(Arg::c_by_gates) != nullptr);
  p.num_gates = FactsOf(mode).gates;
  p.num_units = dims.num_units;
  p.max_time = dims.max_time;
  p.batch = dims.batch;
  return p;
}

Status RunLinearRecurrence(const LinearRecurrenceProblem& problem, const CallTensors& tensors,
                           Host* host) {
  if (problem.max_time == 0 || problem.batch == 0) return Status();
  LinearRecurrenceArgs args = ArgsOf<LinearRecurrenceArgs>(problem, tensors);
  return RunKernel(Kernels().linear_recurrence, &args, host, NoReserve);
}

int64_t LongestReserveBytes(const RnnProblem& problem) {
  return IsEmpty(problem) ? 0 : Kernels().rnn_longest_reserve(&problem);
}

}  // namespace rnn_ops::cpu
