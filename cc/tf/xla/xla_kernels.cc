// The ops for XLA on the CPU and on GPUs. Each op becomes a custom call to its handler in cc/ffi,
// except the parameter ops, which become slices and concatenations.
//
// The registration of an op gives the attributes for the handler. The shape function gives the
// shapes of the results, and performs the checks of the op. Only the size of reserve_space is left
// open by the shape function.
//
// WHY one file: the headers of XlaOpKernel take a minute to compile.
//
// WHY OpKernelRegistrar and not REGISTER_XLA_OP: TensorFlow reads the registry of REGISTER_XLA_OP
// only once, at the first compilation of the process, and this library may be loaded later.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/network/op_spec.h"
#include "cc/core/network/param_layout.h"
#include "cc/core/network/rnn_config.h"
#include "cc/core/network/shapes.h"
#include "cc/ffi/gpu_handlers.h"
#include "cc/ffi/handlers.h"
#include "cc/gpu/layer/switch.h"
#include "cc/gpu/rnn_gpu.h"
#include "cc/tf/op_util.h"
#include "cc/tf/params_util.h"
#include "cc/tf/reserve_maker.h"
#include "tensorflow/compiler/tf2xla/type_util.h"
#include "tensorflow/compiler/tf2xla/xla_op_kernel.h"
#include "tensorflow/core/framework/kernel_def.pb.h"
#include "tensorflow/core/framework/kernel_def_builder.h"
#include "tensorflow/core/framework/node_def_util.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"
#include "tensorflow/core/public/version.h"
#include "tsl/platform/tensor_float_32_utils.h"
#include "xla/ffi/api/ffi.h"
#include "xla/hlo/builder/lib/constants.h"
#include "xla/hlo/builder/xla_builder.h"

// libtensorflow_cc exports this function. The header that declares it needs headers of LLVM, which
// TensorFlow's package lacks.
namespace xla::ffi {
const XLA_FFI_Api* GetXlaFfiApi();
}

namespace rnn_ops {
namespace tf_kernels {
namespace {

using ::tensorflow::NodeDef;
using ::tensorflow::OpKernel;
using ::tensorflow::OpKernelConstruction;
using ::tensorflow::PartialTensorShape;
using ::tensorflow::Tensor;
using ::tensorflow::XlaOpKernel;
using ::tensorflow::XlaOpKernelContext;
using ::tensorflow::shape_inference::InferenceContext;
using ::xla::XlaBuilder;
using ::xla::XlaOp;

constexpr char kXlaCpu[] = "XLA_CPU_JIT";
constexpr char kXlaGpu[] = "XLA_GPU_JIT";
constexpr char kForward[] = "TfRnnOps>CudnnRNNV3";
constexpr char kBackprop[] = "TfRnnOps>CudnnRNNBackpropV3";

struct Operand {
  XlaOp op;
  xla::Shape shape;
};

absl::Status TakeOperands(XlaOpKernelContext* context, std::vector<Operand>* operands) {
  for (int k = 0; k < context->num_inputs(); ++k) {
    const absl::StatusOr<xla::Shape> shape = context->InputXlaShape(k);
    if (!shape.ok()) return shape.status();
    operands->push_back({context->Input(k), *shape});
  }
  return absl::OkStatus();
}

PartialTensorShape ToTf(const xla::Shape& shape) { return PartialTensorShape(shape.dimensions()); }

XlaOp Scalar(XlaBuilder* builder, int32_t value) {
  return xla::ConstantR0<int32_t>(builder, value);
}

// The table of one of this library's ops.
const OpSpec& SpecOf(const std::string& op) {
  const auto is_it = [&op](const ffi::Handler& handler) { return op == handler.op; };
  return *std::find_if(std::begin(ffi::kHandlers), std::end(ffi::kHandlers), is_it)->spec;
}

bool IsBlockLstm(const OpSpec& op) { return op.family == OpFamily::kBlockLstm; }

// ---- The registration of an op ----

// A node, the shapes of its inputs, and the results of its shape function.
class Inferred {
 public:
  // `constants`: the values of the first inputs.
  absl::Status Run(const NodeDef& node, const std::vector<Operand>& operands,
                   const std::vector<Tensor>& constants) {
    const tensorflow::OpRegistrationData* op = nullptr;
    RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::OpRegistry::Global()->LookUp(node.op(), &op));
    op_def_ = &op->op_def;
    std::vector<PartialTensorShape> shapes;
    for (const Operand& operand : operands) shapes.push_back(ToTf(operand.shape));
    std::vector<const Tensor*> tensors(operands.size(), nullptr);
    for (size_t k = 0; k < constants.size(); ++k) tensors[k] = &constants[k];
    context_ = std::make_unique<InferenceContext>(
        TF_GRAPH_DEF_VERSION, tensorflow::AttrSlice(node), *op_def_, shapes, tensors,
        std::vector<PartialTensorShape>(), std::vector<std::unique_ptr<Handles>>());
    RNN_OPS_TF_RETURN_IF_ERROR(context_->construction_status());
    return op->shape_inference_fn(context_.get());
  }

