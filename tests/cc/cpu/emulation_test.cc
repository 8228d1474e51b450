// An emulation gives the bits of the machine that it emulates. Compares each emulated code with the
// native one, for the codes that this machine runs natively.
#include <cstdio>
#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"
#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace rnn_ops::cpu::testing {
namespace {

constexpr RnnCase (*kMakers[])(std::mt19937_64&, Dtype) = {
    RandomCase,          RandomCase,        RandomLayerCase,     RandomGatesCase,
    RandomLayerNormCase, RandomZoneoutCase, RandomQuantizedCase,
};

const KernelTable* NativeTable(const RnnProblem& p, const std::string& code) {
  for (const KernelTable* table : Tables()) {
    if (!IsEmulated(*table) && CodeOf(*table, p) == code) return table;
  }
  return nullptr;
}

RnnValues RunAll(const KernelTable& table, const RnnCase& c, const RnnValues& inputs,
                 int32_t threads) {
  RnnRun run(table, c, inputs, {threads});
  EXPECT_EQ(run.Forward(), 0);
  if (c.problem.is_training) {
    EXPECT_EQ(run.Backward(), 0);
  }
  return run.values;
}

TEST(KernelTables, EveryTableOfThisMachineIsThere) {
  ASSERT_FALSE(Tables().empty());
  EXPECT_STREQ(Tables()[0]->isa, "baseline");
  for (const KernelTable* table : Tables()) {
    EXPECT_EQ(table->version, kKernelTableVersion);
    const std::string level = std::string(table->isa).substr(0, 6);
    EXPECT_EQ(table->vector_bytes, level == "avx512" ? 64
                                   : level[0] == 'a' ? 32
                                                     : 16)
        << table->isa;
  }
}

TEST(Emulation, GivesTheBitsOfTheMachine) {
  std::map<std::string, int> compared;
  std::mt19937_64 random(61);
  for (int k = 0; k < 420; ++k) {
    const Dtype dtype = kDtypes[k / 7 % 4];
    const RnnCase c = kMakers[k % 7](random, dtype);
    const RnnValues inputs = RandomInputs(c, k);
    for (const KernelTable* table : Tables(c.problem)) {
      if (!IsEmulated(*table)) continue;
      const std::string code = CodeOf(*table, c.problem);
      const KernelTable* const native = NativeTable(c.problem, code);
      if (native == nullptr) continue;
      SCOPED_TRACE(std::string(table->isa) + ": " + Describe(c));
      const RnnValues got = RunAll(*table, c, inputs, 1 + k % 2);
      const RnnValues want = RunAll(*native, c, inputs, 1 + k % 2);
      ExpectSame(kRnnOutputs, got, want);
      ExpectSame(kRnnGradients, got, want);
      ++compared[code];
    }
    if (HasFailure()) return;
  }
  for (const KernelTable* table : Tables()) {
    if (IsEmulated(*table)) continue;
    const bool avx2 = table->vector_bytes == 32, avx512 = table->vector_bytes == 64;
    EXPECT_GE(compared["avx512"], avx512 ? 300 : 0);
    // One of the two kernels of int8 weights is native.
    EXPECT_GE(compared["avx2 int8"] + compared["avx2 vnni"], avx2 ? 50 : 0);
  }
  for (const auto& [code, count] : compared) {
    std::printf("[compared] %s: %d problems\n", code.c_str(), count);
  }
}

TEST(Emulation, OfEveryUnitIsThere) {
  std::mt19937_64 random(62);
  const RnnProblem quantized = RandomQuantizedCase(random, kFloat32).problem;
  const RnnProblem pairs = MakeCase(kBFloat16, 2, 3, 4, 5, 6).problem;
  std::map<std::string, int> codes;
  for (const KernelTable* table : Tables()) {
    if (!IsEmulated(*table)) continue;
    for (const RnnProblem* p : {&quantized, &pairs}) ++codes[CodeOf(*table, *p)];
  }
  if (Tables().size() == 1) GTEST_SKIP() << "the emulations need AVX2";
  for (const char* code : {"avx2 int8", "avx2 vnni", "avx512", "avx512 int8", "avx512 vnni",
                           "avx512 bf16", "avx512 amx"}) {
    EXPECT_GT(codes[code], 0) << code;
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
