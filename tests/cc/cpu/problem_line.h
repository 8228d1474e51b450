// Problems as lines of text. The grammar is in tests/robustness/problem/README.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::testing {

enum class ProblemRun { kTraining, kInference, kPacked };

enum class ProblemOp { kRnn, kBlockLstm, kLinearRecurrence };

// One line. `op` says which of `rnn`, `block` and `linear` is valid.
struct ProblemLine {
  ProblemOp op = ProblemOp::kRnn;
  RnnProblem rnn = {};  // without lengths; type=int8 is float32 with int8_weights
  BlockLstmProblem block = {};
  LinearRecurrenceProblem linear = {};
  bool has_states = false;       // the tensors by_state of `linear` are present
  std::vector<int32_t> lengths;  // [B], of rnn
  ProblemRun run = ProblemRun::kTraining;
  std::string isa;      // empty: any
  int32_t threads = 0;  // 0: any
  uint64_t seed = 0;
};

// Reads a line. Returns the error of a key or a value, or an empty text. Python checks which keys
// fit each other (tests/robustness/problem/grammar.py).
std::string ParseProblem(const std::string& line, ProblemLine* result);

// The lines of a text without comments and blank lines.
std::vector<std::string> ProblemLines(const std::string& text);

// The line of a problem. A comment lists the properties that the grammar cannot express.
std::string LineOf(const RnnProblem& problem, const std::vector<int32_t>& lengths);
std::string LineOf(const BlockLstmProblem& problem);
std::string LineOf(const LinearRecurrenceProblem& problem, bool has_states);

// The random word of element k of a tensor (README.md, "Numbers").
uint64_t ProblemWord(uint64_t seed, const std::string& tensor, uint64_t k);

}  // namespace rnn_ops::cpu::testing
