// Files of models for steppers: valid ones, and valid ones with changes in the text or in the
// sizes. A rejection must have a sentence. An accepted model must run inside its memory, give the
// same bits with another number of threads, and keep the states that it was given.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cc/step/rnn_step.h"
#include "tests/cc/step/written_file.h"
#include "tests/robustness/fuzz/native/drawn.h"

// A changed size may ask for any memory; the stepper must report that there is none.
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=256:allocator_may_return_null=1";
}

namespace rnn_ops::fuzzing {
namespace {

using step::testing::Quoted;
using step::testing::Weights;

// The sizes of a valid model are at most this.
constexpr int kLargest = 9;
// Numbers with more digits in a changed text would make a model that takes seconds.
constexpr int kMostDigits = 3;

struct Tensor {
  std::string name;
  bool has_time;
  std::vector<int64_t> dims;
};

std::string ListOf(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "[" + text + "]";
}

// Draws the graph of a model and its weights.
class Model {
 public:
  explicit Model(FuzzedDataProvider& bytes) : bytes_(bytes) {
    words_ = bytes.ConsumeBool();
    windows_ = bytes.ConsumeIntegralInRange<int>(0, 3) == 0;
    const int64_t size = Size();
    steps_ = windows_ ? Size() : 0;
    inputs_ = Input("x", "float32", windows_ ? Dims{steps_, size} : Dims{size});
    if (words_) inputs_ += ", " + Input("words", "int32", windows_ ? Dims{steps_} : Dims{});
    for (int nodes = bytes.ConsumeIntegralInRange<int>(1, 5); nodes > 0; --nodes) AddNode();
  }

  std::string Graph() const {
    std::string outputs;
    for (size_t k = 1; k <= std::min<size_t>(2, floats_.size()); ++k) {
      const std::string& value = floats_[floats_.size() - k].name;
      outputs += (k == 1 ? "" : ", ") + ("{\"name\": " + Quoted("out_" + value)) +
                 ", \"value\": " + Quoted(value) + "}";
    }
    const std::string window = "\"window\": " + std::to_string(steps_) + ", ";
    return "{" + (windows_ ? window : "") + "\"inputs\": [" + inputs_ + "], \"nodes\": [" + nodes_ +
           "], \"outputs\": [" + outputs + "]}";
  }
  std::vector<Weights>& weights() { return weights_; }
  const char* version() const { return windows_ ? "2" : "1"; }

 private:
  using Dims = std::vector<int64_t>;

  int64_t Size() { return bytes_.ConsumeIntegralInRange<int64_t>(1, kLargest); }

  std::string Input(const std::string& name, const std::string& type, std::vector<int64_t> dims) {
    const bool has_time = !windows_ && bytes_.ConsumeIntegralInRange<int>(0, 4) > 0;
    const std::string text = "{\"name\": " + Quoted(name) + ", \"dtype\": " + Quoted(type) +
                             ", \"has_time\": " + (has_time ? "true" : "false") +
                             ", \"dims\": " + ListOf(dims) + "}";
    (type == "int32" ? tokens_ : floats_).push_back({name, has_time, std::move(dims)});
    return text;
  }

  const Tensor& Any() {
    return floats_[bytes_.ConsumeIntegralInRange<size_t>(0, floats_.size() - 1)];
  }

  // Writes a node of the current weights.
  void Write(const std::string& op, const std::vector<std::string>& inputs, bool has_time,
             std::vector<int64_t> dims, const std::string& fields) {
    std::string names, weights;
    for (const std::string& input : inputs) names += (names.empty() ? "" : ", ") + Quoted(input);
    for (const std::string& key : keys_) {
      weights += (weights.empty() ? "" : ", ") + Quoted(key) + ": " + Quoted(Stored(key));
    }
    const std::string name = Name();
    nodes_ += (nodes_.empty() ? "" : ", ") + ("{\"op\": " + Quoted(op)) +
              ", \"name\": " + Quoted(name) + ", \"inputs\": [" + names + "], \"outputs\": [" +
              Quoted(name) + outputs_ + "], \"weights\": {" + weights + "}" + fields + "}";
    floats_.push_back({name, has_time, std::move(dims)});
    floats_.insert(floats_.end(), more_.begin(), more_.end());
    keys_.clear();
    more_.clear();
    outputs_.clear();
    ++count_;
  }

