#include "cc/ffi/call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "cc/core/block_cache.h"
#include "cc/core/machine_limits.h"

namespace rnn_ops {
namespace ffi {

using ::xla::ffi::AnyBuffer;
using ::xla::ffi::DataType;

namespace {

constexpr int64_t kAlignment = 64;
// As in cc/tf/cached_memory.cc: smaller blocks the C library keeps well enough itself.
constexpr int64_t kLargeBytes = int64_t{4} << 20;

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

// How many threads of XLA's pool a call may keep busy, its caller included.
int NumThreads(const xla::ffi::ThreadPool& pool) {
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(pool.num_threads(), AvailableCpus())));
}

}  // namespace

Call::Call(xla::ffi::ThreadPool pool, xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results,
           xla::ffi::Dictionary attrs)
    : given_args_(args),
      given_results_(results),
      attrs_(attrs),
      team_(NumThreads(pool),
            [pool](std::function<void()> closure) mutable { pool.Schedule(std::move(closure)); }) {}

Call::~Call() {
  for (void* block : small_blocks_) std::free(block);
  for (void* block : large_blocks_) ProcessBlockCache().Return(block);
}

Status Call::Take(std::string_view args, std::string_view results) {
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

Status Call::RequireResult(int index, const char* name, const PartialShape& shape) const {
  if (result(index).shape.dims == shape.dims) return Status();
  return InvalidArgument(name, " must have shape ", ToString(shape), ", but its shape is ",
                         ToString(result(index).shape), ".");
}

void Call::Zero(int index) const {
  if (result(index).bytes > 0) std::memset(result(index).data, 0, result(index).bytes);
}

Status Call::Scratch(int64_t bytes, void** data) {
  if (bytes < 0) return InvalidArgument("The problem needs more scratch memory than 2^62 bytes.");
  *data = nullptr;
  if (bytes == 0) return Status();
  const bool large = bytes >= kLargeBytes;
  std::vector<void*>& blocks = large ? large_blocks_ : small_blocks_;
  blocks.reserve(blocks.size() + 1);  // so that no block is lost where there is no memory for this
  if (large) {
    *data = ProcessBlockCache().Take(bytes);
  } else {
    *data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  if (*data != nullptr) {
    blocks.push_back(*data);
    return Status();
  }
  return ResourceExhausted("There is not enough memory for ", bytes, " bytes of scratch.");
}

Status Call::Aligned(int index, const void** data) {
  *data = arg(index).data;
  if (reinterpret_cast<uintptr_t>(*data) % kAlignment == 0) return Status();
  void* copy = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Scratch(arg(index).bytes, &copy));
  if (copy != nullptr) std::memcpy(copy, *data, arg(index).bytes);
  *data = copy;
  return Status();
}

}  // namespace ffi
}  // namespace rnn_ops