  const tensorflow::OpDef& op_def() const { return *op_def_; }
  InferenceContext* context() const { return context_.get(); }
  PartialShape output(int index) const { return FromTf(context(), context()->output(index)); }

 private:
  using Handles = std::vector<std::pair<PartialTensorShape, tensorflow::DataType>>;
  const tensorflow::OpDef* op_def_ = nullptr;
  std::unique_ptr<InferenceContext> context_;
};

// The attributes of a node, except its types, as the text of an MLIR dictionary. XLA passes them to
// the handler. The result also has the attribute `call_site` and the attributes in `more`.
std::string AttributeText(const NodeDef& node, const tensorflow::OpDef& op_def, int64_t call_site,
                          const std::string& more) {
  std::string text = StrCat("{call_site = ", call_site, " : i64");
  const tensorflow::AttrSlice attrs(node);
  for (const auto& declared : op_def.attr()) {
    const tensorflow::AttrValue* value = attrs.Find(declared.name());
    if (value == nullptr || declared.type() == "type") continue;
    text += StrCat(", ", declared.name(), " = ");
    if (declared.type() == "bool") {
      text += value->b() ? "true" : "false";
    } else if (declared.type() == "int") {
      text += StrCat(value->i(), " : i64");
    } else if (declared.type() == "float") {
      // As bits, so that the value is exact.
      uint32_t bits;
      const float number = value->f();
      std::memcpy(&bits, &number, sizeof(bits));
      char hex[11];
      std::snprintf(hex, sizeof(hex), "0x%08X", bits);
      text += StrCat(hex, " : f32");
    } else {
      text += StrCat("\"", value->s(), "\"");
    }
  }
  return text + more + "}";
}

// Where a computation runs. The handler rejects a size that is too small for the GPU that runs it.
struct Place {
  bool gpu = false;
  int device = 0;  // the ordinal of the GPU; -1 if XLA does not say it
};

// Gets the properties of a node that determine the size of its reserve space. Apart from attributes
// and sizes, only layer_norm affects the size.
absl::Status ReserveCall(const NodeDef& node, InferenceContext* c, tensorflow::DataType type,
                         LayerReserveCall* call) {
  const OpSpec& op = SpecOf(node.op());
  RnnAttrs attrs;
  CallShapes shapes;
  RNN_OPS_TF_RETURN_IF_ERROR(ReadRnnAttrs(c, op.attrs, &attrs));
  std::vector<PartialShape> inputs;
  for (int k = 0; k < c->num_inputs(); ++k) inputs.push_back(FromTf(c, c->input(k)));
  RNN_OPS_TF_RETURN_IF_ERROR(tf_kernels::ToTf(InferShapes(op, attrs, inputs, &shapes)));
  call->config = shapes.config;
  const int norms = op.Input(Arg::layer_norm);
  call->has_layer_norm = norms != kAbsent && !IsAbsent(inputs[norms]);
  return ToDtype(type, &call->dtype);
}

// The length of the reserve space that a forward op returns in training, for any lengths.
absl::Status ReserveSize(const NodeDef& node, InferenceContext* c, tensorflow::DataType type,
                         const Place& place, int64_t* elements) {
  LayerReserveCall call;
  RNN_OPS_TF_RETURN_IF_ERROR(ReserveCall(node, c, type, &call));
  if (place.gpu && SpecOf(node.op()).family != OpFamily::kLayerRnn) {
    gpu::RnnProblem problem;
    static_cast<RnnConfig&>(problem) = call.config;
    problem.dtype = call.dtype;
    int64_t bytes = 0;
    RNN_OPS_TF_RETURN_IF_ERROR(
        tf_kernels::ToTf(gpu::RnnReserveBytes(problem, place.device, &bytes)));
    *elements = ReserveElements(bytes, SizeOf(call.dtype));
    return absl::OkStatus();
  }
  // On a CPU the reserve space of a stack has the size of the same function.
  *elements = LayerReserveElements(call, place.gpu ? DeviceKind::kGpu : DeviceKind::kCpu);
  if (*elements >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError("reserve_space would need more than 2^62 bytes.");
}

// Rejects the reserve space of another kind of device. WHY not if its size is dynamic: the branches
// of a condition have reserve spaces of different sizes, and the handler checks the size.
absl::Status CheckMaker(const NodeDef& node, const std::vector<Operand>& operands, bool on_gpu) {
  const OpSpec& op = SpecOf(node.op());
  if (&op != &kLayerRnnBackprop) return absl::OkStatus();
  const xla::Shape& shape = operands[op.Input(Arg::reserve_space)].shape;
  if (!shape.is_static()) return absl::OkStatus();
  Inferred inferred;
  RNN_OPS_TF_RETURN_IF_ERROR(inferred.Run(node, operands, {}));
  tensorflow::DataType type;
  RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "T", &type));
  LayerReserveCall call;
  RNN_OPS_TF_RETURN_IF_ERROR(ReserveCall(node, inferred.context(), type, &call));
  return tf_kernels::ToTf(
      CheckReserveMaker(call, on_gpu ? DeviceKind::kGpu : DeviceKind::kCpu,
                        PartialShape::Of({shape.dimensions().begin(), shape.dimensions().end()})));
}

// ---- Dimensions that XLA knows only when it runs ----
//
// Note [Padding in XLA]
// After ops such as boolean_mask, a dimension has a bound at compile time and a size at run time.
// Tensors have room for the bound. A custom call does not accept such a dimension, so the call
// computes for the bound and treats the excess as padding:
// - RNNs: sequences beyond the batch size get length 0. If no lengths are given, all lengths are
//   the size of the time dimension.
// - BlockLSTMV2: in the gradient op, sequences beyond the batch size are zero.
// - LinearRecurrence: all padding is zero, so it does not affect other results.
// Afterwards the results get the run-time sizes.
//
// The handler would accept a length above the size if the length is within the bound. Such a length
// is replaced by one that the handler rejects. All lengths are replaced in that way if the run-time
// size of another tensor differs from the size of the sequence.

class Padding {
 public:
  Padding(const OpSpec& op, bool has_c, bool time_major)
      : op_(op),
        has_c_(has_c),
        time_major_(time_major),
        sequence_(op.Input(IsBlockLstm(op) ? Arg::x : Arg::input)),
        time_dim_(time_major ? 0 : 1) {}

