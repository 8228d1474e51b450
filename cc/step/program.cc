#include "cc/step/program.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cc/core/op/shapes.h"
#include "cc/core/runtime/machine_limits.h"
#include "cc/step/builder.h"

namespace rnn_ops::step {
namespace {

const std::map<std::string, MakeNode>& Makers() {
  static const auto* const makers = new std::map<std::string, MakeNode>{
      {"rnn", MakeRnnNode},
      {"dense", MakeDenseNode},
      {"quantized_dense", MakeQuantizedDenseNode},
      {"conv", MakeConvNode},
      {"activation", MakeActivationNode},
      {"scale", MakeScaleNode},
      {"norm", MakeNormNode},
      {"embedding", MakeEmbeddingNode},
      {"cast", MakeCastNode},
      {"combine", MakeCombineNode},
      {"concatenate", MakeConcatenateNode},
      {"reshape", MakeReshapeNode},
      {"last_step", MakeLastStepNode},
      {"lengths", MakeLengthsNode},
      {"mask", MakeMaskNode},
      {"reverse", MakeReverseNode},
      {"crop", MakeCropNode},
      {"repeat", MakeRepeatNode},
      {"pool", MakePoolNode},
      {"permute", MakePermuteNode},
  };
  return *makers;
}

std::string ToText(const std::vector<int64_t>& shape) { return ToString(PartialShape::Of(shape)); }

Status TooLarge(const Program& program, const std::string& what) {
  return InvalidArgument("with batch_size ", program.batch, " and time ", program.max_time, ", ",
                         what, " would be too large for the memory");
}

// Sets the sizes of a value. Its memory comes later, because outputs need none.
Status SetSizes(Program* program, bool has_time, const std::vector<int64_t>& dims, Value* value) {
  value->has_time = has_time;
  value->dims = dims;
  value->rows = program->batch * (has_time ? program->max_time : 1);
  value->row_elements = CountElements(dims);
  const int64_t bytes = CountElements({value->rows, value->row_elements, 4});
  const bool fits = value->row_elements >= 0 && bytes >= 0 && program->weights->memory.Plan(bytes);
  return fits ? Status() : TooLarge(*program, "'" + value->name + "'");
}

// Keeps a value until a node, and with it the value whose elements it has.
void Need(Value* value, int64_t node) {
  for (; value != nullptr; value = value->alias) value->last = node;
}

std::vector<int64_t> ShapeOf(const Program& program, const Value& value) {
  std::vector<int64_t> shape = {program.batch};
  if (value.has_time) shape.push_back(program.max_time);
  shape.insert(shape.end(), value.dims.begin(), value.dims.end());
  return shape;
}

// B or T: the number that the caller asks for, or that of the file, or 1.
Status ChooseSize(const ModelFile& file, const char* name, int64_t wanted, int64_t* size) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  const Json* const field = file.graph.Find(name);
  int64_t of_file = 0;
  if (field != nullptr && field->kind() != Json::Kind::kNull) {
    RNN_OPS_RETURN_IF_ERROR(Read(*field, name, &of_file));
    if (of_file < 1) return InvalidArgument(name, " is ", of_file);
  }
  if (wanted != 0 && of_file != 0 && wanted != of_file) {
    const char* const argument = std::strcmp(name, "window") == 0 ? "time" : name;
    return InvalidArgument(argument, " must be ", of_file, ", which the file fixes, but it is ",
                           wanted, ": export the model with ", argument, "=", wanted);
  }
  *size = std::max<int64_t>(wanted, std::max<int64_t>(of_file, 1));
  if (wanted < 0 || *size > kLargest) {
    return InvalidArgument(name, " must be from 1 to 2^30, but it is ",
                           wanted < 0 ? wanted : *size);
  }
  return Status();
}

// The free places of a block of memory.
class Places {
 public:
  // The first free place, or one at the end.
  int64_t Take(int64_t size) {
    for (auto place = free_.begin(); place != free_.end(); ++place) {
      const auto [begin, end] = *place;
      if (end - begin < size) continue;
      free_.erase(place);
      if (begin + size < end) free_[begin + size] = end;
      return begin;
    }
    bytes_ += size;
    return bytes_ - size;
  }

