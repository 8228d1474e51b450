// Checks problems in the format of tests/robustness/problem/README.md on the kernels, without ops.
// For every instruction set, native or emulated (kernel_tables.h), values are compared with the
// scalar reference. The bits must be equal for every number of threads, in a repetition, on a kept
// plan, in the other layout, in inference and with packed weights. The reserve space and packed
// weights, which are outputs of ops, must be written whole, and a 16-bit type is float32 rounded
// once.
//
//   problems_test FILE | LINE | random...
//
// "random": also random cases of rnn_cases.h, most of them smaller and shorter than those of a
// file. Prints "problem<TAB>ok, failed or undecided<TAB>LINE" for each line. Undecided: a
// pre-activation of relu is so close to zero that rounding decides its slope, so gradients were not
// compared with the reference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cc/cpu/heuristics.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/cpu/problem_line.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
namespace {

std::vector<std::string>* lines = new std::vector<std::string>;
bool random_cases = false;

// The bound of |pre-activation| of relu, in units of the epsilon of the products' operands.
constexpr double kNearZero = 64;

bool HasNarrowProducts(const KernelTable& table, const RnnProblem& p) {
  return table.rnn_packed_format(&p).element == kPackedBFloat16Pairs;
}

double OperandEpsilon(const KernelTable& table, const RnnProblem& p) {
  if (HasNarrowProducts(table, p)) return Epsilon(kBFloat16);
  return Epsilon(p.dtype == kFloat64 ? kFloat64 : kFloat32);
}

// In units of epsilon of the type, see docs/numerics.md. For a 16-bit result, one rounding.
double Tolerance(Dtype dtype) { return (IsNarrow(dtype) ? 0.51 : 32) * Epsilon(dtype); }

double Tolerance(const KernelTable& table, const RnnProblem& p, double of_narrow_products) {
  if (!HasNarrowProducts(table, p)) return Tolerance(p.dtype);
  // Dropout between layers multiplies kept elements and their rounding errors by 1 / (1 - rate).
  // The number of kept terms is smaller by (1 - rate), so the error of a sum grows by the square
  // root of the factor.
  const bool drops = p.is_training && p.num_layers > 1;
  return of_narrow_products * Epsilon(p.dtype) / std::sqrt(drops ? 1 - p.dropout : 1);
}

std::vector<const KernelTable*> TablesOf(const ProblemLine& line) {
  std::vector<const KernelTable*> tables;
  const RnnProblem problem = line.op == ProblemOp::kRnn ? line.rnn : RnnProblem();
  for (const KernelTable* table : Tables(problem)) {
    if (line.isa.empty() || line.isa == table->isa) tables.push_back(table);
  }
  EXPECT_FALSE(tables.empty()) << "this machine has no " << line.isa;
  return tables;
}

// Each run has another fill byte, because the previous content of memory must have no effect.
std::vector<RunOptions> OptionsOf(const ProblemLine& line) {
  std::vector<RunOptions> options;
  unsigned char fill = 0xFF;
  // Over many lines every number of threads up to 8.
  const int32_t other = 3 + static_cast<int32_t>(line.seed % 5);
  for (int32_t threads : {1, 2, other, 8}) {
    options.push_back({line.threads > 0 ? line.threads : threads, fill});
    options.back().kept_plan = options.size() % 2 == 0;
    fill = static_cast<unsigned char>(fill * 5 + 0x42);
  }
  return options;
}

RnnRun Started(const KernelTable& table, const RnnCase& c, const RnnValues& inputs, bool packed,
               const RunOptions& options) {
  RnnRun run(table, c, inputs, options);
  EXPECT_EQ(packed ? run.ForwardPacked() : run.Forward(), 0);
  if (c.problem.is_training) {
    EXPECT_EQ(run.Backward(), 0);
  }
  return run;
}

RnnValues RunOnce(const KernelTable& table, const RnnCase& c, const RnnValues& inputs, bool packed,
                  const RunOptions& options) {
  return Started(table, c, inputs, packed, options).values;
}

void ExpectSameRun(const RnnValues& got, const RnnValues& want) {
  ExpectSame(kRnnOutputs, got, want);
  ExpectSame(kRnnGradients, got, want);
}

template <typename Values>
Values Rounded(Dtype dtype, const Fields<Values>& fields, Values values) {
  for (const auto& field : fields) {
    for (double& v : values.*field.vec) v = RoundTo(dtype, v);
  }
  return values;
}

// A 16-bit type whose products are not those of bfloat16 computes in float32 and rounds once. The
// gradients are those for the given, rounded outputs.
void ExpectRounded(const KernelTable& table, RnnCase c, const RnnValues& inputs) {
  c.problem.bf16_products = false;
  RnnCase wide_case = c;
  wide_case.problem.dtype = kFloat32;
  RnnRun narrow(table, c, inputs);
  RnnRun wide(table, wide_case, inputs);
  EXPECT_EQ(narrow.Forward(), 0);
  EXPECT_EQ(wide.Forward(), 0);
  ExpectSame(kRnnOutputs, narrow.values, Rounded(c.problem.dtype, kRnnOutputs, wide.values));
  if (!c.problem.is_training) return;
  EXPECT_EQ(narrow.Backward(), 0);
  wide.SetOutput(narrow.values.y);
  EXPECT_EQ(wide.Backward(), 0);
  ExpectSame(kRnnGradients, narrow.values, Rounded(c.problem.dtype, kRnnGradients, wide.values));
}

// Int8 weights: the reference begins each step at the h of the kernels.
void ExpectNearSteps(const RnnProblem& p, const RnnValues& got, RnnValues* want) {
  want->given_y = got.y;
  reference::RunStack(p, want);
  ExpectNear({{Arg::output_c, &RnnValues::c_n}}, got, *want, Tolerance(kFloat32));
  ExpectSame({{Arg::output_h, &RnnValues::h_n}}, got, *want);
  double scale = 1;
  for (double v : want->y) scale = std::max(scale, std::abs(v));
  for (size_t k = 0; k < got.y.size(); ++k) {
    const double allowed = Tolerance(kFloat32) * scale + want->slack[k];
    ASSERT_NEAR(got.y[k], want->y[k], allowed) << "y[" << k << "]";
  }
}

// Returns whether gradients could be compared with the reference.
bool CheckRnn(const ProblemLine& line) {
  RnnCase c;
  c.problem = line.rnn;
  c.lengths = line.lengths;
  const RnnProblem& p = c.problem;
  const bool packed = line.run == ProblemRun::kPacked;
  const RnnValues inputs = RandomInputs(c, line.seed);
  RnnValues want = inputs;
  RnnProblem with_lengths = p;
  with_lengths.lengths = reference::LengthsOf(c.lengths);
  reference::RunStack(with_lengths, &want);
  bool all_decided = true;

  RnnCase other = c;
  other.problem.time_major = !p.time_major;
  const RnnValues other_inputs = OtherLayout(c, p.time_major, inputs);
  RnnCase inference = c;
  inference.problem.is_training = 0;
  // Dropout between the layers applies only in training. In LayerRNN the rate only describes the
  // masks.
  const bool dropped = p.dropout > 0 && p.weight_layout == kOpaqueWeights;
  // The shortest calls do not use packed weights and sum in another order.
  const bool packing_is_exact = p.int8_weights || p.max_time * p.batch > kUnpackedRows;
  for (const KernelTable* table : TablesOf(line)) {
    const bool decided =
        p.int8_weights || want.nearest > kNearZero * OperandEpsilon(*table, with_lengths);
    all_decided = all_decided && decided;
    EXPECT_EQ(table->rnn_packed_format(&p).element == kPackedInt8Quads, p.int8_weights);
    RnnValues first;
    std::vector<unsigned char> reserve, packed_bytes;
    for (const RunOptions& options : OptionsOf(line)) {
      SCOPED_TRACE(std::string(" isa=") + table->isa +
                   " threads=" + std::to_string(options.num_threads));
      RnnRun run = Started(*table, c, inputs, packed, options);
      const RnnValues got = run.values;
      if (!first.params.empty() || !first.kernel.empty()) {
        ExpectSameRun(got, first);
        if (p.is_training) {
          EXPECT_EQ(run.ReserveBytes(), reserve);
        }
        EXPECT_EQ(run.packed_bytes(), packed_bytes);
        continue;
      }
      first = got;
      packed_bytes = run.packed_bytes();
      if (p.is_training) {
        reserve = run.ReserveBytes();
        // Two gradients through one persistent tape.
        EXPECT_EQ(run.Backward(), 0);
        ExpectSame(kRnnGradients, run.values, first);
      }
      if (IsNarrow(p.dtype)) ExpectRounded(*table, c, inputs);
      if (p.int8_weights) {
        ExpectNearSteps(with_lengths, got, &want);
        continue;
      }
      ExpectNear(kRnnOutputs, got, want, Tolerance(*table, with_lengths, 1.5));
      if (p.is_training && IsNarrow(p.dtype)) {
        want.given_y = got.y;
        reference::RunStack(with_lengths, &want);
      }
      if (decided) ExpectNear(kRnnGradients, got, want, Tolerance(*table, with_lengths, 2));
    }
    SCOPED_TRACE(std::string(" isa=") + table->isa);
    const RunOptions options = OptionsOf(line)[1];
    {
      SCOPED_TRACE("in the other layout");
      const RnnValues got = RunOnce(*table, other, other_inputs, packed, options);
      ExpectSameRun(OtherLayout(other, other.problem.time_major, got), first);
    }
    if (dropped) continue;
    if (!packed || packing_is_exact) {
      SCOPED_TRACE("in inference on unpacked weights");
      ExpectSame(kRnnOutputs, RunOnce(*table, inference, inputs, false, options), first);
    }
    if (!packed) {
      SCOPED_TRACE("on packed weights");
      const RnnValues got = RunOnce(*table, inference, inputs, true, options);
      if (packing_is_exact) {
        ExpectSame(kRnnOutputs, got, first);
      } else {
        ExpectNear(kRnnOutputs, got, want, Tolerance(*table, with_lengths, 1.5));
      }
    }
  }
  return all_decided;
}

BlockLstmValues RunOnce(const KernelTable& table, const BlockLstmProblem& p,
                        const BlockLstmValues& inputs, const RunOptions& options) {
  BlockLstmRun run(table, p, inputs, options);
  run.Forward();
  run.Backward();
  return run.values;
}

void ExpectRounded(const KernelTable& table, const BlockLstmProblem& p,
                   const BlockLstmValues& inputs, const BlockLstmValues& got) {
  BlockLstmProblem wide = p;
  wide.dtype = kFloat32;
  BlockLstmRun run(table, wide, inputs);
  run.Forward();
  ExpectSame(kBlockOutputs, got, Rounded(p.dtype, kBlockOutputs, run.values));
  run.SetOutputs(got);
  run.Backward();
  ExpectSame(kBlockGradients, got, Rounded(p.dtype, kBlockGradients, run.values));
}

void CheckBlock(const ProblemLine& line) {
  const BlockLstmProblem& p = line.block;
  const BlockLstmValues inputs = RandomInputs(p, line.seed);
  BlockLstmValues want = inputs;
  reference::RunBlockLstm(p, &want);
  for (const KernelTable* table : TablesOf(line)) {
    BlockLstmValues first;
    for (const RunOptions& options : OptionsOf(line)) {
      SCOPED_TRACE(std::string(" isa=") + table->isa +
                   " threads=" + std::to_string(options.num_threads));
      const BlockLstmValues got = RunOnce(*table, p, inputs, options);
      if (!first.w.empty()) {
        ExpectSame(kBlockOutputs, got, first);
        ExpectSame(kBlockGradients, got, first);
        continue;
      }
      first = got;
      ExpectNear(kBlockOutputs, got, want, Tolerance(p.dtype));
      if (IsNarrow(p.dtype)) {
        ExpectRounded(*table, p, inputs, got);
      } else {
        ExpectNear(kBlockGradients, got, want, Tolerance(p.dtype));
      }
    }
  }
}

void CheckLinear(const ProblemLine& line) {
  const LinearRecurrenceProblem& p = line.linear;
  if (p.max_time == 0 || p.batch == 0) return;  // the op does not call the kernel
  const LinearValues inputs = RandomInputs(p, line.has_states, line.seed);
  LinearValues want = inputs;
  reference::RunLinearRecurrence(p, &want);
  for (const KernelTable* table : TablesOf(line)) {
    LinearValues first;
    for (const RunOptions& options : OptionsOf(line)) {
      SCOPED_TRACE(std::string(" isa=") + table->isa +
                   " threads=" + std::to_string(options.num_threads));
      LinearRun run(*table, p, inputs, options);
      run.Compute();
      if (!first.input.empty()) {
        ExpectSame(kLinearOutputs, run.values, first);
        continue;
      }
      first = run.values;
      ExpectNear(kLinearOutputs, first, want, Tolerance(p.dtype));
    }
  }
}

class Failures : public ::testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    count += result.failed();
  }
  int64_t count = 0;
};
Failures* failures = new Failures;