  bool any() const { return has_time_ || has_batch_; }

  // The index of the input whose dimensions define T and B.
  int sequence() const { return sequence_; }

  // The dimension of input k with this letter, or kAbsent.
  int DimOf(int k, Dim letter) const {
    const Dim(&dims)[3] = op_.inputs[k].dims;
    const int d = static_cast<int>(std::find(dims, dims + 3, letter) - dims);
    const bool swaps =
        !time_major_ && dims[1] == Dim::kB && (dims[0] == Dim::kT || dims[0] == Dim::kLayersDirs);
    return d == 3 ? kAbsent : swaps && d < 2 ? 1 - d : d;
  }

  // Makes all dimensions static, with the bound as the size.
  absl::Status Remove(std::vector<Operand>* operands) {
    const xla::Shape sequence = (*operands)[sequence_].shape;
    for (int k = 0; k < static_cast<int>(operands->size()); ++k) {
      Operand& operand = (*operands)[k];
      for (int d = 0; d < static_cast<int>(operand.shape.dimensions().size()); ++d) {
        if (!operand.shape.is_dynamic_dimension(d)) continue;
        // The branches of a condition have reserve spaces of different sizes. The handler checks
        // the size.
        if (!IsIgnored(k) && op_.inputs[k].dims[0] != Dim::kAny) {
          Dim letter = Dim::kB;
          RNN_OPS_TF_RETURN_IF_ERROR(FindLetter(sequence, k, d, &letter));
          const XlaOp size = xla::GetDimensionSize(operand.op, d);
          if (k != sequence_) {
            sizes_.emplace_back(letter, size);
          } else if (letter == Dim::kT) {
            time_ = size, has_time_ = true;
          } else {
            batch_ = size, has_batch_ = true;
          }
        }
        operand.op = xla::RemoveDynamicDimension(operand.op, d);
        operand.shape.set_dynamic_dimension(d, false);
      }
    }
    return absl::OkStatus();
  }

  // Limits sequence_lengths, [B] or [0] if all are T, to the run-time size of the time dimension.
  void ShortenLengths(const xla::Shape& sequence, Operand* lengths) const {
    const int64_t batch = sequence.dimensions(1 - time_dim_);
    const int64_t bound = sequence.dimensions(time_dim_);
    XlaBuilder* builder = lengths->op.builder();
    if (lengths->shape.dimensions(0) != batch) {
      const XlaOp time = has_time_ ? time_ : Scalar(builder, static_cast<int32_t>(bound));
      lengths->op = xla::Broadcast(time, {batch});
      lengths->shape = xla::ShapeUtil::MakeShape(xla::S32, {batch});
    } else if (has_time_) {
      const int64_t beyond = std::min<int64_t>(bound + 1, std::numeric_limits<int32_t>::max());
      lengths->op =
          LeaveNoLonger(lengths->op, time_, Scalar(builder, static_cast<int32_t>(beyond)));
    }
    if (has_batch_) lengths->op = ZeroRows(*lengths, 0);
    lengths->op = RefuseOtherSizes(lengths->op, Scalar(builder, kOtherSizes));
  }

  void CheckSeqLenMax(const xla::Shape& sequence, Operand* seq_len_max) const {
    XlaBuilder* builder = seq_len_max->op.builder();
    const auto scalar = [builder](int64_t v) { return xla::ConstantR0<int64_t>(builder, v); };
    if (has_time_) {
      const XlaOp time = xla::ConvertElementType(time_, xla::PrimitiveType::S64);
      const int64_t beyond = sequence.dimensions(time_dim_) + 1;
      seq_len_max->op = LeaveNoLonger(seq_len_max->op, time, scalar(beyond));
    }
    seq_len_max->op = RefuseOtherSizes(seq_len_max->op, scalar(kOtherSizes));
  }

