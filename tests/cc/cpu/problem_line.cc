#include "tests/cc/cpu/problem_line.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "cc/core/op/dropout.h"

namespace rnn_ops::cpu::testing {
namespace {

// In the order of RnnMode: the names of kCellFacts without "rnn_".
const std::vector<std::string> kCells = [] {
  std::vector<std::string> cells;
  for (const CellFacts& facts : kCellFacts) {
    const std::string name = facts.name;
    cells.push_back(name.rfind("rnn_", 0) == 0 ? name.substr(4) : name);
  }
  return cells;
}();
const std::vector<std::string> kActivations = {
    "tanh", "sigmoid", "hard_sigmoid", "hard_sigmoid_keras2", "relu", "linear"};
// In the order of Dtype, and then int8: float32 tensors and int8 weights.
const std::vector<std::string> kTypes = {"float32", "float64", "float16", "bfloat16", "int8"};
constexpr int32_t kInt8Type = 4;
const std::vector<std::string> kMasks = {"none", "input", "recurrent", "both"};

// The words of a line. Reading a word removes it.
class Words {
 public:
  explicit Words(const std::string& line) {
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) {
        error_ = word + ": expected key=value";
      } else if (!words_.emplace(word.substr(0, equals), word.substr(equals + 1)).second) {
        error_ = word + ": the key is there twice";
      }
    }
  }

  std::string Text(const std::string& key, const std::string& otherwise) {
    const auto found = words_.find(key);
    if (found == words_.end()) return otherwise;
    const std::string text = found->second;
    words_.erase(found);
    return text;
  }

  // The index of the value in `values`. The first value is the default, unless `otherwise` is
  // passed. An unknown value counts as the default.
  int32_t OneOf(const std::string& key, const std::vector<std::string>& values,
                int32_t otherwise = 0) {
    const std::string text = Text(key, values[otherwise]);
    const auto at = std::find(values.begin(), values.end(), text);
    if (at != values.end()) return static_cast<int32_t>(at - values.begin());
    error_ = key + " is " + text;
    return otherwise;
  }

  int64_t Number(const std::string& key, int64_t otherwise, int64_t smallest) {
    const std::string text = Text(key, std::to_string(otherwise));
    char* end = nullptr;
    const int64_t number = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != 0 || number < smallest) error_ = key + " is " + text;
    return number;
  }

  double Real(const std::string& key, const std::string& otherwise = "0") {
    const std::string text = Text(key, otherwise);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != 0 || !(number >= 0)) error_ = key + " is " + text;
    return number;
  }

  void Refuse(const std::string& error) { error_ = error; }

  std::string Error() const {
    if (!error_.empty()) return error_;
    return words_.empty() ? "" : "the op has no " + words_.begin()->first;
  }

 private:
  std::map<std::string, std::string> words_;
  std::string error_;
};

std::vector<int32_t> Lengths(const std::string& text, int64_t rows, int64_t steps, uint64_t seed,
                             Words* words) {
  std::vector<int32_t> lengths(rows, static_cast<int32_t>(steps));
  if (text == "full") return lengths;
  if (text == "random") {
    for (int64_t b = 0; b < rows; ++b) {
      lengths[b] = static_cast<int32_t>(ProblemWord(seed, "lengths", b) % (steps + 1));
    }
    return lengths;
  }
  std::istringstream numbers(text);
  int64_t count = 0;
  bool fits = true;
  for (std::string number; fits && std::getline(numbers, number, ','); ++count) {
    const int64_t n = std::atoll(number.c_str());
    fits = count < rows && 0 <= n && n <= steps;
    if (fits) lengths[count] = static_cast<int32_t>(n);
  }
  if (!fits || count != rows) words->Refuse("lengths is " + text);
  return lengths;
}

const std::vector<std::string> kLinearCells = {"lstm", "gru", "tanh"};
const std::vector<std::string> kSlopes = {"all", "gates", "states", "none"};
constexpr int64_t kLinearGates[] = {4, 3, 1};

void ParseLinear(Words* words, ProblemLine* line) {
  line->op = ProblemOp::kLinearRecurrence;
  LinearRecurrenceProblem& p = line->linear;
  const int32_t cell = words->OneOf("cell", kLinearCells);
  const int32_t slopes = words->OneOf("slopes", kSlopes);
  p.num_states = cell == 0 ? 2 : 1;
  p.num_gates = kLinearGates[cell % 3];
  p.has_gates = slopes <= 1;
  line->has_states = slopes % 2 == 0;
  p.transposed = words->OneOf("adjoint", {"no", "yes"}) == 1;
}