  void GiveBack(int64_t begin, int64_t size) {
    if (size == 0) return;
    auto place = free_.emplace(begin, begin + size).first;
    const auto next = std::next(place);
    if (next != free_.end() && next->first == place->second) {
      place->second = next->second;
      free_.erase(next);
    }
    if (place == free_.begin()) return;
    const auto before = std::prev(place);
    if (before->second != place->first) return;
    before->second = place->second;
    free_.erase(place);
  }

  int64_t bytes() const { return bytes_; }

 private:
  std::map<int64_t, int64_t> free_;  // the ends by the begins
  int64_t bytes_ = 0;
};

class Builder {
 public:
  Builder(const ModelFile& file, Program* program) : file_(file), program_(*program) {}

  Status Build() {
    const Json* nodes = nullptr;
    RNN_OPS_RETURN_IF_ERROR(List("inputs", &nodes));
    for (const Json& input : nodes->items()) RNN_OPS_RETURN_IF_ERROR(AddInput(input));
    RNN_OPS_RETURN_IF_ERROR(List("nodes", &nodes));
    for (const Json& node : nodes->items()) RNN_OPS_RETURN_IF_ERROR(AddNode(node));
    RNN_OPS_RETURN_IF_ERROR(List("outputs", &nodes));
    for (const Json& output : nodes->items()) RNN_OPS_RETURN_IF_ERROR(AddOutput(output));
    if (program_.inputs.empty()) return InvalidArgument("there is no input");
    if (program_.outputs.empty()) return InvalidArgument("there is no output");
    return AllocateValues();
  }

 private:
  Status List(const char* name, const Json** list) const {
    *list = file_.graph.Find(name);
    if (*list == nullptr || (*list)->kind() != Json::Kind::kArray) {
      return InvalidArgument("the field '", name, "' must be a list");
    }
    return Status();
  }

  Status AddInput(const Json& input) {
    std::string name, type;
    bool has_time = false;
    std::vector<int64_t> dims;
    RNN_OPS_RETURN_IF_ERROR(ReadField(input, "name", &name));
    RNN_OPS_RETURN_IF_ERROR(ReadField(input, "dtype", &type));
    RNN_OPS_RETURN_IF_ERROR(ReadField(input, "has_time", &has_time));
    RNN_OPS_RETURN_IF_ERROR(ReadField(input, "dims", &dims));
    if (type != "float32" && type != "int32") {
      return InvalidArgument("input '", name, "' must be float32 or int32, but it is ", type);
    }
    if (has_time && program_.is_window) {
      return InvalidArgument("input '", name, "' has the steps of a stream, in a model of windows");
    }
    auto value = std::make_unique<Value>();
    value->name = name;
    value->first = -1;
    value->type = type == "int32" ? ElementType::kOther : ElementType::kFloat32;
    RNN_OPS_RETURN_IF_ERROR(SetSizes(&program_, has_time, dims, value.get()));
    if (!values_.emplace(name, value.get()).second) {
      return InvalidArgument("two inputs are named '", name, "'");
    }
    program_.inputs.push_back(value.get());
    inputs_.insert(value.get());
    program_.input_shapes.push_back(ShapeOf(program_, *value));
    program_.input_bytes.push_back(value->elements() * 4);
    program_.values.push_back(std::move(value));
    return Status();
  }