  // Sets the padding of dimension `dim`, the batch dimension, to zero.
  XlaOp ZeroRows(const Operand& operand, int dim) const {
    return has_batch_ ? ZeroFrom(operand, dim, batch_) : operand.op;
  }
  // Sets all padding of a sequence to zero.
  XlaOp ZeroSequence(Operand operand) const {
    if (has_time_) operand.op = ZeroFrom(operand, time_dim_, time_);
    return ZeroRows(operand, 1 - time_dim_);
  }

  // Give the results their run-time sizes. RestoreSequence: a sequence. RestoreState: a state [..,
  // B at `batch_dim`, ..].
  XlaOp RestoreSequence(XlaOp op) const {
    if (has_time_) op = xla::SetDimensionSize(op, time_, time_dim_);
    return RestoreState(op, 1 - time_dim_);
  }
  XlaOp RestoreState(XlaOp op, int batch_dim) const {
    return has_batch_ ? xla::SetDimensionSize(op, batch_, batch_dim) : op;
  }

 private:
  // Whether the mode does not read the input, whatever its shape.
  bool IsIgnored(int k) const {
    const Given given = op_.inputs[k].given;
    return given == Given::kIgnored || (given == Given::kStateC && !has_c_);
  }

  // Finds the letter of the dynamic dimension d of input k. WHY the dimension of `sequence` must be
  // dynamic too: otherwise a tensor that is declared to be shorter would be read in full.
  absl::Status FindLetter(const xla::Shape& sequence, int k, int d, Dim* letter) const {
    const auto is_dynamic = [&sequence](int dim) {
      return dim < static_cast<int>(sequence.dimensions().size()) &&
             sequence.is_dynamic_dimension(dim);
    };
    for (const Dim candidate : {Dim::kT, Dim::kB}) {
      *letter = candidate;
      if (d == DimOf(k, candidate) && is_dynamic(DimOf(sequence_, candidate))) {
        return absl::OkStatus();
      }
    }
    return absl::InvalidArgumentError(
        StrCat("Under XLA only the time and batch dimensions may be dynamic, and only if the same "
               "dimension of ",
               op_.inputs[sequence_].name(), " is dynamic too, but dimension ", d, " of ",
               op_.inputs[k].name(), " is dynamic."));
  }

  // Replaces a length above `time` by a length that the handler rejects.
  static XlaOp LeaveNoLonger(XlaOp length, XlaOp time, XlaOp beyond) {
    const XlaOp refused = xla::Max(length, beyond);
    return xla::Select(xla::Le(length, time), length, refused);
  }

  // Replaces all lengths by `refused` if a run-time size differs from the size of the sequence.
  XlaOp RefuseOtherSizes(XlaOp lengths, XlaOp refused) const {
    for (const auto& [letter, size] : sizes_) {
      const XlaOp same = xla::Eq(size, letter == Dim::kT ? time_ : batch_);
      lengths = xla::Select(same, lengths, xla::Add(xla::ZerosLike(lengths), refused));
    }
    return lengths;
  }

  static XlaOp ZeroFrom(const Operand& operand, int dim, XlaOp size) {
    const XlaOp place = xla::Iota(operand.op.builder(),
                                  xla::ShapeUtil::ChangeElementType(operand.shape, xla::S32), dim);
    return xla::Select(xla::Lt(place, size), operand.op, xla::ZerosLike(operand.op));
  }

