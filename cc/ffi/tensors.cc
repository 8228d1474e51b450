#include "cc/ffi/tensors.h"

#include <utility>

namespace rnn_ops {
namespace ffi {

using ::xla::ffi::AnyBuffer;
using ::xla::ffi::DataType;

namespace {

bool ToKernelDtype(DataType type, cpu::KernelDtype* dtype) {
  switch (type) {
    case DataType::F32:
      *dtype = cpu::kFloat32;
      return true;
    case DataType::F64:
      *dtype = cpu::kFloat64;
      return true;
    case DataType::F16:
      *dtype = cpu::kFloat16;
      return true;
    case DataType::BF16:
      *dtype = cpu::kBFloat16;
      return true;
    default:
      return false;
  }
}

// The type that a letter of Take() stands for.
DataType TypeOf(char letter, DataType of_op) {
  switch (letter) {
    case 'i':
      return DataType::S32;
    case 'l':
      return DataType::S64;
    case 'b':
      return DataType::U8;
    case 'c':
      return DataType::S8;
    default:
      return of_op;
  }
}

Buffer ToBuffer(const AnyBuffer& given) {
  Buffer buffer;
  const auto dims = given.dimensions();
  buffer.shape = PartialShape::Of(std::vector<int64_t>(dims.begin(), dims.end()));
  buffer.data = given.untyped_data();
  buffer.bytes = static_cast<int64_t>(given.size_bytes());
  return buffer;
}

}  // namespace

Status Tensors::Take(std::string_view args, std::string_view results) {
  if (given_args_.size() != args.size() || given_results_.size() != results.size()) {
    return InvalidArgument("The call must have ", args.size(), " arguments and ", results.size(),
                           " results, but it has ", given_args_.size(), " and ",
                           given_results_.size(), ".");
  }
  DataType of_op = DataType::INVALID;
  const auto check = [this, &of_op](const char* kind, size_t k, char letter, DataType type) {
    if (letter == 'T' && of_op == DataType::INVALID) {
      if (!ToKernelDtype(type, &dtype_)) {
        return InvalidArgument("T must be bfloat16, half, float or double, but ", kind, " ", k,
                               " has another type.");
      }
      of_op = type;
    }
    if (type == TypeOf(letter, of_op)) return Status();
    return InvalidArgument("The type of ", kind, " ", k, " is not that which the op has there.");
  };
  for (size_t k = 0; k < args.size(); ++k) {
    const auto buffer = given_args_.get<AnyBuffer>(k);
    if (!buffer.has_value()) return Internal("Argument ", k, " is not a buffer.");
    RNN_OPS_RETURN_IF_ERROR(check("argument", k, args[k], buffer->element_type()));
    args_.push_back(ToBuffer(*buffer));
  }
  for (size_t k = 0; k < results.size(); ++k) {
    auto buffer = given_results_.get<AnyBuffer>(k);
    if (!buffer.has_value()) return Internal("Result ", k, " is not a buffer.");
    const AnyBuffer& result = **buffer;
    RNN_OPS_RETURN_IF_ERROR(check("result", k, results[k], result.element_type()));
    results_.push_back(ToBuffer(result));
  }
  return Status();
}

Status Tensors::RequireResult(int index, const char* name, const PartialShape& shape) const {
  if (result(index).shape.dims == shape.dims) return Status();
  return InvalidArgument(name, " must have shape ", ToString(shape), ", but its shape is ",
                         ToString(result(index).shape), ".");
}

}  // namespace ffi
}  // namespace rnn_ops