  Status AddNode(const Json& json) {
    std::string op, name;
    RNN_OPS_RETURN_IF_ERROR(ReadField(json, "op", &op));
    RNN_OPS_RETURN_IF_ERROR(ReadField(json, "name", &name));
    const auto maker = Makers().find(op);
    if (maker == Makers().end()) {
      return InvalidArgument("node '", name, "' has the unknown op '", op, "'");
    }
    NodeReader reader(file_, json, &program_, &values_, &states_);
    std::unique_ptr<Node> node;
    Status status = maker->second(&reader, &node);
    if (status.ok()) status = reader.CheckAllWeightsRead();
    if (!status.ok()) return Status(status.code(), StrCat("node '", name, "': ", status.message()));
    program_.nodes.push_back(std::move(node));
    return Status();
  }

  Status AddOutput(const Json& json) {
    std::string name, from;
    RNN_OPS_RETURN_IF_ERROR(ReadField(json, "name", &name));
    RNN_OPS_RETURN_IF_ERROR(ReadField(json, "value", &from));
    const auto found = values_.find(from);
    if (found == values_.end()) return InvalidArgument("output '", name, "' is no value");
    Value* const value = found->second;
    if (value->type != ElementType::kFloat32) {
      return InvalidArgument("output '", name, "' is not float32");
    }
    const bool is_part = program_.last_step && value->has_time;
    const bool in_place = !is_part && inputs_.count(value) == 0 && written_.insert(value).second;
    if (!outputs_.insert(name).second) {
      return InvalidArgument("two outputs are named '", name, "'");
    }
    // Copied at the end of the call.
    if (!in_place) Need(value, static_cast<int64_t>(program_.nodes.size()));
    std::vector<int64_t> shape = ShapeOf(program_, *value);
    if (is_part) shape.erase(shape.begin() + 1);
    const int64_t elements = is_part ? program_.batch * value->row_elements : value->elements();
    program_.outputs.push_back({name, value, std::move(shape), elements * 4, in_place});
    return Status();
  }

  // Places the values of Note [Memory of values], which are in the order of their nodes.
  Status AllocateValues() {
    Memory* const memory = &program_.weights->memory;
    memory->ForgetPlan();
    Places places;
    std::map<const Value*, int64_t> begins;
    std::multimap<int64_t, Value*> needed;  // by the last node
    for (const auto& owned : program_.values) {
      Value* const value = owned.get();
      if (written_.count(value) > 0) value->alias = nullptr;
      // The memory of these is set in a call.
      if (written_.count(value) > 0 || inputs_.count(value) > 0 || value->alias != nullptr)
        continue;
      while (!needed.empty() && needed.begin()->first < value->first) {
        const Value* const old = needed.begin()->second;
        places.GiveBack(begins[old], BytesOf(*old));
        needed.erase(needed.begin());
      }
      const auto over = begins.find(value->over);
      if (over != begins.end() && value->over->last == value->first) {
        // The place changes hands.
        const auto range = needed.equal_range(value->first);
        needed.erase(std::find_if(range.first, range.second,
                                  [&](const auto& entry) { return entry.second == value->over; }));
        begins[value] = over->second;
      } else {
        begins[value] = places.Take(BytesOf(*value));
      }
      needed.emplace(value->last, value);
    }
    RNN_OPS_RETURN_IF_ERROR(program_.value_memory.Resize(places.bytes(), memory));
    for (const auto& value : program_.values) {
      const auto found = begins.find(value.get());
      if (found != begins.end()) value->data = program_.value_memory.as<char>() + found->second;
    }
    return Status();
  }

  // Whole cache lines.
  static int64_t BytesOf(const Value& value) { return (value.elements() * 4 + 63) / 64 * 64; }

  const ModelFile& file_;
  Program& program_;
  std::map<std::string, Value*> values_;
  std::set<std::string> states_;  // their names
  std::set<const Value*> inputs_;
  std::set<const Value*> written_;  // where the caller wants them
  std::set<std::string> outputs_;   // their names
};

}  // namespace

Memory::Memory() : most_(AvailableMemory() / 2) {}

bool Memory::Plan(int64_t bytes) {
  return !__builtin_add_overflow(planned_, bytes, &planned_) && HasRoom(0);
}

