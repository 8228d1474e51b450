// Recurrent layers and stacks, on the kernels of this machine.

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

// The ops with packed weights, which have no masks and no seeds.
const OpSpec* FindOp(const std::string& kind) {
  if (kind == "LayerRNN") return &kLayerRnnPacked;
  if (kind == "QuantizedLayerRNN") return &kQuantizedLayerRnn;
  if (kind == "CudnnRNNV3") return &kCudnnRnnV3Packed;
  return nullptr;
}

bool IsWeight(Arg arg) {
  return arg != Arg::input && arg != Arg::input_h && arg != Arg::input_c &&
         arg != Arg::sequence_lengths && arg != Arg::packed;
}

class RnnNode : public Node {
 public:
  Status Make(NodeReader* reader);
  Status Run(const Call& call) override;

 private:
  Status ReadShapes(const NodeReader& reader, const OpSpec& op, const RnnAttrs& attrs,
                    CallShapes* shapes);
  // Sets the inputs of tensors_ that are weights. The matrices are copied for Pack().
  Status ReadWeights(const NodeReader& reader, const OpSpec& op, std::vector<Block>* matrices);
  Status Pack(const NodeReader& reader);
  // Makes the plan of all calls, or of those whose sequences have all steps.
  Status Plan(NodeReader* reader);
  // The memory of a plan for `sum` steps.
  int64_t PlanBytes(int64_t sum, int threads);
  // Makes the plan of a call, in the memory that Plan() has allocated.
  void PlanForLengths();
  // Reads the values before the first step: those of a stream, or of a window.
  Status MakeStates(NodeReader* reader, int k, const std::vector<int64_t>& dims);
  const float* Before(int k, const Call& call) const {
    if (states_[k] != nullptr) return call.before(*states_[k]);
    return initial_[k] != nullptr ? initial_[k]->in() : zeros_[k].as<float>();
  }
  float* After(int k, const Call& call) const {
    return states_[k] != nullptr ? call.after(*states_[k]) : after_[k]->out();
  }

  int64_t time_ = 0, inputs_ = 0;  // T and I
  Value* input_ = nullptr;
  Value* lengths_ = nullptr;  // of a mask
  Value* output_ = nullptr;
  Value* outputs_of_states_[2] = {};
  int num_states_ = 0;
  int64_t state_elements_[2] = {};
  State* states_[2] = {};  // null in a window, which begins with other values, or with zeros
  Value* initial_[2] = {};
  Value* after_[2] = {};
  SharedBlock zeros_[2];
  CallTensors tensors_;
  cpu::RnnArgs args_ = {};
  SharedBlock panels_;
  int threads_ = 1;
  int64_t plan_bytes_ = 0;
  Block plan_;
};

Status RnnNode::ReadShapes(const NodeReader& reader, const OpSpec& op, const RnnAttrs& attrs,
                           CallShapes* found) {
  // The sizes of the states follow from the weights.
  int64_t num_units = 0, hidden = 0, layers = 1;
  const bool is_stack = op.family == OpFamily::kCudnnRnn;
  if (is_stack) {
    RNN_OPS_RETURN_IF_ERROR(reader.Field("num_layers", &layers));
    RNN_OPS_RETURN_IF_ERROR(reader.Field("num_units", &num_units));
    hidden = attrs.num_proj > 0 ? attrs.num_proj : num_units;
    if (layers < 1 || num_units < 1 || layers > kMostElements || num_units > kMostElements) {
      return InvalidArgument("num_layers and num_units must be at least 1");
    }
  } else {
    const StoredTensor* recurrent = nullptr;
    RNN_OPS_RETURN_IF_ERROR(reader.Weights("recurrent_kernel", &recurrent));
    if (recurrent == nullptr || recurrent->shape.size() != 2) {
      return InvalidArgument("it has no matrix 'recurrent_kernel'");
    }
    hidden = recurrent->shape[0];
    num_units = recurrent->shape[1] / attrs.num_gates();
  }
  const int64_t B = reader.batch();
  const auto state = [&](int64_t size) {
    return is_stack ? PartialShape::Of({B, layers * attrs.num_dirs(), size})
                    : PartialShape::Of({B, size});
  };
  std::vector<PartialShape> shapes;
  for (const TensorSpec& spec : op.inputs) {
    PartialShape shape = PartialShape::Of({0});
    if (spec.arg == Arg::input) {
      shape = PartialShape::Of({B, time_, inputs_});
    } else if (spec.arg == Arg::input_h) {
      shape = state(hidden);
    } else if (spec.arg == Arg::input_c) {
      shape = state(num_units);
    } else if (spec.arg == Arg::sequence_lengths && is_stack) {
      shape = PartialShape::Of({B});
    } else if (IsWeight(spec.arg)) {
      const StoredTensor* tensor = nullptr;
      RNN_OPS_RETURN_IF_ERROR(reader.Weights(std::string(spec.name()), &tensor));
      if (tensor != nullptr) shape = PartialShape::Of(tensor->shape);
    }
    shapes.push_back(shape);
  }
  return InferShapes(op, attrs, shapes, found);
}