  const OpSpec& op_;
  const bool has_c_, time_major_;
  const int sequence_;
  const int time_dim_;
  bool has_time_ = false, has_batch_ = false;
  XlaOp time_, batch_;                        // int32 scalars
  std::vector<std::pair<Dim, XlaOp>> sizes_;  // the sizes of the other tensors
};

// ---- Custom calls ----

// Each compiled call has its own number, see cc/ffi/handlers.h.
int64_t NextCallSite() {
  static std::atomic<int64_t> next{0};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// Additional attributes of the handlers for GPUs (cc/ffi/gpu_handlers.h).
std::string GpuAttributes(XlaOpKernelContext* context, const OpSpec& op,
                          const std::vector<Operand>& operands) {
  std::string text =
      StrCat(", allow_tf32 = ", tsl::tensor_float_32_execution_enabled() ? "true" : "false");
  if (op.family == OpFamily::kLayerRnn) return text;
  const bool block_lstm = IsBlockLstm(op);
  const int index = op.Input(block_lstm ? Arg::seq_len_max : Arg::sequence_lengths);
  const tensorflow::DataType type = block_lstm ? tensorflow::DT_INT64 : tensorflow::DT_INT32;
  const auto known = tensorflow::XlaExpression::XlaOp(operands[index].op, type)
                         .ResolveConstant(context->compiler()->client());
  if (!known.ok() || !known->has_value()) return text;
  const Tensor& values = **known;
  text += block_lstm ? ", seq_len_max = array<i64" : ", sequence_lengths = array<i32";
  for (int64_t k = 0; k < values.NumElements(); ++k) {
    text += k == 0 ? ": " : ", ";
    text += block_lstm ? StrCat(values.flat<int64_t>()(k)) : StrCat(values.flat<int32_t>()(k));
  }
  return text + ">";
}

// Calls the handler of node.op(), which must be an op of this library.
absl::Status Lower(const NodeDef& node, XlaOpKernelContext* context, bool on_gpu,
                   std::vector<Operand> operands, std::vector<XlaOp>* results) {
  Place place;
  place.gpu = on_gpu;
  place.device = context->compiler()->options().device_ordinal;
  const OpSpec& op = SpecOf(node.op());
  const bool block_lstm = IsBlockLstm(op), is_gradient = op.gradients.count > 0;
  const bool linear = &op == &kLinearRecurrence;
  std::string name = "lstm";
  RnnMode mode = RnnMode::kLstm;
  tensorflow::TryGetNodeAttr(node, "rnn_mode", &name);
  RNN_OPS_TF_RETURN_IF_ERROR(ToTf(ParseRnnMode(name, &mode)));
  bool time_major = true;
  if (op.attrs.time_major && !block_lstm) {
    RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::GetNodeAttr(node, "time_major", &time_major));
  }
  Padding padding(op, FactsOf(mode).has_c, time_major);
  RNN_OPS_TF_RETURN_IF_ERROR(padding.Remove(&operands));

  Inferred inferred;
  RNN_OPS_TF_RETURN_IF_ERROR(inferred.Run(node, operands, {}));
  if (padding.any()) {
    // After the shape function, because the shapes must be final.
    const xla::Shape& shape = operands[padding.sequence()].shape;
    if (linear) {
      for (Operand& operand : operands) {
        if (operand.shape.dimensions().size() == 3) operand.op = padding.ZeroSequence(operand);
      }
    } else if (!block_lstm) {
      padding.ShortenLengths(shape, &operands[op.Input(Arg::sequence_lengths)]);
    } else {
      padding.CheckSeqLenMax(shape, &operands[op.Input(Arg::seq_len_max)]);
      for (int k = 0; is_gradient && k < static_cast<int>(operands.size()); ++k) {
        const int dim = padding.DimOf(k, Dim::kB);
        if (dim != kAbsent) operands[k].op = padding.ZeroRows(operands[k], dim);
      }
    }
  }

  std::vector<xla::Shape> shapes;
  for (int k = 0; k < inferred.context()->num_outputs(); ++k) {
    tensorflow::DataType type;
    RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::OutputTypeForNode(node, inferred.op_def(), k, &type));
    PartialShape shape = inferred.output(k);
    if (shape.dims == std::vector<int64_t>{kUnknownDim}) {
      RNN_OPS_TF_RETURN_IF_ERROR(
          ReserveSize(node, inferred.context(), type, place, &shape.dims[0]));
    }
    xla::PrimitiveType xla_type;
    RNN_OPS_TF_RETURN_IF_ERROR(tensorflow::DataTypeToPrimitiveType(type, &xla_type));
    shapes.push_back(xla::ShapeUtil::MakeShape(xla_type, shape.dims));
  }

  // Dropout draws masks, so two calls with equal inputs have different results.
  float dropout = 0;
  bool is_training = false;
  const bool draws = node.op() == kForward &&
                     tensorflow::TryGetNodeAttr(node, "dropout", &dropout) && dropout > 0 &&
                     tensorflow::TryGetNodeAttr(node, "is_training", &is_training) && is_training;
  std::vector<XlaOp> inputs;
  for (const Operand& operand : operands) inputs.push_back(operand.op);
  const std::string more = on_gpu ? GpuAttributes(context, op, operands) : "";
  const XlaOp tuple = xla::CustomCall(
      context->builder(), node.op(), inputs, xla::ShapeUtil::MakeTupleShape(shapes),
      AttributeText(node, inferred.op_def(), draws ? NextCallSite() : 0, more),
      /*has_side_effect=*/draws, /*output_operand_aliasing=*/{}, /*literal=*/nullptr,
      xla::CustomCallSchedule::SCHEDULE_NONE, xla::CustomCallApiVersion::API_VERSION_TYPED_FFI);
  const bool batch_first_state = op.family != OpFamily::kCudnnRnn || !time_major;
  for (size_t k = 0; k < shapes.size(); ++k) {
    XlaOp result = xla::GetTupleElement(tuple, static_cast<int64_t>(k));
    const bool state = shapes[k].dimensions().size() > 1 && (k == 1 || k == 2);
    const bool is_sequence = linear && shapes[k].dimensions().size() == 3;
    if (k == 0 || is_sequence || (block_lstm && !is_gradient)) {
      result = padding.RestoreSequence(result);
    } else if (state) {
      result = padding.RestoreState(result, batch_first_state ? 0 : 1);
    }
    results->push_back(result);
  }
  return absl::OkStatus();
}

// If memory runs out, the compilation fails instead of the process.
class CheckedXlaKernel : public XlaOpKernel {
 public:
  using XlaOpKernel::XlaOpKernel;

  void Compile(XlaOpKernelContext* context) final {
    try {
      DoCompile(context);
    } catch (const std::bad_alloc&) {
      context->CtxFailure(absl::ResourceExhaustedError("No memory is left for small objects."));
    }
  }