bool Memory::Take(int64_t bytes) {
  if (!HasRoom(bytes)) return false;
  taken_ += bytes;
  return true;
}

Status Block::Resize(int64_t bytes, Memory* memory) {
  constexpr int64_t kAlignment = 64;
  data_.reset();
  bytes_ = 0;
  const int64_t size = std::max<int64_t>(1, (bytes + kAlignment - 1) / kAlignment) * kAlignment;
  if (memory->Take(size)) {
    data_ = {std::aligned_alloc(kAlignment, size), Free{memory, size}};
    if (data_ == nullptr) memory->GiveBack(size);
  }
  if (data_ == nullptr) {
    return ResourceExhausted("there is not enough memory for ", bytes, " bytes");
  }
  bytes_ = bytes;
  std::memset(data_.get(), 0, size);
  return Status();
}

Status BuildProgram(const ModelFile& file, int64_t batch, int64_t max_time, int threads,
                    Program* program) {
  program->threads = threads;
  RNN_OPS_RETURN_IF_ERROR(ChooseSize(file, "batch_size", batch, &program->batch));
  program->is_window = file.version == kWindowVersion;
  const char* const time = program->is_window ? "window" : "time";
  if (program->is_window && file.graph.Find(time) == nullptr) {
    return InvalidArgument("the field 'window' is missing");
  }
  RNN_OPS_RETURN_IF_ERROR(ChooseSize(file, time, max_time, &program->max_time));
  RNN_OPS_RETURN_IF_ERROR(Builder(file, program).Build());
  program->weights->complete = true;
  return Status();
}

Status NodeReader::Inputs(size_t count, std::vector<Value*>* inputs, bool tokens) const {
  std::vector<std::string> names;
  RNN_OPS_RETURN_IF_ERROR(Field("inputs", &names));
  if (names.empty() || (count > 0 && names.size() != count)) {
    return InvalidArgument("it has ", names.size(), " inputs");
  }
  for (const std::string& name : names) {
    RNN_OPS_RETURN_IF_ERROR(Find(name, &inputs->emplace_back()));
    const bool is_float = inputs->back()->type == ElementType::kFloat32;
    if (is_float == tokens) {
      return InvalidArgument("its input '", name, "' must be ", tokens ? "int32" : "float32");
    }
  }
  return Status();
}

Status NodeReader::Find(const std::string& name, Value** value) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return InvalidArgument("its input '", name, "' is no value");
  *value = found->second;
  Need(*value, number());
  return Status();
}

Status NodeReader::InputsOfWindow(size_t most, std::vector<Value*>* inputs, Value** lengths) const {
  std::vector<std::string> names;
  bool has_lengths = false;
  *lengths = nullptr;
  RNN_OPS_RETURN_IF_ERROR(Field("inputs", &names));
  if (Has("lengths")) RNN_OPS_RETURN_IF_ERROR(Field("lengths", &has_lengths));
  if (has_lengths && !names.empty()) {
    RNN_OPS_RETURN_IF_ERROR(Find(names.back(), lengths));
    if ((*lengths)->most_steps == 0) {
      return InvalidArgument("its input '", names.back(), "' must be the lengths of a mask");
    }
    names.pop_back();
  }
  if (names.empty() || names.size() > most) {
    return InvalidArgument("it has ", names.size(), " inputs");
  }
  for (const std::string& name : names) {
    RNN_OPS_RETURN_IF_ERROR(Find(name, &inputs->emplace_back()));
    if (inputs->back()->type != ElementType::kFloat32) {
      return InvalidArgument("its input '", name, "' must be float32");
    }
  }
  return Status();
}

Status NodeReader::InputOfWindow(Value** input, Value** lengths) const {
  std::vector<Value*> inputs;
  RNN_OPS_RETURN_IF_ERROR(InputsOfWindow(1, &inputs, lengths));
  *input = inputs[0];
  return CheckSequence(**input, *lengths);
}