  std::string Name() const { return "n" + std::to_string(count_); }
  std::string Stored(const std::string& key) const { return Name() + "/" + key; }

  void AddWeights(const std::string& key, std::vector<int64_t> shape, bool int8 = false) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    Memory memory(elements * 4);
    FillNumbers(bytes_, kFloat32, &memory);
    std::vector<float> values(elements);
    std::memcpy(values.data(), memory.data(), memory.bytes());
    if (int8) {
      for (int64_t k = 0; k < elements; ++k) values[k] = static_cast<float>((37 * k) % 255 - 127);
    }
    weights_.push_back({Stored(key), std::move(shape), std::move(values), int8});
    keys_.push_back(key);
  }

  // Weights that a node may have or not.
  void MaybeWeights(const std::string& key, std::vector<int64_t> shape) {
    if (bytes_.ConsumeBool()) AddWeights(key, std::move(shape));
  }

  void AddNode() {
    const Tensor x = Any();
    const int64_t columns = x.dims.empty() ? 1 : x.dims.back();
    std::vector<int64_t> dims = x.dims;
    if (!x.has_time && bytes_.ConsumeBool()) return AddWindowNode(x);
    switch (bytes_.ConsumeIntegralInRange<int>(0, 12)) {
      case 0:
      case 1:
        return AddRecurrent(x);
      case 2:
        if (!dims.empty()) dims.back() = Size();
        AddWeights("kernel", {columns, dims.empty() ? 1 : dims.back()});
        MaybeWeights("bias", {dims.empty() ? 1 : dims.back()});
        return Write("dense", {x.name}, x.has_time, dims, "");
      case 3:
        if (!dims.empty()) dims.back() = Size();
        AddWeights("kernel", {columns, dims.empty() ? 1 : dims.back()}, /*int8=*/true);
        AddWeights("kernel_scale", {dims.empty() ? 1 : dims.back()});
        MaybeWeights("bias", {dims.empty() ? 1 : dims.back()});
        return Write("quantized_dense", {x.name}, x.has_time, dims, ", \"epsilon\": 1e-07");
      case 4:
        return AddConv(x);
      case 5: {
        const std::string name = bytes_.PickValueInArray<const char*>(
            {"relu", "tanh", "sigmoid", "hard_sigmoid", "exponential", "softplus", "softsign",
             "elu", "selu", "silu", "hard_silu", "gelu", "mish", "softmax", "log_softmax"});
        return Write("activation", {x.name}, x.has_time, dims,
                     ", \"activation\": " + Quoted(name) + ", \"alpha\": 0.5, \"largest\": 6");
      }
      case 6:
      case 7: {
        AddWeights("scale", {columns});
        AddWeights("offset", {columns});
        const bool norm = bytes_.ConsumeBool();
        return Write(norm ? "norm" : "scale", {x.name}, x.has_time, dims,
                     norm ? ", \"epsilon\": 0.001, \"centered\": true" : "");
      }
      case 8: {
        if (tokens_.empty()) return;
        if (bytes_.ConsumeBool()) {
          return Write("cast", {tokens_[0].name}, tokens_[0].has_time, tokens_[0].dims,
                       ", \"smallest\": 0, \"largest\": " + std::to_string(Size()));
        }
        const bool int8 = bytes_.ConsumeBool();
        dims = {Size()};
        AddWeights("table", {Size(), dims[0]}, int8);
        if (int8) AddWeights("scale", {weights_.back().shape[0]});
        return Write("embedding", {tokens_[0].name}, tokens_[0].has_time, dims, "");
      }
      case 9: {
        const std::string name = bytes_.PickValueInArray<const char*>(
            {"add", "average", "subtract", "multiply", "maximum", "minimum"});
        return Write("combine", {x.name, bytes_.ConsumeBool() ? x.name : Any().name}, x.has_time,
                     dims, ", \"function\": " + Quoted(name));
      }
      case 10: {
        const Tensor other = bytes_.ConsumeBool() ? x : Any();
        if (!dims.empty() && !other.dims.empty()) dims.back() += other.dims.back();
        return Write("concatenate", {x.name, other.name}, x.has_time, dims, "");
      }
      case 11: {
        int64_t elements = 1;
        for (const int64_t size : x.dims) elements *= size;
        dims = bytes_.ConsumeBool() ? std::vector<int64_t>{elements}
                                    : std::vector<int64_t>{elements, 1};
        return Write("reshape", {x.name}, x.has_time, dims, ", \"dims\": " + ListOf(dims));
      }
      default:
        return Write("last_step", {x.name}, false, dims, "");
    }
  }

