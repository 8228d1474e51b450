#include "cc/cpu/rnn_run.h"

#include <cstring>

#include "cc/core/param_layout.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/packed_header.h"

namespace rnn_ops {
namespace cpu {

namespace {

// WHY the check: memset and memcpy want pointers even for no bytes, which an empty tensor lacks.
void Zero(void* data, int64_t bytes) {
  if (bytes > 0) std::memset(data, 0, bytes);
}

void Copy(void* to, const void* from, int64_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

bool IsEmpty(const RnnProblem& problem) { return problem.max_time == 0 || problem.batch == 0; }

// Of a state with `width` columns.
int64_t StateBytes(const RnnProblem& p, int64_t width) {
  return p.num_pseudo_layers() * p.batch * width * SizeOf(p.dtype);
}

LayerWeights LayerOf(const CallTensors& t) {
  return {t.in("kernel"),    t.in("recurrent_kernel"), t.in("bias"),       t.in("projection"),
          t.in("peepholes"), t.in("layer_norm"),       t.in("input_mask"), t.in("recurrent_mask")};
}

// With what concerns the weights.
RnnProblem ProblemOfCall(const RnnConfig& config, Dtype dtype, const int32_t* lengths,
                         const LayerWeights& layer, const void* seed) {
  RnnProblem problem = MakeRnnProblem(config, dtype);
  problem.lengths = lengths;
  if (layer.kernel == nullptr) return problem;
  problem.weight_layout = kKerasWeights;
  problem.bias_rows = layer.bias == nullptr ? 0 : config.mode == RnnMode::kGru ? 2 : 1;
  problem.has_peepholes = layer.peepholes != nullptr;
  problem.has_layer_norm = layer.layer_norm != nullptr;
  problem.input_masked = layer.input_mask != nullptr;
  problem.recurrent_masked = layer.recurrent_mask != nullptr;
  problem.zoneout_drawn = config.has_zoneout() && seed != nullptr;
  return problem;
}

}  // namespace

RnnProblem MakeRnnProblem(const RnnConfig& config, Dtype dtype) {
  RnnProblem problem;
  static_cast<RnnConfig&>(problem) = config;
  problem.dtype = dtype;
  problem.bf16_products = AllowsBf16Products();
  return problem;
}

RnnForwardArgs MakeForwardArgs(const RnnConfig& config, Dtype dtype, const int32_t* lengths,
                               const CallTensors& tensors, DropoutKey key) {
  RnnForwardArgs args{};
  args.layer = LayerOf(tensors);
  args.problem = ProblemOfCall(config, dtype, lengths, args.layer, tensors.in("seed"));
  args.problem.dropout_key[0] = key.k0;
  args.problem.dropout_key[1] = key.k1;
  SetForward(tensors, &args);
  return args;
}

RnnBackwardArgs MakeBackwardArgs(const RnnConfig& config, Dtype dtype, const int32_t* lengths,
                                 const CallTensors& tensors) {
  RnnBackwardArgs args{};
  args.layer = LayerOf(tensors);
  args.problem = ProblemOfCall(config, dtype, lengths, args.layer, tensors.in("seed"));
  SetBackward(tensors, &args);
  args.dkernel = tensors.gradient("kernel");
  args.drecurrent_kernel = tensors.gradient("recurrent_kernel");
  args.dbias = tensors.gradient("bias");
  args.dprojection = tensors.gradient("projection");
  args.dpeepholes = tensors.gradient("peepholes");
  args.dlayer_norm = tensors.gradient("layer_norm");
  return args;
}

RnnPackArgs MakePackArgs(const RnnConfig& config, Dtype dtype, const CallTensors& tensors) {
  RnnPackArgs args{};
  args.layer = LayerOf(tensors);
  args.problem = ProblemOfCall(config, dtype, /*lengths=*/nullptr, args.layer, /*seed=*/nullptr);
  args.params = tensors.in("params");
  return args;
}

RnnSizes RnnForwardSizes(const RnnForwardArgs& args) {
  if (IsEmpty(args.problem)) return {};
  return Kernels().rnn_forward_sizes(&args.problem, &args.parallel.threads);
}

RnnSizes RnnBackwardSizes(const RnnBackwardArgs& args) {
  if (IsEmpty(args.problem)) return {};
  return Kernels().rnn_backward_sizes(&args.problem, &args.parallel.threads);
}

Status RunRnnForward(const RnnForwardArgs& args) {
  const RnnProblem& p = args.problem;
  if (!IsEmpty(p)) return FromKernel(Kernels().rnn_forward(&args));
  Copy(args.h_n, args.h0, StateBytes(p, p.hidden_size()));
  if (p.mode == RnnMode::kLstm) Copy(args.c_n, args.c0, StateBytes(p, p.num_units));
  return Status();
}

Status RunRnnBackward(const RnnBackwardArgs& args) {
  const RnnProblem& p = args.problem;
  if (!IsEmpty(p)) return FromKernel(Kernels().rnn_backward(&args));
  if (p.weight_layout == kOpaqueWeights) {
    Zero(args.dparams, ParamsSize(p) * SizeOf(p.dtype));
  } else {
    const int64_t element = SizeOf(p.dtype), row = p.num_gates() * p.num_units * element;
    Zero(args.dkernel, p.input_size * row);
    Zero(args.drecurrent_kernel, p.hidden_size() * row);
    Zero(args.dbias, p.bias_rows * row);
    Zero(args.dprojection, p.num_units * p.num_proj * element);
    Zero(args.dpeepholes, (p.has_peepholes ? 3 : 0) * p.num_units * element);
    Zero(args.dlayer_norm, (p.has_layer_norm ? kLayerNormRows : 0) * p.num_units * element);
  }
  Copy(args.dh0, args.dh_n, StateBytes(p, p.hidden_size()));
  if (p.mode == RnnMode::kLstm) Copy(args.dc0, args.dc_n, StateBytes(p, p.num_units));
  return Status();
}

int64_t LargestReserveBytes(const RnnProblem& problem) {
  if (IsEmpty(problem)) return 0;
  RnnProblem longest = problem;
  longest.lengths = nullptr;  // all rows have T steps
  longest.is_training = true;
  const ThreadBudget one_thread{1, 0, 0};
  return Kernels().rnn_forward_sizes(&longest, &one_thread).reserve_bytes;
}

Status CheckReserveSpace(const RnnProblem& problem, int64_t reserve_bytes,
                         const PartialShape& shape) {
  const int64_t element = SizeOf(problem.dtype);
  const Status exact = CheckReserveSpace(shape, ReserveElements(reserve_bytes, element));
  if (exact.ok()) return exact;
  // What XLA allocates is larger where a row is shorter than T.
  const int64_t largest = ReserveElements(LargestReserveBytes(problem), element);
  return CheckReserveSpace(shape, largest).ok() ? Status() : exact;
}

Status TakePacked(const RnnProblem& problem, const PartialShape& shape, const void* packed,
                  bool* usable) {
  *usable = false;
  if (shape.dims.size() != 1) {
    return InvalidArgument("packed must be a vector, but its shape is ", ToString(shape), ".");
  }
  if (shape.dims[0] == 0) return Status();
  const RnnPackSizes sizes = Kernels().rnn_pack_sizes(&problem);
  return CheckPacked(MakePackedHeader(problem, Kernels().vector_bytes, sizes.element),
                     sizes.packed_bytes, packed, shape.dims[0], usable);
}

LinearRecurrenceArgs MakeLinearRecurrenceArgs(RnnMode mode, const RnnDims& dims, Dtype dtype,
                                              bool transposed, const CallTensors& tensors) {
  RnnConfig config;
  config.mode = mode;
  LinearRecurrenceArgs args{};
  LinearRecurrenceProblem& problem = args.problem;
  problem.dtype = dtype;
  problem.transposed = transposed;
  problem.num_states = mode == RnnMode::kLstm ? 2 : 1;
  problem.num_gates = config.num_gates();
  problem.num_units = dims.num_units;
  problem.max_time = dims.max_time;
  problem.batch = dims.batch;
  args.input[0] = tensors.in("input");
  args.input[1] = tensors.in("cell_input");
  args.by_gates[0] = tensors.in("h_by_gates");
  args.by_gates[1] = problem.num_states > 1 ? tensors.in("c_by_gates") : nullptr;
  args.by_state[0][0] = tensors.in("h_by_h");
  args.by_state[0][1] = tensors.in("h_by_c");
  args.by_state[1][0] = tensors.in("c_by_h");
  args.by_state[1][1] = tensors.in("c_by_c");
  problem.has_gates = args.by_gates[0] != nullptr || args.by_gates[1] != nullptr;
  args.weights = tensors.in("recurrent_kernel");
  args.output[0] = tensors.out("output");
  args.output[1] = tensors.out("cell_output");
  return args;
}

Status FromKernel(int32_t code) {
  if (code == 0) return Status();
  if (code == 1) {
    return InvalidArgument(
        "reserve_space was not written by the forward op for these inputs and attributes.");
  }
  return Internal("The ", Kernels().isa, " kernels returned code ", code, ".");
}

}  // namespace cpu
}  // namespace rnn_ops