 protected:
  // Does the work of Compile().
  virtual void DoCompile(XlaOpKernelContext* context) = 0;
};

class CustomCallKernel : public CheckedXlaKernel {
 public:
  explicit CustomCallKernel(OpKernelConstruction* context)
      : CheckedXlaKernel(context), on_gpu_(context->device_type() == kXlaGpu) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, TakeOperands(context, &operands));
    OP_REQUIRES_OK(context, CheckMaker(def(), operands, on_gpu_));
    OP_REQUIRES_OK(context, Lower(def(), context, on_gpu_, std::move(operands), &results));
    for (size_t k = 0; k < results.size(); ++k) {
      context->SetOutput(static_cast<int>(k), results[k]);
    }
  }

 private:
  const bool on_gpu_;
};

// PackLayerRNN and PackCudnnRNNParams: return [0], so that the ops with packed weights read the
// unpacked weights. WHY: weights that are packed inside a computation cannot be kept for the next
// call.
class PackNothingKernel : public CheckedXlaKernel {
 public:
  explicit PackNothingKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    OP_REQUIRES_OK(context, TakeOperands(context, &operands));
    Inferred inferred;  // checks the shapes
    OP_REQUIRES_OK(context, inferred.Run(def(), operands, {}));
    context->SetOutput(0, xla::ConstantR1<uint8_t>(context->builder(), 0, 0));
  }
};

// ---- TensorFlow's own CudnnRNN ops on the CPU ----

// A node of this library's op with the attributes of a node of TensorFlow's op. The first versions
// of TensorFlow's op lack some attributes, which get their defaults.
NodeDef AsOurs(const NodeDef& stock, const char* op) {
  NodeDef ours = stock;
  ours.set_op(op);
  if (ours.attr().count("num_proj") == 0) (*ours.mutable_attr())["num_proj"].set_i(0);
  if (ours.attr().count("time_major") == 0) (*ours.mutable_attr())["time_major"].set_b(true);
  return ours;
}

// sequence_lengths for the first versions, which have no such input: [B], all T, for a time-major
// input.
Operand FullLengths(XlaBuilder* builder, const Operand& input) {
  const bool known = input.shape.dimensions().size() == 3;  // else the shape function fails
  const XlaOp time = known ? xla::GetDimensionSize(input.op, 0) : Scalar(builder, 0);
  const int64_t batch = known ? input.shape.dimensions(1) : 0;
  return {xla::Broadcast(time, {batch}), xla::ShapeUtil::MakeShape(xla::S32, {batch})};
}

class StockForwardKernel : public CheckedXlaKernel {
 public:
  explicit StockForwardKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {
    OP_REQUIRES_OK(context, context->GetAttr("is_training", &is_training_));
  }

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, TakeOperands(context, &operands));
    if (context->num_inputs() == kCudnnRnnV3.Input(Arg::sequence_lengths)) {
      operands.push_back(FullLengths(context->builder(), operands[0]));
    }
    OP_REQUIRES_OK(context, Lower(AsOurs(def(), kForward), context, /*on_gpu=*/false,
                                  std::move(operands), &results));
    // TensorFlow's V2 passes the number of cuDNN's algorithm and its math mode to the gradient op.
    if (def().op() == "CudnnRNNV2" && is_training_) {
      results.back() = xla::ConstantR1<int8_t>(context->builder(), 2, 0);
    }
    for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, results[k]);
  }

 private:
  bool is_training_ = false;
};

class StockBackpropKernel : public CheckedXlaKernel {
 public:
  explicit StockBackpropKernel(OpKernelConstruction* context) : CheckedXlaKernel(context) {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    std::vector<XlaOp> results;
    OP_REQUIRES_OK(context, TakeOperands(context, &operands));
    if (def().op() != "CudnnRNNBackpropV3") {
      operands.insert(operands.begin() + kCudnnRnnBackpropV3.Input(Arg::sequence_lengths),
                      FullLengths(context->builder(), operands[0]));
    }
    operands.resize(kCudnnRnnBackpropV3.Input(Arg::host_reserved));
    operands.push_back(
        {xla::ConstantR0<int8_t>(context->builder(), 0), xla::ShapeUtil::MakeShape(xla::S8, {})});
    OP_REQUIRES_OK(context, Lower(AsOurs(def(), kBackprop), context, /*on_gpu=*/false,
                                  std::move(operands), &results));
    for (int k = 0; k < context->num_outputs(); ++k) context->SetOutput(k, results[k]);
  }
};

// ---- The parameter ops ----

// The first three inputs. XLA needs their values, because shapes depend on them. WHY Unimplemented:
// a cluster that TensorFlow chose itself then runs without XLA.
absl::Status TakeSizes(XlaOpKernelContext* context, std::vector<Tensor>* sizes) {
  static constexpr const char* kNames[] = {"num_layers", "num_units", "input_size"};
  for (int k = 0; k < RnnParamsInput::kFirstTensor; ++k) {
    absl::StatusOr<Tensor> size = context->ConstantInputTensor(k);
    if (!size.ok()) {
      return absl::UnimplementedError(
          StrCat(kNames[k], " must be a constant for XLA, but its value is computed."));
    }
    sizes->push_back(*std::move(size));
  }
  return absl::OkStatus();
}