  // The fields do not always fit the sequence.
  void AddWindowNode(const Tensor& x) {
    const auto number = [this](const char* name, int from) {
      return std::string(", \"") + name +
             "\": " + std::to_string(bytes_.ConsumeIntegralInRange<int>(from, 3));
    };
    std::vector<std::string> inputs = {x.name};
    Dims dims = x.dims;
    const std::string lengths = lengths_.empty() || bytes_.ConsumeBool() ? "" : lengths_.back();
    const std::string with_lengths = lengths.empty() ? "" : ", \"lengths\": true";
    if (!lengths.empty()) inputs.push_back(lengths);
    switch (bytes_.ConsumeIntegralInRange<int>(0, 6)) {
      case 0: {
        const bool words = !tokens_.empty() && bytes_.ConsumeBool();
        lengths_.push_back(Name());
        Write("lengths", {words ? tokens_[0].name : x.name}, false, {},
              std::string(", \"words\": ") + (words ? "true" : "false") + number("value", -1));
        floats_.pop_back();
        return;
      }
      case 1:
        return Write("mask", inputs, false, dims,
                     with_lengths + ", \"hold\": " + (bytes_.ConsumeBool() ? "true" : "false"));
      case 2:
        return Write("reverse", inputs, false, dims, with_lengths);
      case 3:
        return Write("crop", {x.name}, false, dims, number("begin", -1) + number("count", 0));
      case 4:
        return Write("repeat", {x.name}, false, dims, number("times", 0));
      case 5: {
        const char* const function = bytes_.ConsumeBool() ? "maximum" : "average";
        return Write("pool", inputs, false, dims,
                     with_lengths + ", \"function\": " + Quoted(function) + number("width", 0) +
                         number("stride", 0) + Padding());
      }
      default:
        return Write("permute", {x.name}, false, dims,
                     ", \"order\": " + ListOf(bytes_.ConsumeBool() ? Dims{1, 0} : Dims{0, 1}));
    }
  }

  std::string Padding() {
    const int64_t before = bytes_.ConsumeIntegralInRange<int64_t>(0, 2);
    return ", \"padding\": " + ListOf({before, bytes_.ConsumeIntegralInRange<int64_t>(0, 2)});
  }

  void AddConv(const Tensor& x) {
    const int64_t channels = x.dims.empty() ? 1 : x.dims.back();
    const int64_t width = bytes_.ConsumeIntegralInRange<int64_t>(1, 3);
    const int64_t groups = bytes_.ConsumeBool() ? channels : 1;
    const int64_t columns = groups * bytes_.ConsumeIntegralInRange<int64_t>(1, 3);
    AddWeights("kernel", {width, channels / groups, columns});
    MaybeWeights("bias", {columns});
    const std::string of_window =
        x.has_time
            ? ""
            : Padding() +
                  ", \"stride\": " + std::to_string(bytes_.ConsumeIntegralInRange<int>(1, 3));
    Write("conv", {x.name}, x.has_time, x.has_time ? Dims{columns} : Dims{1, columns},
          of_window +
              ", \"dilation\": " + std::to_string(bytes_.ConsumeIntegralInRange<int>(1, 3)) +
              ", \"groups\": " + std::to_string(groups) + ", \"states\": [" +
              Quoted(Name() + "_x") + "]");
  }

