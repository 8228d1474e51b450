// Tests of the pieces of the kernels (piece_checks.h), for each instruction set of this machine and
// on emulations of the others.
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "cc/cpu/dispatch/variant.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/piece_checks.h"
#include "tests/cc/cpu/tested_isas.h"

namespace rnn_ops::cpu {
namespace {

// A smaller number of values than `fewest` would mean that a loop had no iterations.
void CheckPieces(const std::string& name, int64_t fewest = 500000) {
  SCOPED_TRACE(name);
  const std::string path = "./tests/cc/cpu/pieces_" + name + ".so";
  void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(object, nullptr) << dlerror();
  using Check = decltype(&tf_rnn_ops_check_pieces);
  const auto run = reinterpret_cast<Check>(dlsym(object, "tf_rnn_ops_check_pieces"));
  ASSERT_NE(run, nullptr);
  EXPECT_GT(run([](const char* message) { ADD_FAILURE() << message; }), fewest);
}

TEST(Pieces, AreRightAtEveryInstructionSet) {
  for (Isa isa : testing::TestedIsas()) CheckPieces(Name(isa));
}

// Registers of 16 lanes, pairs of bfloat16, AMX and VNNI, see Note [Emulation] in
// cc/cpu/simd/isa.h.
TEST(Pieces, AreRightOnEmulations) {
  if (testing::TestedIsas().back() < Isa::kAvx2) GTEST_SKIP() << "the emulations need AVX2";
  CheckPieces("avx2_emulated", 10000);
  CheckPieces("avx512_emulated");
}

}  // namespace
}  // namespace rnn_ops::cpu