// TensorFlow's first versions have one attribute num_params for the two attributes of V2.
NodeDef AsOursParams(const NodeDef& node, const char* op) {
  NodeDef ours = AsOurs(node, op);
  const auto counts = node.attr().find("num_params");
  if (counts == node.attr().end()) return ours;
  (*ours.mutable_attr())["num_params_weights"] = counts->second;
  (*ours.mutable_attr())["num_params_biases"] = counts->second;
  return ours;
}

class ParamsKernel : public CheckedXlaKernel {
 public:
  ParamsKernel(OpKernelConstruction* context, const char* op)
      : CheckedXlaKernel(context), node_(AsOursParams(def(), op)) {}

 protected:
  // Checks the call and gets its network.
  absl::Status Prepare(XlaOpKernelContext* context, std::vector<Operand>* operands,
                       RnnConfig* config) const {
    std::vector<Tensor> sizes;
    RNN_OPS_TF_RETURN_IF_ERROR(TakeSizes(context, &sizes));
    RNN_OPS_TF_RETURN_IF_ERROR(TakeOperands(context, operands));
    for (size_t k = 0; k < operands->size(); ++k) {
      if ((*operands)[k].shape.is_static()) continue;
      return absl::UnimplementedError(
          StrCat("Input ", k, " must have a static shape under XLA, but a dimension is dynamic."));
    }
    Inferred inferred;
    RNN_OPS_TF_RETURN_IF_ERROR(inferred.Run(node_, *operands, sizes));
    AttrSet has;
    has.is_training = AttrSet::kNever;
    has.time_major = false;
    RnnAttrs attrs;
    RNN_OPS_TF_RETURN_IF_ERROR(ReadRnnAttrs(inferred.context(), has, &attrs));
    RnnSizeInputs read;
    read.num_layers = ScalarOf<int32_t>(sizes[RnnParamsInput::kNumLayers]);
    read.num_units = ScalarOf<int32_t>(sizes[RnnParamsInput::kNumUnits]);
    read.input_size = ScalarOf<int32_t>(sizes[RnnParamsInput::kInputSize]);
    return MakeParamsConfig(attrs, read, config);
  }

  static std::vector<ParamBlock> Blocks(const RnnConfig& config) {
    const ParamLayout layout(config);
    std::vector<ParamBlock> blocks = layout.CanonicalWeights();
    for (const ParamBlock& block : layout.CanonicalBiases()) blocks.push_back(block);
    return blocks;
  }

 private:
  const NodeDef node_;
};

class ParamsSizeXlaKernel : public ParamsKernel {
 public:
  explicit ParamsSizeXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNParamsSize") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    const int64_t size = ParamsSize(config);
    Tensor result(context->expected_output_dtype(0), {1});
    if (result.dtype() == tensorflow::DT_INT32) {
      result.vec<int32_t>()(0) = static_cast<int32_t>(size);
    } else {
      result.vec<int64_t>()(0) = size;
    }
    context->SetConstantOutput(0, result);
  }
};

class CanonicalToParamsXlaKernel : public ParamsKernel {
 public:
  explicit CanonicalToParamsXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNCanonicalToParamsV2") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    // The blocks cover the buffer without gaps.
    const std::vector<ParamBlock> blocks = Blocks(config);
    std::vector<std::pair<int64_t, XlaOp>> parts;
    for (size_t k = 0; k < blocks.size(); ++k) {
      if (blocks[k].size() == 0) continue;
      const XlaOp tensor = operands[RnnParamsInput::kFirstTensor + k].op;
      parts.emplace_back(blocks[k].offset, xla::Reshape(tensor, {blocks[k].size()}));
    }
    std::sort(parts.begin(), parts.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<XlaOp> ordered;
    for (const auto& part : parts) ordered.push_back(part.second);
    context->SetOutput(0, xla::ConcatInDim(context->builder(), ordered, 0));
  }
};

class ParamsToCanonicalXlaKernel : public ParamsKernel {
 public:
  explicit ParamsToCanonicalXlaKernel(OpKernelConstruction* context)
      : ParamsKernel(context, "TfRnnOps>CudnnRNNParamsToCanonicalV2") {}

  void DoCompile(XlaOpKernelContext* context) override {
    std::vector<Operand> operands;
    RnnConfig config;
    OP_REQUIRES_OK(context, Prepare(context, &operands, &config));
    const XlaOp params = operands[RnnParamsInput::kFirstTensor].op;
    const int num_weights = static_cast<int>(CountCanonical(config).weights);
    int output = 0;
    for (const ParamBlock& block : Blocks(config)) {
      const XlaOp part = xla::Slice(params, {block.offset}, {block.offset + block.size()}, {1});
      const bool matrix = output < num_weights;
      context->SetOutput(output++, matrix ? xla::Reshape(part, {block.rows, block.cols}) : part);
    }
  }
};

// ---- Registration ----

