#include "cc/xla/handlers/tensors.h"

#include <atomic>
#include <cstdlib>

#include "cc/core/op/dropout.h"
#include "cc/core/op/rnn_config.h"

namespace rnn_ops::ffi {

using ::xla::ffi::Error;
using ::xla::ffi::ErrorCode;

Error ToFfi(const Status& status) {
  return status.ok() ? Error::Success()
                     : Error(static_cast<ErrorCode>(status.code()), status.message());
}

using ::xla::ffi::AnyBuffer;
using ::xla::ffi::DataType;

namespace {

DataType TypeOf(Element element, DataType of_op) {
  switch (element) {
    case Element::kInt8:
      return DataType::S8;
    case Element::kUint8:
      return DataType::U8;
    case Element::kInt32:
      return DataType::S32;
    case Element::kFloat32:
      return DataType::F32;
    case Element::kInt64:
      return DataType::S64;
    case Element::kT:
      break;
  }
  return of_op;
}

Buffer ToBuffer(const AnyBuffer& given) {
  Buffer buffer;
  const auto dims = given.dimensions();
  buffer.shape = PartialShape::Of(std::vector<int64_t>(dims.begin(), dims.end()));
  buffer.data = given.untyped_data();
  buffer.bytes = static_cast<int64_t>(given.size_bytes());
  buffer.elements = static_cast<int64_t>(given.element_count());
  return buffer;
}

}  // namespace

Status Tensors::Bind(const OpSpec& op) {
  op_ = &op;
  RNN_OPS_RETURN_IF_ERROR(BindBuffers());
  if (op.family != OpFamily::kBlockLstm) {
    const auto get = [this](const char* name, auto* value) { return Attr(name, value); };
    RNN_OPS_RETURN_IF_ERROR(ReadAttrs(op.attrs, get, &rnn_attrs_));
  }
  return CheckShapes();
}

Status Tensors::BindBuffers() {
  const int num_args = op_->inputs.count, num_results = op_->num_outputs();
  if (static_cast<int>(given_args_.size()) != num_args ||
      static_cast<int>(given_results_.size()) != num_results) {
    return InvalidArgument("The call must have ", num_args, " arguments and ", num_results,
                           " results, but it has ", given_args_.size(), " and ",
                           given_results_.size(), ".");
  }
  DataType of_op = DataType::INVALID;
  const auto check = [this, &of_op](const char* kind, int k, const TensorSpec& tensor,
                                    DataType type) {
    if (tensor.element == Element::kT && of_op == DataType::INVALID) {
      if (!ToDtype(type, {DataType::F32, DataType::F64, DataType::F16, DataType::BF16}, &dtype_)) {
        return InvalidArgument("T must be bfloat16, half, float or double, but ", kind, " ", k,
                               " has another type.");
      }
      of_op = type;
    }
    if (type == TypeOf(tensor.element, of_op)) return Status();
    return InvalidArgument("The type of ", kind, " ", k, " is not the type of the op's signature.");
  };
  for (int k = 0; k < num_args; ++k) {
    const auto buffer = given_args_.get<AnyBuffer>(k);
    if (!buffer.has_value()) return Internal("Argument ", k, " is not a buffer.");
    RNN_OPS_RETURN_IF_ERROR(check("argument", k, op_->inputs[k], buffer->element_type()));
    args_.push_back(ToBuffer(*buffer));
  }
  for (int k = 0; k < num_results; ++k) {
    auto buffer = given_results_.get<AnyBuffer>(k);
    if (!buffer.has_value()) return Internal("Result ", k, " is not a buffer.");
    const AnyBuffer& result = **buffer;
    RNN_OPS_RETURN_IF_ERROR(check("result", k, op_->output(k), result.element_type()));
    results_.push_back(ToBuffer(result));
  }
  return Status();
}

Status Tensors::CheckShapes() {
  std::vector<PartialShape> shapes;
  for (const Buffer& arg : args_) shapes.push_back(arg.shape);
  CallShapes found;
  RNN_OPS_RETURN_IF_ERROR(InferShapes(*op_, rnn_attrs_, shapes, &found));
  dims_ = found.dims;
  config_ = found.config;
  for (int k = 0; k < op_->inputs.count; ++k) {
    const TensorSpec& input = op_->inputs[k];
    if (!IsUsed(input, rnn_attrs_, shapes[k])) continue;
    tensors_.SetInput(input.arg, args_[k].data, input.TypeIn(dtype_), args_[k].elements);
  }
  for (int k = 0; k < op_->num_outputs(); ++k) {
    const TensorSpec& output = op_->output(k);
    RNN_OPS_RETURN_IF_ERROR(
        RequireResult(k, StrCat(output.name(), op_->gradients.suffix), found.outputs[k]));
    if (IsZero(output, rnn_attrs_)) continue;
    tensors_.SetOutput(output.arg, results_[k].data, output.TypeIn(dtype_), results_[k].elements);
  }
  return Status();
}

std::vector<int> Tensors::zeros() const {
  std::vector<int> indices;
  for (int k = 0; k < op_->num_outputs(); ++k) {
    if (IsZero(op_->output(k), rnn_attrs_)) indices.push_back(k);
  }
  return indices;
}

Status Tensors::RequireResult(int index, const std::string& name, const PartialShape& shape) const {
  const std::vector<int64_t>& dims = result(index).shape.dims;
  bool same = dims.size() == shape.dims.size();
  for (size_t k = 0; same && k < dims.size(); ++k) {
    same = shape.dims[k] == kUnknownDim || shape.dims[k] == dims[k];
  }
  if (same) return Status();
  return InvalidArgument(name, " must have shape ", ToString(shape), ", but its shape is ",
                         ToString(result(index).shape), ".");
}

namespace {

// Returns the number of the call among the calls of its call site.
// WHY the counts belong to the process: a custom call has no object that lives between executions.
// WHY there are many counts: programs are compiled again and again, and each has its own call
// sites. Call sites that share a count still never draw the same mask twice.
uint64_t NextCall(int64_t call_site) {
  constexpr uint64_t kCounts = 4096;
  static std::atomic<uint64_t> counts[kCounts];
  return counts[static_cast<uint64_t>(call_site) % kCounts].fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Status DrawDropoutKey(const Tensors& call, const int64_t* seed, DropoutKey* key) {
  if (seed != nullptr) {
    *key = MakeDropoutKey(seed[0], seed[1], /*call=*/0);
    return Status();
  }
  bool resets = false;
  RNN_OPS_RETURN_IF_ERROR(
      ParseResetRndGenState(std::getenv("TF_CUDNN_RESET_RND_GEN_STATE"), &resets));
  if (resets) {
    *key = MakeDropoutKey(call.attrs().seed, call.attrs().seed2, /*call=*/0);
    return Status();
  }
  int64_t call_site = 0;
  RNN_OPS_RETURN_IF_ERROR(call.Attr("call_site", &call_site));
  *key = MakeDropoutKey(call.attrs().seed, call.attrs().seed2, NextCall(call_site));
  return Status();
}

}  // namespace rnn_ops::ffi