void ParseStack(Words* words, ProblemLine* line) {
  RnnProblem& p = line->rnn;
  p.num_proj = words->Number("P", 0, 0);
  if (p.num_proj == p.num_units) p.num_proj = 0;
  p.num_layers = words->Number("L", 1, 1);
  p.direction = static_cast<Direction>(1 + words->OneOf("D", {"1", "2"}));
  const int32_t mode = words->OneOf("input", {"linear", "skip", "auto"});
  if (mode > 0 && p.input_size == p.num_units) p.input_mode = InputMode::kSkip;
}

void ParseLayer(Words* words, ProblemLine* line) {
  RnnProblem& p = line->rnn;
  p.num_proj = words->Number("P", 0, 0);
  p.has_peepholes = words->OneOf("peephole", {"no", "yes"}) == 1;
  p.has_layer_norm = words->OneOf("norm", {"no", "yes"}) == 1;
  p.cell_clip = static_cast<float>(words->Real("clip"));
  p.proj_clip = static_cast<float>(words->Real("proj_clip"));
  p.layer_norm_epsilon = static_cast<float>(words->Real("epsilon", "1"));
  p.zoneout_h = static_cast<float>(words->Real("zoneout_h"));
  p.zoneout_c = static_cast<float>(words->Real("zoneout_c"));
  p.zoneout_drawn = words->OneOf("drawn", {"no", "yes"}) == 1;
  p.weight_layout = kKerasWeights;
  const int32_t mask = words->OneOf("mask", kMasks);
  p.input_masked = mask % 2;
  p.recurrent_masked = mask / 2;
  p.bias_rows = words->OneOf("bias", {"yes", "no"}) == 1 ? 0 : FactsOf(p.mode).bias_rows;
  p.activation = static_cast<Activation>(words->OneOf("activation", kActivations));
  p.recurrent_activation =
      static_cast<Activation>(words->OneOf("recurrent_activation", kActivations, 1));
}

}  // namespace

uint64_t ProblemWord(uint64_t seed, const std::string& tensor, uint64_t k) {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;
  const auto mix = [](uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  };
  uint64_t name = 0xCBF29CE484222325u;
  for (unsigned char byte : tensor) name = (name ^ byte) * 0x100000001B3u;
  return mix((mix(seed + kStep) ^ name) + kStep * (k + 1));
}

std::string ParseProblem(const std::string& text, ProblemLine* line) {
  *line = ProblemLine();
  Words words(text);
  const std::string op = words.Text("op", "CudnnRNNV3");
  const int64_t T = words.Number("T", 1, 0), B = words.Number("B", 1, 0);
  const int64_t H = words.Number("H", 1, 1);
  const int32_t type_index = words.OneOf("type", kTypes);
  const bool int8 = type_index == kInt8Type;
  const Dtype type = int8 ? kFloat32 : static_cast<Dtype>(type_index);
  line->isa = words.Text("isa", "");
  line->threads = static_cast<int32_t>(words.Number("threads", 0, 0));
  line->seed = words.Number("seed", 0, 0);
  if (op == "LinearRecurrence") {
    LinearRecurrenceProblem& p = line->linear;
    p.dtype = type, p.max_time = T, p.batch = B, p.num_units = H;
    ParseLinear(&words, line);
    return words.Error();
  }
  const int64_t I = words.Number("I", 1, 1);
  line->run = static_cast<ProblemRun>(words.OneOf("run", {"training", "inference", "packed"}));
  const std::string lengths = words.Text("lengths", "full");
  if (op == "BlockLSTMV2") {
    line->op = ProblemOp::kBlockLstm;
    const bool peephole = words.OneOf("peephole", {"no", "yes"}) == 1;
    const float clip = static_cast<float>(words.Real("clip"));
    const std::vector<int32_t> seq_len = Lengths(lengths, 1, T, line->seed, &words);
    line->block = {{peephole, clip, T, B, I, H, seq_len[0]}, type};
    return words.Error();
  }
  RnnProblem& p = line->rnn;
  p.dtype = type;
  p.int8_weights = int8;
  p.mode = static_cast<RnnMode>(words.OneOf("cell", kCells, static_cast<int32_t>(RnnMode::kLstm)));
  p.max_time = T, p.batch = B, p.input_size = I, p.num_units = H;
  p.is_training = line->run == ProblemRun::kTraining;
  p.time_major = words.OneOf("order", {"time", "batch"}) == 0;
  p.bf16_products = true;
  p.dropout = static_cast<float>(words.Real("dropout"));
  const DropoutKey key = MakeDropoutKey(static_cast<int64_t>(line->seed), 0, 0);
  p.dropout_key[0] = key.k0, p.dropout_key[1] = key.k1;
  line->lengths = Lengths(lengths, B, T, line->seed, &words);
  if (op == "CudnnRNNV3") {
    ParseStack(&words, line);
  } else if (op == "LayerRNN") {
    ParseLayer(&words, line);
  } else {
    words.Refuse("op is " + op);
  }
  return words.Error();
}

