// The buffers and attributes of a call of a handler of XLA's foreign function interface (FFI).
#ifndef TF_RNN_OPS_CC_FFI_TENSORS_H_
#define TF_RNN_OPS_CC_FFI_TENSORS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "cc/core/shapes.h"
#include "cc/core/status.h"
#include "cc/cpu/kernel_args.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops {
namespace ffi {

constexpr int kAbsent = -1;  // the place of an argument or result that an op does not have

// An argument or a result: row major, as XLA gives it by default.
struct Buffer {
  PartialShape shape;  // complete
  void* data = nullptr;
  int64_t bytes = 0;
};

class Tensors {
 public:
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Takes the buffers and checks their types, a letter for each: T for the type of the op, i int32,
  // l int64, b uint8, c int8. To be called first.
  Status Take(std::string_view args, std::string_view results);

  const Buffer& arg(int index) const { return args_[index]; }
  const Buffer& result(int index) const { return results_[index]; }
  const void* data(int index) const { return args_[index].data; }
  const PartialShape& shape(int index) const { return args_[index].shape; }
  // The type T.
  cpu::KernelDtype dtype() const { return dtype_; }

  // `name` is for the message. WHY: XLA takes the shapes of results from whoever lowers to the
  // handler, which need not be this project.
  Status RequireResult(int index, const char* name, const PartialShape& shape) const;

  template <typename V>
  Status Attr(const char* name, V* value) const {
    auto found = attrs_.get<V>(name);
    if (!found.has_value()) {
      return InvalidArgument("The attribute ", name, " is missing or of another type.");
    }
    *value = found.value();
    return Status();
  }
  bool HasAttr(const char* name) const { return attrs_.contains(name); }

 protected:
  Tensors(xla::ffi::RemainingArgs args, xla::ffi::RemainingRets results, xla::ffi::Dictionary attrs)
      : given_args_(args), given_results_(results), attrs_(attrs) {}
  ~Tensors() = default;

 private:
  const xla::ffi::RemainingArgs given_args_;
  const xla::ffi::RemainingRets given_results_;
  const xla::ffi::Dictionary attrs_;
  std::vector<Buffer> args_;
  std::vector<Buffer> results_;
  cpu::KernelDtype dtype_ = cpu::kFloat32;
};

}  // namespace ffi
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_FFI_TENSORS_H_
