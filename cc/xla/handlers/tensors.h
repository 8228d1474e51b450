// The buffers and attributes of a call of a handler of XLA's foreign function interface (FFI).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops::ffi {

// An argument or a result in row-major order, which is XLA's default layout.
struct Buffer {
  PartialShape shape;  // all sizes are known
  void* data = nullptr;
  int64_t bytes = 0;
  int64_t elements = 0;
};

class Tensors {
 public:
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;

  // Reads the buffers and the attributes of an RNN, and checks types and shapes against the table
  // of the op. Call Bind first.
  Status Bind(const OpSpec& op);

  const OpSpec& op() const { return *op_; }
  const RnnAttrs& attrs() const { return rnn_attrs_; }
  const RnnDims& dims() const { return dims_; }
  const RnnConfig& config() const { return config_; }  // for CudnnRNN and LayerRNN
  const CallTensors& tensors() const { return tensors_; }
  Dtype dtype() const { return dtype_; }  // T

  const Buffer& arg(int index) const { return args_[index]; }
  const Buffer& result(int index) const { return results_[index]; }
  // The op must have the input `arg`.
  const Buffer& arg(Arg arg) const { return args_[op_->Input(arg)]; }
  // The results that are always zero.
  std::vector<int> zeros() const;

  // `name`: for the error message. WHY: the program that lowers to the handler chooses the shapes
  // of the results, and it need not be this project.
  Status RequireResult(int index, const std::string& name, const PartialShape& shape) const;

  template <typename V>
  Status Attr(const char* name, V* value) const {
    auto found = attrs_.get<V>(name);
    if (!found.has_value()) {
      return InvalidArgument("The attribute ", name, " is missing or has another type.");
    }
    *value = found.value();
    return Status();
  }
  Status Attr(const char* name, std::string* value) const {
    std::string_view text;
    RNN_OPS_RETURN_IF_ERROR(Attr(name, &text));
    *value = text;
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
  Status BindBuffers();
  Status CheckShapes();

  const OpSpec* op_ = nullptr;
  RnnAttrs rnn_attrs_;
  RnnDims dims_;
  RnnConfig config_;
  CallTensors tensors_;
  std::vector<Buffer> args_;
  std::vector<Buffer> results_;
  Dtype dtype_ = kFloat32;
};

}  // namespace rnn_ops::ffi
