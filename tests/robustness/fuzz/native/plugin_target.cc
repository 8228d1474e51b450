// The op kernels in TensorFlow: calls through its eager C interface, with changed attributes,
// types, shapes and contents, and gradient ops on the results of the forward ops. TensorFlow is not
// instrumented. Every tensor is memory of exactly its size, so the address sanitizer detects reads
// of a kernel beyond a tensor.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/eager/c_api.h"
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_def.pb.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops::fuzzing {
namespace {

struct Deleter {
  void operator()(TF_Status* status) const { TF_DeleteStatus(status); }
  void operator()(TF_Tensor* tensor) const { TF_DeleteTensor(tensor); }
  void operator()(TFE_Op* op) const { TFE_DeleteOp(op); }
  void operator()(TFE_TensorHandle* handle) const { TFE_DeleteTensorHandle(handle); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

// Tensors of a call by the name of the input or output, which may be a list.
using Tensors = std::map<std::string, std::vector<Owned<TFE_TensorHandle>>>;
using Attrs = std::map<std::string, std::variant<std::string, float, int64_t, bool, TF_DataType>>;

Owned<TF_Status> NewStatus() { return Owned<TF_Status>(TF_NewStatus()); }

void RequireOk(const Owned<TF_Status>& status) {
  Require(TF_GetCode(status.get()) == TF_OK, TF_Message(status.get()));
}

TFE_Context* Context() {
  static TFE_Context* const context = [] {
    const auto status = NewStatus();
    TFE_ContextOptions* const options = TFE_NewContextOptions();
    TFE_Context* const made = TFE_NewContext(options, status.get());
    TFE_DeleteContextOptions(options);
    RequireOk(status);
    return made;
  }();
  return context;
}

const tensorflow::OpDef& DefinitionOf(const std::string& op) {
  const tensorflow::OpDef* def = nullptr;
  Require(tensorflow::OpRegistry::Global()->LookUpOpDef(op, &def).ok(), op);
  return *def;
}

TF_DataType TensorTypeOf(Dtype dtype) {
  constexpr TF_DataType kTypes[] = {TF_FLOAT, TF_DOUBLE, TF_HALF, TF_BFLOAT16};
  return kTypes[dtype];
}

class Caller {
 public:
  Caller(FuzzedDataProvider& bytes, Dtype dtype) : bytes_(bytes), dtype_(dtype) {}

  Attrs attrs;
  Tensors inputs;

  // Adds an input of the caller's type.
  void Give(const std::string& name, const PartialShape& shape) {
    const Memory from(Elements(shape) * SizeOf(dtype_));
    FillNumbers(bytes_, dtype_, const_cast<Memory*>(&from));
    Give(name, TensorTypeOf(dtype_), shape.dims, from.data());
  }

  void GiveFloats(const std::string& name, const PartialShape& shape) {
    Memory from(Elements(shape) * SizeOf(kFloat32));
    FillNumbers(bytes_, kFloat32, &from);
    Give(name, TF_FLOAT, shape.dims, from.data());
  }

  template <typename T>
  void GiveIntegers(const std::string& name, TF_DataType type, const PartialShape& shape,
                    int64_t largest) {
    std::vector<T> values(Elements(shape));
    for (T& value : values) {
      value = bytes_.ConsumeIntegralInRange<int>(0, 30) == 0
                  ? bytes_.ConsumeIntegral<T>()
                  : bytes_.ConsumeIntegralInRange<T>(0, static_cast<T>(largest));
    }
    Give(name, type, shape.dims, values.data());
  }

  void Give(const std::string& name, TF_DataType type, const std::vector<int64_t>& dims,
            const void* data) {
    size_t count = 1;
    for (int64_t dim : dims) count *= dim;
    const size_t size = count * TF_DataTypeSize(type);
    const Owned<TF_Tensor> tensor(
        TF_AllocateTensor(type, dims.data(), static_cast<int>(dims.size()), size));
    if (size > 0) std::memcpy(TF_TensorData(tensor.get()), data, size);
    const auto status = NewStatus();
    inputs[name].emplace_back(TFE_NewTensorHandle(tensor.get(), status.get()));
    RequireOk(status);
  }

  // Runs an op on `inputs` and adds its outputs to `inputs`. Returns whether the op accepted the
  // call.
  bool Run(const std::string& op) {
    const tensorflow::OpDef& def = DefinitionOf(op);
    const auto status = NewStatus();
    const Owned<TFE_Op> call(TFE_NewOp(Context(), op.c_str(), status.get()));
    RequireOk(status);
    SetAttrs(def, call.get());
    for (const auto& arg : def.input_arg()) {
      auto& given = inputs[arg.name()];
      std::vector<TFE_TensorHandle*> handles;
      for (auto& handle : given) handles.push_back(handle.get());
      if (arg.number_attr().empty()) {
        Require(handles.size() == 1, op + ": " + arg.name());
        TFE_OpAddInput(call.get(), handles[0], status.get());
      } else {
        TFE_OpAddInputList(call.get(), handles.data(), static_cast<int>(handles.size()),
                           status.get());
      }
      if (!WasAccepted(status)) return false;
    }
    TFE_TensorHandle* outputs[kMostOutputs] = {};
    int count = kMostOutputs;
    TFE_Execute(call.get(), outputs, &count, status.get());
    if (!WasAccepted(status)) return false;
    int next = 0;
    for (const auto& arg : def.output_arg()) {
      auto& taken = inputs[arg.name()];
      taken.clear();
      const int64_t size =
          arg.number_attr().empty() ? 1 : std::get<int64_t>(attrs.at(arg.number_attr()));
      for (int64_t k = 0; k < size; ++k) {
        taken.emplace_back(outputs[next++]);
        RequireExactSize(taken.back().get());
      }
    }
    Require(next == count, op + " has other outputs");
    return true;
  }

  // Changes at most two shapes, contents or attributes.
  void Mutate(const tensorflow::OpDef& def) {
    for (int edits = bytes_.ConsumeIntegralInRange<int>(0, 2); edits > 0; --edits) {
      if (bytes_.ConsumeBool() && def.attr_size() > 0) {
        MutateAttr(def.attr(bytes_.ConsumeIntegralInRange<int>(0, def.attr_size() - 1)));
      } else {
        const int k = bytes_.ConsumeIntegralInRange<int>(0, def.input_arg_size() - 1);
        MutateTensor(def.input_arg(k).name());
      }
    }
  }

 private:
  static constexpr int kMostOutputs = 128;

  // Checks that the memory behind a tensor is poisoned. Otherwise this target could not fail.
  static void RequireExactSize(TFE_TensorHandle* handle) {
    const auto status = NewStatus();
    const Owned<TF_Tensor> tensor(TFE_TensorHandleResolve(handle, status.get()));
    RequireOk(status);
    const size_t size = TF_TensorByteSize(tensor.get());
    if (size == 0) return;
    const char* const data = static_cast<const char*>(TF_TensorData(tensor.get()));
    RequirePoisoned(data + size, "a read beyond a tensor is seen");
  }

  static bool WasAccepted(const Owned<TF_Status>& status) {
    const TF_Code code = TF_GetCode(status.get());
    if (code == TF_OK) return true;
    const std::string message = TF_Message(status.get());
    Require(code == TF_INVALID_ARGUMENT, message);
    Require(!message.empty(), "a refusal says why");
    return false;
  }

  void SetAttrs(const tensorflow::OpDef& def, TFE_Op* call) const {
    for (const auto& attr : def.attr()) {
      const auto found = attrs.find(attr.name());
      if (attr.name() == "T") TFE_OpSetAttrType(call, "T", TensorTypeOf(dtype_));
      if (found == attrs.end()) continue;
      const char* const name = attr.name().c_str();
      if (const auto* s = std::get_if<std::string>(&found->second)) {
        TFE_OpSetAttrString(call, name, s->data(), s->size());
      } else if (const auto* f = std::get_if<float>(&found->second)) {
        TFE_OpSetAttrFloat(call, name, *f);
      } else if (const auto* n = std::get_if<int64_t>(&found->second)) {
        TFE_OpSetAttrInt(call, name, *n);
      } else if (const auto* b = std::get_if<bool>(&found->second)) {
        TFE_OpSetAttrBool(call, name, *b ? 1 : 0);
      } else {
        TFE_OpSetAttrType(call, name, std::get<TF_DataType>(found->second));
      }
    }
  }

  void MutateAttr(const tensorflow::OpDef::AttrDef& attr) {
    const std::string& name = attr.name();
    if (attr.type() == "string") {
      const auto& allowed = attr.allowed_values().list().s();
      attrs[name] = allowed.empty() || bytes_.ConsumeIntegralInRange<int>(0, 9) == 0
                        ? bytes_.ConsumeRandomLengthString(12)
                        : allowed[bytes_.ConsumeIntegralInRange<int>(0, allowed.size() - 1)];
    } else if (attr.type() == "float") {
      const uint32_t bits = bytes_.ConsumeIntegral<uint32_t>();
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      attrs[name] = bytes_.ConsumeBool() ? value : bytes_.ConsumeProbability<float>();
    } else if (attr.type() == "bool") {
      attrs[name] = bytes_.ConsumeBool();
    } else if (attr.type() == "int" && name.rfind("num_params", 0) != 0) {
      // TensorFlow itself allocates lists of num_params_weights and num_params_biases elements.
      attrs[name] = bytes_.ConsumeBool() ? bytes_.ConsumeIntegral<int64_t>()
                                         : bytes_.ConsumeIntegralInRange<int64_t>(-2, 20);
    }
  }

  // Makes a tensor with another shape, and with the same bytes as far as possible or with other
  // bytes.
  void MutateTensor(const std::string& name) {
    auto& list = inputs[name];
    if (list.empty()) return;
    auto& handle = list[bytes_.ConsumeIntegralInRange<size_t>(0, list.size() - 1)];
    const auto status = NewStatus();
    const Owned<TF_Tensor> old(TFE_TensorHandleResolve(handle.get(), status.get()));
    RequireOk(status);
    PartialShape shape = PartialShape::Of({});
    for (int k = 0; k < TF_NumDims(old.get()); ++k) shape.dims.push_back(TF_Dim(old.get(), k));
    if (bytes_.ConsumeBool()) {
      EditShape(bytes_, &shape, [&] { return bytes_.ConsumeIntegralInRange<int64_t>(0, 20); });
    }
    if (shape.dims.size() > 6 || Elements(shape) > 100'000) return;
    const TF_DataType type = TF_TensorType(old.get());
    std::vector<uint8_t> data(Elements(shape) * TF_DataTypeSize(type), 1);
    const size_t same = std::min(data.size(), TF_TensorByteSize(old.get()));
    if (same > 0) std::memcpy(data.data(), TF_TensorData(old.get()), same);
    for (int k = bytes_.ConsumeIntegralInRange<int>(0, 4); k > 0 && !data.empty(); --k) {
      // Changes often affect only the header.
      const size_t end = bytes_.ConsumeBool() ? std::min<size_t>(48, data.size()) : data.size();
      data[bytes_.ConsumeIntegralInRange<size_t>(0, end - 1)] ^= bytes_.ConsumeIntegral<uint8_t>();
    }
    auto rest = std::move(list);
    const size_t place = &handle - rest.data();
    list.clear();
    Give(name, type, shape.dims, data.data());
    rest[place] = std::move(list[0]);
    list = std::move(rest);
  }

  FuzzedDataProvider& bytes_;
  const Dtype dtype_;
};

// The attributes by their names in TensorFlow.
void SetAttrs(const RnnAttrs& attrs, Attrs* named) {
  constexpr const char* kInputModes[] = {"linear_input", "skip_input", "auto_select"};
  *named = {
      {"rnn_mode", std::string(Name(attrs.mode))},
      {"input_mode", std::string(kInputModes[static_cast<int>(attrs.input_mode)])},
      {"direction", std::string(Name(attrs.direction))},
      {"activation", std::string(Name(attrs.activation))},
      {"recurrent_activation", std::string(Name(attrs.recurrent_activation))},
      {"time_major", attrs.time_major},
      {"num_proj", attrs.num_proj},
      {"dropout", attrs.dropout},
      {"cell_clip", attrs.cell_clip},
      {"proj_clip", attrs.proj_clip},
      {"zoneout_h", attrs.zoneout_h},
      {"zoneout_c", attrs.zoneout_c},
      {"is_training", true},
  };
}

// Adds inputs with the names and types of an OpSpec.
void Give(Caller& caller, const OpSpec& spec, const std::vector<PartialShape>& shapes,
          int64_t steps) {
  for (int k = 0; k < spec.inputs.count; ++k) {
    const std::string name(spec.inputs[k].name());
    switch (spec.inputs[k].element) {
      case Element::kInt32:
        caller.GiveIntegers<int32_t>(name, TF_INT32, shapes[k], steps);
        break;
      case Element::kInt64:
        caller.GiveIntegers<int64_t>(name, TF_INT64, shapes[k], steps);
        break;
      case Element::kInt8:
        caller.GiveIntegers<int8_t>(name, TF_INT8, shapes[k], 1);
        break;
      case Element::kUint8:
        caller.GiveIntegers<uint8_t>(name, TF_UINT8, shapes[k], 1);
        break;
      case Element::kFloat32:
        caller.GiveFloats(name, shapes[k]);
        break;
      default:
        caller.Give(name, shapes[k]);
    }
  }
}

// Runs an op, and then another op that accepts its outputs.
void RunBoth(Caller& caller, const std::string& forward, const std::string& backward) {
  caller.Mutate(DefinitionOf(forward));
  if (!caller.Run(forward)) return;
  caller.Mutate(DefinitionOf(backward));
  caller.Run(backward);
}

std::string Ours(const char* op) { return std::string("TfRnnOps>") + op; }

void RunStack(FuzzedDataProvider& bytes, Dtype dtype) {
  RnnAttrs attrs = DrawAttrs(bytes);
  Sizes s = DrawSizes(bytes);
  if (attrs.input_mode == InputMode::kSkip) s.I = s.H;
  if (attrs.mode == RnnMode::kLstm && bytes.ConsumeBool()) attrs.num_proj = s.P;
  Shapes shapes = StackShapes(attrs, s);
  if (shapes["params"].dims[0] < 0) return;
  shapes["reserve_space"] = PartialShape::Of({1});
  Caller caller(bytes, dtype);
  Give(caller, kCudnnRnnBackpropV3, shapes.all(), s.T);
  SetAttrs(attrs, &caller.attrs);
  const auto sizes = {std::pair{"num_layers", s.L}, {"num_units", s.H}, {"input_size", s.I}};
  switch (bytes.ConsumeIntegralInRange<int>(0, 3)) {
    case 0: {  // packed weights
      for (const auto& [name, size] : sizes) caller.attrs[name] = size;
      caller.attrs["keep"] = bytes.ConsumeBool();
      RunBoth(caller, Ours("PackCudnnRNNParams"), Ours("CudnnRNNV3Packed"));
      break;
    }
    case 1: {  // the opaque buffer
      for (const auto& [name, size] : sizes) {
        const auto value = static_cast<int32_t>(size);
        caller.Give(name, TF_INT32, {}, &value);
      }
      const int64_t layers = s.L * static_cast<int64_t>(attrs.direction), G = GatesOf(attrs.mode);
      const bool projected = attrs.num_proj > 0 && attrs.num_proj < s.H;
      caller.attrs["S"] = bytes.ConsumeBool() ? TF_INT64 : TF_INT32;
      caller.attrs["num_params_weights"] = layers * (2 * G + (projected ? 1 : 0));
      caller.attrs["num_params_biases"] = layers * 2 * G;
      caller.Run(Ours("CudnnRNNParamsSize"));
      RunBoth(caller, Ours("CudnnRNNParamsToCanonicalV2"), Ours("CudnnRNNCanonicalToParamsV2"));
      break;
    }
    case 2: {
      caller.inputs["seed"].clear();
      caller.GiveIntegers<int64_t>("seed", TF_INT64, PartialShape::Of({2}), 9);
      RunBoth(caller, Ours("StatelessCudnnRNNV3"), Ours("CudnnRNNBackpropV3"));
      break;
    }
    default:
      caller.attrs["seed"] = bytes.ConsumeIntegral<int64_t>();
      RunBoth(caller, Ours("CudnnRNNV3"), Ours("CudnnRNNBackpropV3"));
  }
}

void RunLayer(FuzzedDataProvider& bytes, Dtype dtype) {
  const RnnAttrs attrs = DrawLayerAttrs(bytes);
  const Sizes s = DrawSizes(bytes);
  Shapes shapes = LayerShapes(attrs, s, bytes);
  shapes["reserve_space"] = PartialShape::Of({1});
  Caller caller(bytes, dtype);
  Give(caller, kLayerRnnBackprop, shapes.all(), s.T);
  SetAttrs(attrs, &caller.attrs);
  if (bytes.ConsumeIntegralInRange<int>(0, 3) == 0) {
    caller.attrs["keep"] = bytes.ConsumeBool();
    RunBoth(caller, Ours("PackLayerRNN"), Ours("LayerRNNPacked"));
  } else {
    RunBoth(caller, Ours("LayerRNN"), Ours("LayerRNNBackprop"));
  }
}

void RunQuantized(FuzzedDataProvider& bytes, Dtype dtype) {
  const RnnAttrs attrs = DrawQuantizedAttrs(bytes);
  const Sizes s = DrawSizes(bytes);
  Caller caller(bytes, dtype);
  Give(caller, kQuantizedLayerRnn, QuantizedShapes(attrs, s, bytes), s.T);
  SetAttrs(attrs, &caller.attrs);
  caller.attrs["keep"] = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) {
    RunBoth(caller, Ours("PackQuantizedLayerRNN"), Ours("QuantizedLayerRNN"));
  } else {
    caller.Mutate(DefinitionOf(Ours("QuantizedLayerRNN")));
    caller.Run(Ours("QuantizedLayerRNN"));
  }
}

void RunBlock(FuzzedDataProvider& bytes, Dtype dtype) {
  const Sizes s = DrawSizes(bytes);
  Caller caller(bytes, dtype);
  Give(caller, kBlockLstmGrad, BlockShapes(s).all(), s.T);
  caller.attrs["use_peephole"] = bytes.ConsumeBool();
  RunBoth(caller, Ours("BlockLSTMV2"), Ours("BlockLSTMGradV2"));
}

void RunLinear(FuzzedDataProvider& bytes, Dtype dtype) {
  const RnnAttrs attrs = DrawLinearAttrs(bytes);
  const Sizes s = DrawSizes(bytes);
  Caller caller(bytes, dtype);
  Give(caller, kLinearRecurrence, LinearShapes(attrs, s, bytes), s.T);
  SetAttrs(attrs, &caller.attrs);
  caller.Mutate(DefinitionOf(Ours("LinearRecurrence")));
  caller.Run(Ours("LinearRecurrence"));
}

}  // namespace
}  // namespace rnn_ops::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  const auto dtype = static_cast<rnn_ops::Dtype>(bytes.ConsumeIntegralInRange(0, 3));
  switch (bytes.ConsumeIntegralInRange<int>(0, 5)) {
    case 0:
      rnn_ops::fuzzing::RunBlock(bytes, dtype);
      break;
    case 1:
      rnn_ops::fuzzing::RunLinear(bytes, rnn_ops::fuzzing::LinearType(dtype));
      break;
    case 2:
      rnn_ops::fuzzing::RunLayer(bytes, dtype);
      break;
    case 3:
      rnn_ops::fuzzing::RunQuantized(bytes, rnn_ops::fuzzing::QuantizedType(dtype));
      break;
    default:
      rnn_ops::fuzzing::RunStack(bytes, dtype);
      break;
  }
  return 0;
}
