// Tests of the sizes of memory, and of the reserve spaces that a gradient rejects. Every run of the
// harness checks the guards, and that the inputs and (backwards) the reserve space are unchanged.
// problems_test.cc checks that old content of memory has no effect.
#include <cstdint>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
namespace {

constexpr ThreadBudget kThreads = {2, 1, 0};

const CallTensors kNoTensors;

RnnArgs ArgsOf(const RnnCase& c) {
  RnnArgs args = {};
  args.tensors = &kNoTensors;
  args.problem = c.problem;
  args.problem.lengths = reference::LengthsOf(c.lengths);
  args.parallel.threads = kThreads;
  return args;
}

// Problems whose reserve spaces have the same size but different contents.
TEST(RnnMemory, ReserveSpaceOfAnotherProblemIsRefused) {
  RnnCase c = MakeCase(kFloat32, 2, 6, 6, 8, 8);
  c.problem.num_layers = 2;
  c.lengths = {6, 3, 0, 2, 6, 1};
  std::vector<std::pair<const char*, RnnCase>> others;
  auto add = [&](const char* what, auto change) {
    others.emplace_back(what, c);
    change(&others.back().second);
  };
  add("lengths", [](RnnCase* o) { o->lengths = {3, 6, 0, 2, 6, 1}; });
  add("layout", [](RnnCase* o) { o->problem.time_major = 0; });
  add("input size", [](RnnCase* o) { o->problem.input_size = 5; });
  add("skip_input", [](RnnCase* o) { o->problem.input_mode = InputMode::kSkip; });
  add("dropout", [](RnnCase* o) { o->problem.dropout = 0.5; });
  for (const KernelTable* table : Tables(c.problem)) {
    RnnRun run(*table, c, RandomInputs(c, 1));
    ASSERT_EQ(run.Forward(), 0);
    for (const auto& [what, other] : others) {
      EXPECT_EQ(run.Backward(other), 1) << table->isa << ": another " << what;
    }
    EXPECT_EQ(run.Backward(), 0) << table->isa;
  }
}

TEST(RnnMemory, ReserveSpaceOfAnotherLayerIsRefused) {
  RnnCase c = MakeCase(kFloat32, 2, 6, 6, 8, 8);
  UseKerasWeights(true, true, &c);
  for (const KernelTable* table : Tables(c.problem)) {
    RnnRun run(*table, c, RandomInputs(c, 1));
    ASSERT_EQ(run.Forward(), 0);
    for (int masks = 0; masks < 3; ++masks) {
      RnnCase other = c;
      UseKerasWeights(masks & 1, masks & 2, &other);
      EXPECT_EQ(run.Backward(other), 1) << table->isa << ": masks " << masks;
    }
    EXPECT_EQ(run.Backward(MakeCase(kFloat32, 2, 6, 6, 8, 8)), 1) << table->isa << ": a stack";
    EXPECT_EQ(run.Backward(), 0) << table->isa;
  }
}

TEST(RnnMemory, GarbageIsNotAReserveSpace) {
  const RnnCase c = MakeCase(kFloat32, 3, 3, 2, 4, 5);
  for (const KernelTable* table : Tables(c.problem)) {
    RnnRun run(*table, c, RandomInputs(c, 1));
    ASSERT_EQ(run.Forward(), 0);
    for (unsigned char byte : {0x00, 0xFF}) {
      run.OverwriteReserve(byte);
      EXPECT_EQ(run.Backward(), 1) << table->isa;
    }
  }
}

// Two instruction sets may store different vectors. An emulation stores those of its level.
TEST(RnnMemory, ReserveSpaceOfAnotherInstructionSetIsRefused) {
  const RnnCase c = MakeCase(kFloat32, 2, 3, 2, 4, 16);
  for (const KernelTable* forward : Tables()) {
    for (const KernelTable* backward : Tables()) {
      RnnRun run(*forward, c, RandomInputs(c, 1));
      ASSERT_EQ(run.Forward(), 0);
      EXPECT_EQ(run.BackwardWith(*backward),
                forward->vector_bytes == backward->vector_bytes ? 0 : 1)
          << forward->isa << " to " << backward->isa;
    }
  }
}

// Sizes that exceed any memory are reported and do not wrap around. Every tensor of the problem has
// a valid shape (its parameters are 2^58 elements).
TEST(RnnMemory, SizesThatOverflowAreMinusOne) {
  constexpr int64_t T = INT32_MAX, H = int64_t{1} << 28;
  for (const KernelTable* table : Tables()) {
    for (Dtype dtype : kDtypes) {
      for (int32_t mode : {2, 3, 4}) {
        RnnCase c = MakeCase(dtype, mode, T, 3, 1, H);
        if (!HasCell(c)) UseKerasWeights(false, false, &c);
        RnnArgs a = ArgsOf(c);
        EXPECT_EQ(AskedMemory(table->rnn_forward, a).reserve.bytes, -1) << Describe(c);
        EXPECT_EQ(AskedMemory(table->rnn_backward, a).scratch_bytes, -1) << Describe(c);
        EXPECT_EQ(table->rnn_plan_size(&a).reserve.bytes, -1) << Describe(c);
        a.problem.num_layers = 2;  // whose outputs are scratch in inference
        a.problem.is_training = false;
        EXPECT_EQ(table->rnn_plan_size(&a).scratch_bytes, -1) << Describe(c);
      }
      BlockLstmArgs b = {};
      b.tensors = &kNoTensors;
      b.problem = {{false, 0.0f, T, 3, 1, H, T}, dtype};
      b.parallel.threads = kThreads;
      EXPECT_EQ(AskedMemory(table->block_lstm_backward, b).scratch_bytes, -1);
    }
  }
}

// Lengths with another sum, and with the same sum in another order. Nothing is written then.
TEST(RnnMemory, APlanOfOtherLengthsDoesNotRun) {
  RnnCase c = MakeCase(kFloat32, 3, 4, 3, 5, 6);
  c.lengths = {4, 1, 2};
  const RnnValues v = RandomInputs(c, 1);
  auto floats = [](const Vec& from) { return std::vector<float>(from.begin(), from.end()); };
  const std::vector<float> x = floats(v.x), h0 = floats(v.h0), params = floats(v.params);
  for (const KernelTable* table : Tables(c.problem)) {
    std::vector<float> y(4 * 3 * 6), h_n(3 * 6);
    TeamOfThreads team(1);
    CallTensors tensors;
    RnnArgs a = ArgsOf(c);
    a.tensors = &tensors;
    a.problem.is_training = false;
    a.parallel = team.Get();
    auto in = [&](Arg arg, const std::vector<float>& data) {
      tensors.SetInput(arg, data.data(), ElementType::kFloat32, static_cast<int64_t>(data.size()));
    };
    auto out = [&](Arg arg, std::vector<float>* data) {
      tensors.SetOutput(arg, data->data(), ElementType::kFloat32,
                        static_cast<int64_t>(data->size()));
    };
    in(Arg::input, x), in(Arg::input_h, h0), in(Arg::params, params);
    out(Arg::output, &y), out(Arg::output_h, &h_n);
    GuardedBuffer plan(table->rnn_plan_size(&a).scratch_bytes, 0xFF);
    table->rnn_plan_init(&a, plan.data());
    for (const std::vector<int32_t>& lengths :
         {std::vector<int32_t>{4, 2, 2}, {1, 4, 2}, {4, 4, 4}}) {
      a.problem.lengths = reference::LengthsOf(lengths);
      EXPECT_EQ(table->rnn_plan_run(&a, plan.data(), nullptr), kOtherLengths) << table->isa;
    }
    EXPECT_EQ(h_n, std::vector<float>(h_n.size())) << table->isa;
    a.problem.lengths = reference::LengthsOf(c.lengths);
    EXPECT_EQ(table->rnn_plan_run(&a, plan.data(), nullptr), kDone) << table->isa;
    EXPECT_NE(h_n, std::vector<float>(h_n.size())) << table->isa;
  }
}

// Note [Reserve space]: for each unit and step 5 values for LSTM, 4 or 3 for GRU, none for the
// other modes, and a header.
TEST(RnnMemory, ReserveSpaceHoldsWhatTheNoteSays) {
  for (const KernelTable* table : Tables()) {
    for (int32_t mode : kLayerModes) {
      RnnCase c = MakeCase(kFloat32, mode, 10, 8, 3, 64);
      RnnArgs a = ArgsOf(c);
      const int64_t bytes = 64 + reference::KeptValuesOf(c.problem.mode) * 80 * 64 * 4;
      const ReserveSizes forward = AskedMemory(table->rnn_forward, a).reserve;
      EXPECT_EQ(forward.bytes, bytes);
      EXPECT_EQ(forward.longest_bytes, bytes);
      EXPECT_EQ(AskedMemory(table->rnn_backward, a).reserve.bytes, bytes);
      EXPECT_EQ(table->rnn_longest_reserve(&a.problem), bytes);
      for (int32_t& n : c.lengths) n = 5;
      a = ArgsOf(c);
      const ReserveSizes shorter = AskedMemory(table->rnn_backward, a).reserve;
      EXPECT_EQ(shorter.bytes, 64 + (bytes - 64) / 2);
      EXPECT_EQ(shorter.longest_bytes, bytes);
      a.problem.is_training = 0;
      EXPECT_EQ(AskedMemory(table->rnn_forward, a).reserve.bytes, 0);
    }
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