struct Registration {
  const char* op;
  OpKernel* (*create)(OpKernelConstruction* context);
};

template <typename Kernel>
OpKernel* Create(OpKernelConstruction* context) {
  return new Kernel(context);
}

bool HasKernel(const char* op, const char* device) {
  const tensorflow::KernelList kernels = tensorflow::GetRegisteredKernelsForOp(op);
  return std::any_of(kernels.kernel().begin(), kernels.kernel().end(),
                     [device](const auto& kernel) { return kernel.device_type() == device; });
}

void Register(const char* device, const std::vector<Registration>& registrations) {
  for (const Registration& registration : registrations) {
    if (HasKernel(registration.op, device)) continue;  // TensorFlow would reject both
    tensorflow::kernel_factory::OpKernelRegistrar(
        tensorflow::KernelDefBuilder(registration.op).Device(device).Build(),
        "rnn_ops::tf_kernels::XlaKernel", registration.create);
  }
}

// XLA's error message for a failed registration; "" if the registration succeeded.
std::string Complaint(XLA_FFI_Error* error) {
  if (error == nullptr) return "";
  const XLA_FFI_Api* const api = xla::ffi::GetXlaFfiApi();
  XLA_FFI_Error_GetMessage_Args message = {XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE, nullptr,
                                           error, nullptr};
  api->XLA_FFI_Error_GetMessage(&message);
  const std::string complaint = message.message;
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  api->XLA_FFI_Error_Destroy(&destroy);
  return complaint;
}

// `platform`: XLA's name of the platform.
template <size_t count>
void RegisterHandlers(const char* device, const char* platform,
                      const ffi::Handler (&handlers)[count]) {
  for (const ffi::Handler& handler : handlers) {
    if (HasKernel(handler.op, device)) continue;  // another copy of this library serves it
    const std::string complaint = Complaint(xla::ffi::Ffi::RegisterStaticHandler(
        xla::ffi::GetXlaFfiApi(), handler.op, platform, handler.handler));
    if (complaint.empty()) {
      Register(device, {{handler.op, &Create<CustomCallKernel>}});
    } else {
      // The op gets no kernel for XLA, so that TensorFlow does not put it into clusters.
      LOG(ERROR) << "XLA cannot compile " << handler.op << " for " << platform << ": " << complaint;
    }
  }
}

bool RegisterOurs() {
  RegisterHandlers(kXlaCpu, "Host", ffi::kHandlers);
  RegisterHandlers(kXlaGpu, "CUDA", ffi::kGpuHandlers);
  if (gpu::LayersSwitchedOn()) {
    RegisterHandlers(kXlaGpu, "CUDA", ffi::kGpuLayerHandlers);
    Register(kXlaGpu, {{"TfRnnOps>PackLayerRNN", &Create<PackNothingKernel>}});
  }
  for (const char* device : {kXlaCpu, kXlaGpu}) {
    Register(device,
             {
                 {"TfRnnOps>PackCudnnRNNParams", &Create<PackNothingKernel>},
                 {"TfRnnOps>CudnnRNNParamsSize", &Create<ParamsSizeXlaKernel>},
                 {"TfRnnOps>CudnnRNNCanonicalToParamsV2", &Create<CanonicalToParamsXlaKernel>},
                 {"TfRnnOps>CudnnRNNParamsToCanonicalV2", &Create<ParamsToCanonicalXlaKernel>},
             });
  }
  Register(kXlaCpu, {{"TfRnnOps>PackLayerRNN", &Create<PackNothingKernel>}});
  return true;
}

[[maybe_unused]] const bool registered = RegisterOurs();

}  // namespace
}  // namespace tf_kernels
}  // namespace rnn_ops

// Python calls this function through ctypes, after the CPU kernels of TensorFlow's own ops have
// been registered.
extern "C" __attribute__((visibility("default"))) void tf_rnn_ops_xla_enable_stock_ops() {
  using namespace rnn_ops::tf_kernels;  // NOLINT: the kernels above
  static const bool once = [] {
    Register(kXlaCpu, {
                          {"CudnnRNN", &Create<StockForwardKernel>},
                          {"CudnnRNNV2", &Create<StockForwardKernel>},
                          {"CudnnRNNV3", &Create<StockForwardKernel>},
                          {"CudnnRNNBackprop", &Create<StockBackpropKernel>},
                          {"CudnnRNNBackpropV2", &Create<StockBackpropKernel>},
                          {"CudnnRNNBackpropV3", &Create<StockBackpropKernel>},
                          {"CudnnRNNParamsSize", &Create<ParamsSizeXlaKernel>},
                          {"CudnnRNNCanonicalToParams", &Create<CanonicalToParamsXlaKernel>},
                          {"CudnnRNNCanonicalToParamsV2", &Create<CanonicalToParamsXlaKernel>},
                          {"CudnnRNNParamsToCanonical", &Create<ParamsToCanonicalXlaKernel>},
                          {"CudnnRNNParamsToCanonicalV2", &Create<ParamsToCanonicalXlaKernel>},
                      });
    return true;
  }();
  static_cast<void>(once);
}