  // A layer, a quantized layer or a stack.
  void AddRecurrent(const Tensor& x) {
    const int64_t I = x.dims.empty() ? 1 : x.dims.back(), H = Size();
    const auto mode = static_cast<RnnMode>(
        bytes_.ConsumeIntegralInRange<int>(0, static_cast<int>(std::size(kCellFacts)) - 1));
    const CellFacts& facts = FactsOf(mode);
    const int64_t G = facts.gates;
    const std::string kind = bytes_.PickValueInArray<const char*>(
        {"LayerRNN", "LayerRNN", "QuantizedLayerRNN", "CudnnRNNV3"});
    std::string fields = ", \"kind\": " + Quoted(kind);
    const bool projects = facts.has_c && bytes_.ConsumeIntegralInRange<int>(0, 3) == 0;
    const int64_t S = projects ? bytes_.ConsumeIntegralInRange<int64_t>(1, H) : H;
    const int64_t L = kind == "CudnnRNNV3" ? bytes_.ConsumeIntegralInRange<int64_t>(1, 3) : 1;
    if (kind == "CudnnRNNV3") {
      int64_t elements = 0;
      for (int64_t layer = 0; layer < L; ++layer) {
        elements += G * H * ((layer == 0 ? I : S) + S + 2) + (projects ? S * H : 0);
      }
      AddWeights("params", {elements});
      fields += ", \"num_layers\": " + std::to_string(L) + ", \"num_units\": " + std::to_string(H);
    } else {
      const bool int8 = kind == "QuantizedLayerRNN";
      AddWeights("kernel", {I, G * H}, int8);
      AddWeights("recurrent_kernel", {S, G * H}, int8);
      if (int8) AddWeights("kernel_scale", {G * H});
      if (int8) AddWeights("recurrent_kernel_scale", {G * H});
      if (projects) AddWeights("projection", {H, S}, int8);
      if (projects && int8) AddWeights("projection_scale", {S});
      if (mode == RnnMode::kGru && bytes_.ConsumeBool()) {
        AddWeights("bias", {2, G * H});
      } else if (mode != RnnMode::kGru) {
        MaybeWeights("bias", {G * H});
      }
      if (facts.has_c && !int8) MaybeWeights("peepholes", {3, H});
      if (facts.has_c && !int8 && bytes_.ConsumeIntegralInRange<int>(0, 3) == 0) {
        AddWeights("layer_norm", {kLayerNormRows, H});
      }
    }
    const char* clip = bytes_.ConsumeIntegralInRange<int>(0, 3) == 0 ? "0.5" : "0";
    const char* zoneout = bytes_.ConsumeIntegralInRange<int>(0, 3) == 0 ? "0.25" : "0";
    const std::string activation = bytes_.PickValueInArray<const char*>({"tanh", "relu", "linear"});
    fields += ", \"states\": [" + Quoted(Name() + "_h") +
              (facts.has_c ? ", " + Quoted(Name() + "_c") : "") +
              "], \"attrs\": {\"rnn_mode\": " + Quoted(std::string(facts.name)) +
              ", \"activation\": " + Quoted(activation) +
              ", \"recurrent_activation\": \"sigmoid\", \"input_mode\": \"linear_input\", "
              "\"direction\": \"unidirectional\", \"num_proj\": " +
              std::to_string(kind == "CudnnRNNV3" && projects ? S : 0) +
              ", \"cell_clip\": " + clip + ", \"proj_clip\": 0, \"zoneout_h\": " + zoneout +
              ", \"zoneout_c\": 0, \"layer_norm_epsilon\": 0.001}";
    if (bytes_.ConsumeIntegralInRange<int>(0, 3) == 0) {
      outputs_ = ", " + Quoted(Name() + "_after");
      std::vector<int64_t> dims = {S};
      if (kind == "CudnnRNNV3") dims = {L, S};
      more_.push_back({Name() + "_after", false, dims});
    }
    Write("rnn", {x.name}, x.has_time, x.has_time ? Dims{S} : Dims{1, S}, fields);
  }