// Whether the panels replace the weights.
bool IsPacked(Arg arg) {
  return arg != Arg::peepholes && arg != Arg::layer_norm && arg != Arg::bias;
}

Status RnnNode::ReadWeights(const NodeReader& reader, const OpSpec& op,
                            std::vector<Block>* matrices) {
  for (const TensorSpec& spec : op.inputs) {
    const StoredTensor* tensor = nullptr;
    if (!IsWeight(spec.arg)) continue;
    RNN_OPS_RETURN_IF_ERROR(reader.Weights(std::string(spec.name()), &tensor));
    if (tensor == nullptr) continue;
    const ElementType type = spec.TypeIn(kFloat32);
    if (tensor->type != type) return InvalidArgument("'", spec.name(), "' has another type");
    SharedBlock data;
    if (!IsPacked(spec.arg)) {
      RNN_OPS_RETURN_IF_ERROR(reader.Share(*tensor, &data));
    } else {
      Block& copy = matrices->emplace_back();
      const int64_t bytes = reader.WritesWeights() ? tensor->bytes() : 0;
      RNN_OPS_RETURN_IF_ERROR(copy.Resize(bytes, reader.memory()));
      if (bytes > 0) std::memcpy(copy.as<void>(), tensor->data, bytes);
      data = SharedBlock(copy);
    }
    if (tensor->elements > 0) {
      tensors_.SetInput(spec.arg, data.as<void>(), type, tensor->elements);
    }
  }
  return Status();
}

Status RnnNode::Pack(const NodeReader& reader) {
  const cpu::PackedFormat format = cpu::Kernels().rnn_packed_format(&args_.problem);
  if (format.bytes < 0) return InvalidArgument("its weights are too large");
  RNN_OPS_RETURN_IF_ERROR(reader.Share(format.bytes, &panels_));
  args_.panels = panels_.as<void>();
  Team team(1, nullptr);
  args_.parallel = cpu::ParallelForOf(&team);
  // Float32 weights are packed without scratch memory.
  args_.memory = {nullptr, [](void*, const cpu::MemorySizes& sizes, cpu::MemoryBlocks*) {
                    return sizes.scratch_bytes == 0;
                  }};
  if (reader.WritesWeights() && cpu::Kernels().rnn_pack(&args_) != cpu::kDone) {
    return ResourceExhausted("there is not enough memory to pack its weights");
  }
  args_.problem.weights_packed = true;
  return Status();
}