Status NodeReader::CheckSequence(const Value& value, const Value* lengths) const {
  constexpr int64_t kMostSteps = int64_t{1} << 30;
  if (value.has_time || value.dims.empty() || value.row_elements < 1 ||
      value.steps() > kMostSteps) {
    return InvalidArgument("its input must be a window of at least one step");
  }
  if (lengths != nullptr && lengths->most_steps > value.steps()) {
    return InvalidArgument("its lengths are those of ", lengths->most_steps,
                           " steps, but its input has ", value.steps());
  }
  return Status();
}

Status NodeReader::Input(Value** input) const {
  std::vector<Value*> inputs;
  RNN_OPS_RETURN_IF_ERROR(Inputs(1, &inputs));
  *input = inputs[0];
  return Status();
}

bool NodeReader::WantsOutput(size_t k) const {
  const Json* const outputs = node_.Find("outputs");
  if (outputs == nullptr || outputs->kind() != Json::Kind::kArray) return false;
  std::string name;
  return k < outputs->items().size() && Read(outputs->items()[k], "", &name).ok() && !name.empty();
}

Status NodeReader::Output(size_t k, bool has_time, const std::vector<int64_t>& dims,
                          Value** value) {
  std::vector<std::string> names;
  RNN_OPS_RETURN_IF_ERROR(Field("outputs", &names));
  if (k >= names.size()) return InvalidArgument("it has ", names.size(), " outputs");
  auto made = std::make_unique<Value>();
  made->name = names[k];
  made->first = made->last = number();
  RNN_OPS_RETURN_IF_ERROR(SetSizes(&program_, has_time, dims, made.get()));
  // An empty name is that of an output that no node reads.
  if (!made->name.empty() && !values_.emplace(made->name, made.get()).second) {
    return InvalidArgument("there are two values '", made->name, "'");
  }
  *value = made.get();
  program_.values.push_back(std::move(made));
  return Status();
}

Status NodeReader::OutputOver(Value* input, Value** value) {
  RNN_OPS_RETURN_IF_ERROR(Output(0, input->has_time, input->dims, value));
  // WHY not over another value of the same memory: the value itself may be needed later.
  if (input->alias == nullptr) (*value)->over = input;
  return Status();
}

Status NodeReader::OutputOfSameElements(Value* input, const std::vector<int64_t>& dims,
                                        Value** value) {
  RNN_OPS_RETURN_IF_ERROR(Output(0, input->has_time, dims, value));
  (*value)->alias = input;
  return Status();
}

Status NodeReader::Weights(const std::string& name, const StoredTensor** tensor) const {
  *tensor = nullptr;
  read_.insert(name);
  const Json* const weights = node_.Find("weights");
  const Json* const field = weights == nullptr ? nullptr : weights->Find(name);
  if (field == nullptr) return Status();
  std::string in_file;
  RNN_OPS_RETURN_IF_ERROR(Read(*field, "'" + name + "'", &in_file));
  const auto found = file_.tensors.find(in_file);
  if (found == file_.tensors.end()) {
    return InvalidArgument("the file has no tensor '", in_file, "'");
  }
  *tensor = &found->second;
  return Status();
}

Status NodeReader::FindWeights(const std::string& name, const std::vector<int64_t>& shape,
                               bool optional, const StoredTensor** tensor) const {
  RNN_OPS_RETURN_IF_ERROR(Weights(name, tensor));
  if (*tensor == nullptr) {
    return optional ? Status() : InvalidArgument("it has no weights '", name, "'");
  }
  if ((*tensor)->shape == shape && (*tensor)->type == ElementType::kFloat32) return Status();
  return InvalidArgument("'", name, "' must be float32 of the shape ", ToText(shape),
                         ", but its shape is ", ToText((*tensor)->shape));
}