  FuzzedDataProvider& bytes_;
  bool words_ = false, windows_ = false;
  int64_t steps_ = 0;  // of a window
  std::vector<std::string> lengths_;
  std::string inputs_, nodes_, outputs_;
  std::vector<Tensor> floats_, tokens_, more_;
  std::vector<Weights> weights_;
  std::vector<std::string> keys_;  // of the current node
  int count_ = 0;
};

// Replaces, removes or repeats a part of the text.
void Mutate(FuzzedDataProvider& bytes, std::string* text) {
  if (text->empty()) return;
  const size_t at = bytes.ConsumeIntegralInRange<size_t>(0, text->size() - 1);
  const size_t length = bytes.ConsumeIntegralInRange<size_t>(0, 12);
  switch (bytes.ConsumeIntegralInRange<int>(0, 3)) {
    case 0:
      (*text)[at] = static_cast<char>(bytes.ConsumeIntegral<uint8_t>());
      break;
    case 1:
      text->erase(at, length);
      break;
    case 2:
      text->insert(at,
                   text->substr(bytes.ConsumeIntegralInRange<size_t>(0, text->size() - 1), length));
      break;
    default:
      text->insert(at, bytes.ConsumeRandomLengthString(8));
  }
}

bool HasLongNumber(const std::string& text) {
  int digits = 0;
  for (const char c : text) {
    digits = std::isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    if (digits > kMostDigits) return true;
  }
  return false;
}

std::string DrawFile(FuzzedDataProvider& bytes) {
  Model model(bytes);
  std::string graph = model.Graph();
  const int kind = bytes.ConsumeIntegralInRange<int>(0, 5);
  if (kind == 0) {
    for (int edits = bytes.ConsumeIntegralInRange<int>(1, 3); edits > 0; --edits) {
      std::string changed = graph;
      Mutate(bytes, &changed);
      if (!HasLongNumber(changed)) graph = changed;
    }
  }
  if (kind == 1 && !model.weights().empty()) {
    Weights& w =
        model.weights()[bytes.ConsumeIntegralInRange<size_t>(0, model.weights().size() - 1)];
    const size_t axis = bytes.ConsumeIntegralInRange<size_t>(0, w.shape.size() - 1);
    w.shape[axis] = bytes.ConsumeIntegralInRange<int64_t>(0, kLargest);
    int64_t elements = 1;
    for (const int64_t size : w.shape) elements *= size;
    w.values.resize(elements);
  }
  std::string file = WriteFile(graph, model.weights(), model.version());
  if (kind == 2) {
    for (int edits = bytes.ConsumeIntegralInRange<int>(1, 3); edits > 0; --edits) {
      Mutate(bytes, &file);
    }
  }
  if (kind == 3) file.resize(bytes.ConsumeIntegralInRange<size_t>(0, file.size()));
  return file;
}

struct Free {
  void operator()(RnnStepper* stepper) const { rnn_step_free(stepper); }
};
using Stepper = std::unique_ptr<RnnStepper, Free>;

// Whether a call has succeeded. Otherwise the error is a sentence.
bool Succeeded(int code) {
  if (code == RNN_STEP_OK) return true;
  const std::string message = rnn_step_error();
  Require(code == RNN_STEP_INVALID || code == RNN_STEP_NO_MEMORY, "the code of an error");
  Require(!message.empty() && message.back() == '.', message);
  return false;
}

Stepper Read(const std::string& file, int64_t batch, int64_t time, int threads) {
  // A copy without memory behind it, which the stepper must not need later.
  const Memory copy(static_cast<int64_t>(file.size()));
  std::copy(file.begin(), file.end(), static_cast<char*>(copy.data()));
  RnnStepper* stepper = nullptr;
  const bool succeeded =
      Succeeded(rnn_step_new(copy.data(), file.size(), batch, time, threads, &stepper));
  Require(succeeded == (stepper != nullptr), "an error makes no stepper");
  return Stepper(stepper);
}

using Memories = std::vector<std::unique_ptr<Memory>>;

Memories DrawInputs(FuzzedDataProvider& bytes, const RnnStepper* stepper) {
  Memories inputs;
  for (int k = 0; k < rnn_step_num_inputs(stepper); ++k) {
    const RnnStepTensor tensor = rnn_step_input(stepper, k);
    inputs.push_back(std::make_unique<Memory>(tensor.elements * 4));
    if (tensor.type == RNN_STEP_FLOAT32) {
      FillNumbers(bytes, kFloat32, inputs.back().get());
      continue;
    }
    auto* const words = static_cast<int32_t*>(inputs.back()->data());
    for (int64_t i = 0; i < tensor.elements; ++i) {
      words[i] = bytes.ConsumeIntegralInRange<int32_t>(0, kLargest) - (i == 7 ? 1 : 0);
    }
  }
  return inputs;
}

Memories OutputsOf(const RnnStepper* stepper) {
  Memories outputs;
  for (int k = 0; k < rnn_step_num_outputs(stepper); ++k) {
    outputs.push_back(std::make_unique<Memory>(rnn_step_output(stepper, k).elements * 4));
  }
  return outputs;
}

int Call(RnnStepper* stepper, const Memories& inputs, const Memories& outputs) {
  std::vector<const void*> from;
  std::vector<float*> to;
  for (const auto& input : inputs) from.push_back(input->data());
  for (const auto& output : outputs) to.push_back(static_cast<float*>(output->data()));
  return rnn_step_call(stepper, from.data(), to.data());
}

bool Equal(const Memory& a, const Memory& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// The memory of the inputs and outputs of a call, in elements.
int64_t ElementsOf(const RnnStepper* stepper) {
  int64_t elements = 0;
  for (int k = 0; k < rnn_step_num_inputs(stepper); ++k) {
    elements += rnn_step_input(stepper, k).elements;
  }
  for (int k = 0; k < rnn_step_num_outputs(stepper); ++k) {
    elements += rnn_step_output(stepper, k).elements;
  }
  return elements;
}

void SetStates(FuzzedDataProvider& bytes, const Stepper& first, const Stepper& second) {
  for (int k = 0; k < rnn_step_num_states(first.get()); ++k) {
    const int64_t size = rnn_step_state(first.get(), k).elements * 4;
    Memory given(size), found(size);
    FillNumbers(bytes, kFloat32, &given);
    for (const Stepper* stepper : {&first, &second}) {
      RnnStepper* const s = stepper->get();
      Require(Succeeded(rnn_step_set_state(s, k, static_cast<float*>(given.data()))), "set");
      Require(Succeeded(rnn_step_get_state(s, k, static_cast<float*>(found.data()))), "get");
      Require(Equal(given, found), "a state is what it was set to");
    }
  }
}

void Run(FuzzedDataProvider& bytes) {
  const auto batch = bytes.ConsumeIntegralInRange<int64_t>(0, 5);
  const auto time = bytes.ConsumeIntegralInRange<int64_t>(0, 4);
  const std::string file = DrawFile(bytes);
  const Stepper first = Read(file, batch, time, 1), second = Read(file, batch, time, 2);
  Require((first == nullptr) == (second == nullptr), "threads do not change what is accepted");
  constexpr int64_t kMostElements = 1 << 16;
  if (first == nullptr || ElementsOf(first.get()) > kMostElements) return;
  for (int calls = bytes.ConsumeIntegralInRange<int>(1, 4); calls > 0; --calls) {
    if (bytes.ConsumeIntegralInRange<int>(0, 3) == 0) SetStates(bytes, first, second);
    if (bytes.ConsumeIntegralInRange<int>(0, 3) == 0) {
      const auto row = bytes.ConsumeIntegralInRange<int64_t>(-1, 5);
      const int64_t* rows = bytes.ConsumeBool() ? &row : nullptr;
      const bool succeeded = Succeeded(rnn_step_reset(first.get(), rows, 1));
      Require(succeeded == Succeeded(rnn_step_reset(second.get(), rows, 1)), "reset");
    }
    const Memories inputs = DrawInputs(bytes, first.get());
    const Memories outputs = OutputsOf(first.get()), again = OutputsOf(second.get());
    const bool succeeded = Succeeded(Call(first.get(), inputs, outputs));
    Require(succeeded == Succeeded(Call(second.get(), inputs, again)), "both calls or none");
    for (size_t k = 0; succeeded && k < outputs.size(); ++k) {
      Require(Equal(*outputs[k], *again[k]), "threads do not change the bits");
    }
  }
}

}  // namespace
}  // namespace rnn_ops::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  rnn_ops::fuzzing::Run(bytes);
  return 0;
}