Status RnnNode::Make(NodeReader* reader) {
  std::string kind;
  RNN_OPS_RETURN_IF_ERROR(reader->Field("kind", &kind));
  const OpSpec* const op = FindOp(kind);
  if (op == nullptr) return InvalidArgument("its kind '", kind, "' is unknown");
  std::vector<Value*> inputs;
  RNN_OPS_RETURN_IF_ERROR(reader->InputsOfWindow(3, &inputs, &lengths_));
  input_ = inputs[0];
  if (input_->dims.size() != (input_->has_time ? 1 : 2) ||
      (input_->has_time && (inputs.size() > 1 || lengths_ != nullptr))) {
    return InvalidArgument("its input must have the shape [B, T, I]");
  }
  if (!input_->has_time) RNN_OPS_RETURN_IF_ERROR(reader->CheckSequence(*input_, lengths_));
  std::copy(inputs.begin() + 1, inputs.end(), initial_);
  time_ = input_->has_time ? reader->max_time() : input_->steps();
  inputs_ = input_->columns();
  const Json* const fields = reader->json().Find("attrs");
  if (fields == nullptr) return InvalidArgument("the field 'attrs' is missing");
  RnnAttrs attrs;
  const auto get = [fields](const char* name, auto* value) {
    return ReadField(*fields, name, value);
  };
  AttrSet has = op->attrs;
  has.time_major = false;
  RNN_OPS_RETURN_IF_ERROR(ReadAttrs(has, get, &attrs));
  attrs.time_major = false;
  if (op->family == OpFamily::kCudnnRnn && !FactsOf(attrs.mode).in_cudnn) {
    return InvalidArgument("a CudnnRNNV3 has no rnn_mode '", FactsOf(attrs.mode).name, "'");
  }
  if (attrs.direction != Direction::kUnidirectional && input_->has_time) {
    return InvalidArgument("it reads its input backwards too, from the last step of a stream");
  }
  CallShapes shapes;
  RNN_OPS_RETURN_IF_ERROR(ReadShapes(*reader, *op, attrs, &shapes));

  std::vector<Block> matrices;
  RNN_OPS_RETURN_IF_ERROR(ReadWeights(*reader, *op, &matrices));
  args_.tensors = &tensors_;
  args_.problem = cpu::MakeRnnProblem(shapes.config, kFloat32, tensors_);
  args_.problem.lengths.sum = reader->batch() * time_;
  RNN_OPS_RETURN_IF_ERROR(Pack(*reader));
  matrices.clear();
  // The kernels no longer read the matrices, but they see that the call has them.
  for (const TensorSpec& spec : op->inputs) {
    if (!IsWeight(spec.arg) || !IsPacked(spec.arg) || tensors_.in(spec.arg) == nullptr) continue;
    tensors_.SetInput(spec.arg, panels_.as<void>(), tensors_.in_type(spec.arg),
                      tensors_.in_elements(spec.arg));
  }

  const RnnConfig& config = shapes.config;
  std::vector<int64_t> output = {config.output_size()};
  if (!input_->has_time) output.insert(output.begin(), time_);
  RNN_OPS_RETURN_IF_ERROR(reader->Output(0, input_->has_time, output, &output_));
  num_states_ = FactsOf(config.mode).has_c ? 2 : 1;
  if (inputs.size() > 1 && static_cast<int>(inputs.size()) != 1 + num_states_) {
    return InvalidArgument("it has ", inputs.size() - 1, " initial states instead of ",
                           num_states_);
  }
  const int64_t sizes[2] = {config.hidden_size(), config.num_units};
  for (int k = 0; k < num_states_; ++k) {
    std::vector<int64_t> dims = {sizes[k]};
    if (op->family == OpFamily::kCudnnRnn) dims.insert(dims.begin(), config.num_pseudo_layers());
    if (reader->WantsOutput(k + 1)) {
      RNN_OPS_RETURN_IF_ERROR(reader->Output(k + 1, false, dims, &outputs_of_states_[k]));
    }
    RNN_OPS_RETURN_IF_ERROR(MakeStates(reader, k, dims));
  }
  return Plan(reader);
}