std::vector<std::string> ProblemLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back(line);
  }
  return lines;
}

std::string LineOf(const RnnProblem& p, const std::vector<int32_t>& lengths) {
  const bool layer = p.weight_layout == kKerasWeights;
  std::ostringstream s;
  s << "op=" << (layer ? "LayerRNN" : "CudnnRNNV3")
    << " cell=" << kCells[static_cast<size_t>(p.mode)] << " T=" << p.max_time << " B=" << p.batch
    << " I=" << p.input_size << " H=" << p.num_units;
  if (p.num_proj > 0) s << " P=" << p.num_proj;
  if (p.num_layers != 1) s << " L=" << p.num_layers;
  if (p.num_dirs() != 1) s << " D=" << p.num_dirs();
  if (p.int8_weights) s << " type=" << kTypes[kInt8Type];
  if (p.dtype != kFloat32) s << " type=" << kTypes[p.dtype];
  if (p.skips_input(0)) s << " input=skip";
  if (std::any_of(lengths.begin(), lengths.end(), [&](int32_t n) { return n != p.max_time; })) {
    for (size_t b = 0; b < lengths.size(); ++b) s << (b == 0 ? " lengths=" : ",") << lengths[b];
  }
  const int32_t mask = p.input_masked + 2 * p.recurrent_masked;
  if (mask != 0) s << " mask=" << kMasks[mask];
  if (layer && p.bias_rows == 0) s << " bias=no";
  if (p.activation != Activation::kTanh) {
    s << " activation=" << kActivations[static_cast<size_t>(p.activation)];
  }
  if (p.recurrent_activation != Activation::kSigmoid) {
    s << " recurrent_activation=" << kActivations[static_cast<size_t>(p.recurrent_activation)];
  }
  if (p.dropout > 0) s << " dropout=" << p.dropout;
  if (p.cell_clip > 0) s << " clip=" << p.cell_clip;
  if (p.proj_clip > 0) s << " proj_clip=" << p.proj_clip;
  if (p.has_peepholes) s << " peephole=yes";
  if (p.has_layer_norm) s << " norm=yes";
  if (p.has_layer_norm && p.layer_norm_epsilon != 1) s << " epsilon=" << p.layer_norm_epsilon;
  if (p.zoneout_h > 0) s << " zoneout_h=" << p.zoneout_h;
  if (p.zoneout_c > 0) s << " zoneout_c=" << p.zoneout_c;
  if (p.zoneout_drawn) s << " drawn=yes";
  if (!p.time_major) s << " order=batch";
  if (!p.is_training) s << " run=inference";
  std::ostringstream rest;
  if (layer && p.mode == RnnMode::kGru && p.bias_rows == 1) rest << " bias_rows=1";
  if (!p.bf16_products && p.dtype == kBFloat16) rest << " bf16_products=0";
  if (p.dropout > 0 || p.zoneout_drawn)
    rest << " dropout_key=" << p.dropout_key[0] << "," << p.dropout_key[1];
  if (!rest.str().empty()) s << " #" << rest.str();
  return s.str();
}

std::string LineOf(const BlockLstmProblem& p) {
  std::ostringstream s;
  s << "op=BlockLSTMV2 T=" << p.max_time << " B=" << p.batch << " I=" << p.input_size
    << " H=" << p.num_units;
  if (p.dtype != kFloat32) s << " type=" << kTypes[p.dtype];
  if (p.seq_len != p.max_time) s << " lengths=" << p.seq_len;
  if (p.cell_clip > 0) s << " clip=" << p.cell_clip;
  if (p.use_peephole) s << " peephole=yes";
  return s.str();
}

std::string LineOf(const LinearRecurrenceProblem& p, bool has_states) {
  std::ostringstream s;
  const size_t cell = p.num_states == 2 ? 0 : p.num_gates == 3 ? 1 : 2;
  const size_t slopes = p.has_gates ? (has_states ? 0 : 1) : (has_states ? 2 : 3);
  s << "op=LinearRecurrence cell=" << kLinearCells[cell] << " T=" << p.max_time << " B=" << p.batch
    << " H=" << p.num_units;
  if (p.dtype != kFloat32) s << " type=" << kTypes[p.dtype];
  if (slopes > 0) s << " slopes=" << kSlopes[slopes];
  if (p.transposed) s << " adjoint=yes";
  return s.str();
}

}  // namespace rnn_ops::cpu::testing