Status NodeReader::Weights(const std::string& name, const std::vector<int64_t>& shape, Block* copy,
                           bool optional) const {
  const StoredTensor* tensor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(FindWeights(name, shape, optional, &tensor));
  if (tensor == nullptr || !WritesWeights()) return Status();
  RNN_OPS_RETURN_IF_ERROR(copy->Resize(tensor->bytes(), memory()));
  if (tensor->bytes() > 0) std::memcpy(copy->as<void>(), tensor->data, tensor->bytes());
  return Status();
}

Status NodeReader::Weights(const std::string& name, const std::vector<int64_t>& shape,
                           SharedBlock* shared, bool optional) const {
  const StoredTensor* tensor = nullptr;
  RNN_OPS_RETURN_IF_ERROR(FindWeights(name, shape, optional, &tensor));
  return tensor == nullptr ? Status() : Share(*tensor, shared);
}

Status NodeReader::Share(int64_t bytes, SharedBlock* shared) const {
  std::vector<Block>& blocks = program_.weights->blocks;
  if (WritesWeights()) RNN_OPS_RETURN_IF_ERROR(blocks.emplace_back().Resize(bytes, memory()));
  *shared = SharedBlock(blocks[program_.next_block++]);
  return Status();
}

Status NodeReader::Share(const StoredTensor& tensor, SharedBlock* shared) const {
  RNN_OPS_RETURN_IF_ERROR(Share(tensor.bytes(), shared));
  if (WritesWeights() && tensor.bytes() > 0) {
    std::memcpy(shared->as<void>(), tensor.data, tensor.bytes());
  }
  return Status();
}

Status NodeReader::CheckAllWeightsRead() const {
  const Json* const weights = node_.Find("weights");
  if (weights == nullptr || weights->kind() != Json::Kind::kObject) return Status();
  for (const auto& [name, tensor] : weights->fields()) {
    if (read_.count(name) == 0) return InvalidArgument("it has unknown weights '", name, "'");
  }
  return Status();
}

Status NodeReader::Scratch(const std::string& what, int64_t rows, int64_t row_bytes,
                           Value** scratch) {
  auto made = std::make_unique<Value>();
  made->first = made->last = number();
  made->rows = rows;
  made->row_elements = (row_bytes + 3) / 4;
  const int64_t bytes = CountElements({rows, made->row_elements, 4});
  if (bytes < 0 || !memory()->Plan(bytes)) return TooLarge(program_, what);
  *scratch = made.get();
  program_.values.push_back(std::move(made));
  return Status();
}

Status NodeReader::Allocate(const std::string& what, const std::vector<int64_t>& sizes,
                            Block* block) {
  const int64_t bytes = CountElements(sizes);
  if (bytes < 0 || !memory()->HasRoom(bytes)) return TooLarge(program_, what);
  return block->Resize(bytes, memory());
}

Status NodeReader::NewState(size_t k, const std::vector<int64_t>& dims, State** state) {
  std::vector<std::string> names;
  RNN_OPS_RETURN_IF_ERROR(Field("states", &names));
  if (k >= names.size()) return InvalidArgument("it has ", names.size(), " states");
  auto made = std::make_unique<State>();
  made->name = names[k];
  if (!states_.insert(made->name).second) {
    return InvalidArgument("two states are named '", made->name, "'");
  }
  made->shape = dims;
  made->shape.insert(made->shape.begin(), program_.batch);
  made->elements = CountElements(made->shape);
  made->offset = program_.state_elements;
  // In units of the alignment. A stream and a call need such memory.
  const int64_t elements = (made->elements + 15) / 16 * 16;
  const int64_t bytes = CountElements({2, program_.state_elements + elements, sizeof(float)});
  if (made->elements < 0 || bytes < 0 || !memory()->HasRoom(bytes)) {
    return TooLarge(program_, "the state '" + made->name + "'");
  }
  program_.state_elements += elements;
  *state = made.get();
  program_.states.push_back(std::move(made));
  return Status();
}

}  // namespace rnn_ops::step
