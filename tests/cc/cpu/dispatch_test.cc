#include "cc/cpu/dispatch/dispatch.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cc/core/status.h"
#include "cc/cpu/dispatch/variant.h"

namespace rnn_ops::cpu {
namespace {

// A process chooses the kernels only once. So each test makes the choice in a child process, which
// prints the result. There is no variant in the folder of this program, so the best level is the
// baseline.
[[noreturn]] void ChooseInChild(const char* setting) {
  if (setting == nullptr) {
    unsetenv("TF_RNN_OPS_CPU_ISA");
  } else {
    setenv("TF_RNN_OPS_CPU_ISA", setting, /*overwrite=*/1);
  }
  const KernelTable* first = &Kernels();
  const bool same = first == &Kernels() && &Dispatch() == &Dispatch();
  const bool usable = CheckTable(first, Isa::kBaseline).empty();
  std::fprintf(stderr, "isa=%s why=%s.\n", Dispatch().isa.c_str(), Dispatch().why.c_str());
  std::exit(same && usable ? 0 : 1);
}

class DispatchTest : public ::testing::Test {
 protected:
  DispatchTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(DispatchTest, FallsBackWithOneLine) {
  const char* expected = DetectIsa() == Isa::kBaseline
                             ? "^isa=baseline why=[.]\n$"
                             : "^tf_rnn_ops: using the baseline CPU kernels: [^\n]*_tf_rnn_ops_"
                               "[^\n]*[.]\nisa=baseline why=[^\n]*\n$";
  EXPECT_EXIT(ChooseInChild(nullptr), ::testing::ExitedWithCode(0), expected);
}

TEST_F(DispatchTest, TheBaselineCanBeAskedForInSilence) {
  const char* expected = DetectIsa() == Isa::kBaseline
                             ? "^isa=baseline why=[.]\n$"
                             : "^isa=baseline why=TF_RNN_OPS_CPU_ISA=baseline[.]\n$";
  EXPECT_EXIT(ChooseInChild("baseline"), ::testing::ExitedWithCode(0), expected);
}

TEST_F(DispatchTest, AnUnknownSettingGivesOneLine) {
  EXPECT_EXIT(ChooseInChild("mmx"), ::testing::ExitedWithCode(0),
              "^tf_rnn_ops: using the baseline CPU kernels: TF_RNN_OPS_CPU_ISA=mmx is not one of "
              "baseline, avx2 and avx512[^\n]*[.]\nisa=baseline why=[^\n]*\n$");
}

TEST_F(DispatchTest, AFrameworkHasTheLineInItsLog) {
  SetWarningSink([](const std::string& text) { std::fprintf(stderr, "[%s]\n", text.c_str()); });
  EXPECT_EXIT(ChooseInChild("mmx"), ::testing::ExitedWithCode(0),
              "^\\[tf_rnn_ops: using the baseline CPU kernels: TF_RNN_OPS_CPU_ISA=mmx[^\n]*\\]\n");
}

[[noreturn]] void AllowInChild(const char* setting) {
  setenv("TF_RNN_OPS_BF16_PRODUCTS", setting, /*overwrite=*/1);
  const bool allows = AllowsBf16Products() && AllowsBf16Products();
  std::fprintf(stderr, "allows=%d\n", allows);
  std::exit(0);
}

TEST_F(DispatchTest, SettingsOfBfloat16Products) {
  const auto ended = ::testing::ExitedWithCode(0);
  EXPECT_EXIT(AllowInChild("0"), ended, "^allows=0\n$");
  EXPECT_EXIT(AllowInChild("1"), ended, "^allows=1\n$");
  EXPECT_EXIT(AllowInChild(""), ended, "^allows=1\n$");
  EXPECT_EXIT(
      AllowInChild("off"), ended,
      "^tf_rnn_ops: TF_RNN_OPS_BF16_PRODUCTS=off is neither 0 nor 1; bfloat16 products stay "
      "on[.]\nallows=1\n$");
}

TEST_F(DispatchTest, ThreadsAgree) {
  std::vector<const KernelTable*> tables(8);
  std::vector<std::thread> threads;
  for (const KernelTable*& table : tables) {
    threads.emplace_back([&table] { table = &Kernels(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const KernelTable* table : tables) EXPECT_EQ(table, tables[0]);
  EXPECT_EQ(Dispatch().isa, tables[0]->isa);
}

}  // namespace
}  // namespace rnn_ops::cpu