Status RnnNode::MakeStates(NodeReader* reader, int k, const std::vector<int64_t>& dims) {
  state_elements_[k] = CountElements({reader->batch(), CountElements(dims)});
  if (input_->has_time) return reader->NewState(k, dims, &states_[k]);
  if (state_elements_[k] < 0) return InvalidArgument("its states are too large");
  after_[k] = outputs_of_states_[k];
  if (after_[k] == nullptr) {
    RNN_OPS_RETURN_IF_ERROR(
        reader->Scratch("its states", reader->batch(), CountElements(dims) * 4, &after_[k]));
  }
  if (initial_[k] == nullptr) return reader->Share(state_elements_[k] * 4, &zeros_[k]);
  if (initial_[k]->has_time || initial_[k]->row_elements != CountElements(dims)) {
    return InvalidArgument("its initial states have other sizes");
  }
  return Status();
}

int64_t RnnNode::PlanBytes(int64_t sum, int threads) {
  args_.problem.lengths.sum = sum;
  // The costs of warm threads: a run with cold ones still wakes no thread that is not worth it.
  args_.parallel.threads = {threads, cpu::WakeNs(/*warm=*/true), cpu::kMeetNs};
  return cpu::Kernels().rnn_plan_size(&args_).scratch_bytes;
}

Status RnnNode::Plan(NodeReader* reader) {
  threads_ = reader->threads();
  const int64_t sum = args_.problem.lengths.sum;
  if (lengths_ != nullptr) {
    // On one thread, fewer steps need less memory, but all steps may have a plan of another kind.
    plan_bytes_ =
        std::max({PlanBytes(sum - 1, threads_), PlanBytes(sum - 1, 1), PlanBytes(sum, 1)});
  }
  plan_bytes_ = std::max(plan_bytes_, PlanBytes(sum, threads_));
  RNN_OPS_RETURN_IF_ERROR(reader->Allocate("the memory of a call", {plan_bytes_}, &plan_));
  cpu::Kernels().rnn_plan_init(&args_, plan_.as<void>());
  return Status();
}

void RnnNode::PlanForLengths() {
  const int64_t sum = args_.problem.lengths.sum;
  if (PlanBytes(sum, threads_) > plan_bytes_) PlanBytes(sum, 1);  // sets one thread
  cpu::Kernels().rnn_plan_init(&args_, plan_.as<void>());
}

Status RnnNode::Run(const Call& call) {
  constexpr Arg kBefore[] = {Arg::input_h, Arg::input_c};
  constexpr Arg kAfter[] = {Arg::output_h, Arg::output_c};
  const auto type = ElementType::kFloat32;
  tensors_.SetInput(Arg::input, input_->in(), type, input_->elements());
  tensors_.SetOutput(Arg::output, output_->out(), type, output_->elements());
  for (int k = 0; k < num_states_; ++k) {
    tensors_.SetInput(kBefore[k], Before(k, call), type, state_elements_[k]);
    tensors_.SetOutput(kAfter[k], After(k, call), type, state_elements_[k]);
  }
  if (lengths_ != nullptr) {
    const int32_t* const steps = lengths_->in<int32_t>();
    args_.problem.lengths = {steps, std::accumulate(steps, steps + lengths_->rows, int64_t{0})};
  }
  const auto run = [&] {
    args_.parallel = cpu::ParallelForOf(call.team);
    return cpu::Kernels().rnn_plan_run(&args_, plan_.as<void>(), /*reserve=*/nullptr);
  };
  int32_t code = run();
  if (code == cpu::kOtherLengths) {
    PlanForLengths();
    code = run();
  }
  if (code != cpu::kDone) {
    return Internal("The ", cpu::Kernels().isa, " kernels returned code ", code, ".");
  }
  for (int k = 0; k < 2; ++k) {
    if (outputs_of_states_[k] == nullptr || states_[k] == nullptr) continue;
    std::memcpy(outputs_of_states_[k]->out(), call.after(*states_[k]), states_[k]->elements * 4);
  }
  return Status();
}

}  // namespace

Status MakeRnnNode(NodeReader* reader, std::unique_ptr<Node>* node) {
  return MakeNodeOf<RnnNode>(reader, node);
}

}  // namespace rnn_ops::step