void CheckLine(const std::string& text) {
  SCOPED_TRACE(text);
  ProblemLine line;
  const std::string error = ParseProblem(text, &line);
  ASSERT_EQ(error, "") << "not a problem: " << text;
  const int64_t before = failures->count;
  bool decided = true;
  switch (line.op) {
    case ProblemOp::kRnn:
      decided = CheckRnn(line);
      break;
    case ProblemOp::kBlockLstm:
      CheckBlock(line);
      break;
    case ProblemOp::kLinearRecurrence:
      CheckLinear(line);
      break;
  }
  const char* verdict = failures->count > before ? "failed" : decided ? "ok" : "undecided";
  std::printf("problem\t%s\t%s\n", verdict, text.c_str());
  std::fflush(stdout);
}

TEST(Problems, Random) {
  if (!random_cases) return;
  constexpr RnnCase (*kMakers[])(std::mt19937_64&, Dtype) = {
      RandomCase, RandomLayerCase, RandomGatesCase, RandomLayerNormCase, RandomZoneoutCase};
  for (Dtype dtype : kDtypes) {
    std::mt19937_64 random(dtype);
    for (uint64_t seed = 0; seed < 1000 && failures->count == 0; ++seed) {
      const RnnCase c = kMakers[seed % std::size(kMakers)](random, dtype);
      SCOPED_TRACE(Describe(c) + " seed=" + std::to_string(seed));
      ProblemLine line;
      line.rnn = c.problem;
      line.lengths = c.lengths;
      line.seed = seed;
      CheckRnn(line);
    }
  }
}

TEST(Problems, OfTheArguments) {
  ASSERT_FALSE(lines->empty()) << "expected a file or lines";
  for (const std::string& line : *lines) {
    CheckLine(line);
    if (::testing::GTEST_FLAG(fail_fast) && failures->count > 0) break;
  }
}

}  // namespace

void ReadArguments(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (argv[i] == std::string("random")) {
      random_cases = true;
      continue;
    }
    std::ifstream file(argv[i]);
    const std::string text =
        file ? std::string(std::istreambuf_iterator<char>(file), {}) : std::string(argv[i]);
    for (const std::string& line : ProblemLines(text)) lines->push_back(line);
  }
}

}  // namespace rnn_ops::cpu::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(rnn_ops::cpu::testing::failures);
  rnn_ops::cpu::testing::ReadArguments(argc, argv);
  return RUN_ALL_TESTS();
}
