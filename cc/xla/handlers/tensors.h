// The tensors, attributes and errors of a call of a handler, the same on every device.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/dropout.h"
#include "cc/core/op/dtype.h"
#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"
#include "xla/ffi/api/ffi.h"

namespace rnn_ops::ffi {

// Converts errors and exceptions of C++ to the errors of a handler's C function.

struct Handler {
  const char* op;  // TensorFlow's name of the op, and the name of the custom call
  const OpSpec* spec;
  XLA_FFI_Handler* handler;
};

xla::ffi::Error ToFfi(const Status& status);

// Runs the handler `bound`, which xla::ffi::Ffi::Bind() made.
template <typename Bound>
XLA_FFI_Error* Guarded(XLA_FFI_CallFrame* frame, const Bound& bound) {
  try {
    return bound()->Call(frame);
  } catch (const std::bad_alloc&) {
    // Without this branch XLA would report an unknown error.
    XLA_FFI_Error_Create_Args args = {};
    args.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE;
    args.message = "No memory is left for small objects.";
    args.errc = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
    return frame->api->XLA_FFI_Error_Create(&args);
  }
}

// The buffers and attributes of a call of a handler of XLA's foreign function interface (FFI).

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

// The random key of the dropout masks of a call.

inline bool HasDropout(const RnnAttrs& attrs) { return attrs.is_training && attrs.dropout > 0; }

// `seed`: [2] on the host, from an op that has the seed as an input. Null: the key depends on the
// attributes seed and seed2, and on the number of this call among the calls with its call_site.
Status DrawDropoutKey(const Tensors& call, const int64_t* seed, DropoutKey* key);

}  // namespace rnn_ops::ffi
