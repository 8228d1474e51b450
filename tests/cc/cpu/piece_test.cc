// Tests of the pieces of the kernels, for each instruction set of this machine (piece_checks.h).
#include <dlfcn.h>

#include <cstdint>
#include <string>

#include "cc/cpu/variant.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/piece_checks.h"
#include "tests/cc/cpu/tested_isas.h"

namespace rnn_ops {
namespace cpu {
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

// Products of pairs with an emulation of the instructions that few CPUs have.
TEST(Pieces, AreRightOnEmulatedBfloat16) {
  if (testing::TestedIsas().back() < Isa::kAvx512) GTEST_SKIP() << "it needs AVX-512 itself";
  CheckPieces("avx512_bf16");
  CheckPieces("avx512_amx");
}

// Products of quads with an emulation of the instructions that neither level requires.
TEST(Pieces, AreRightOnEmulatedVnni) {
  if (testing::TestedIsas().back() < Isa::kAvx2) GTEST_SKIP() << "it needs AVX2 itself";
  CheckPieces("avx2_vnni", 10000);
  if (testing::TestedIsas().back() >= Isa::kAvx512) CheckPieces("avx512_vnni", 10000);
}

}  // namespace
}  // namespace cpu
}  // namespace rnn_ops
