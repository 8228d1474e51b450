// The pieces of the kernels, at each instruction set of this machine (piece_checks.h).
#include <dlfcn.h>

#include <string>

#include "cc/cpu/variant.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/piece_checks.h"
#include "tests/cc/cpu/tested_isas.h"

namespace rnn_ops {
namespace cpu {
namespace {

TEST(Pieces, AreRightAtEveryInstructionSet) {
  for (Isa isa : testing::TestedIsas()) {
    SCOPED_TRACE(Name(isa));
    const std::string path = std::string("./tests/cc/cpu/pieces_") + Name(isa) + ".so";
    void* const object = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(object, nullptr) << dlerror();
    using Check = decltype(&tf_rnn_ops_check_pieces);
    const auto run = reinterpret_cast<Check>(dlsym(object, "tf_rnn_ops_check_pieces"));
    ASSERT_NE(run, nullptr);
    // Fewer values would mean that a loop ran over nothing.
    EXPECT_GT(run([](const char* message) { ADD_FAILURE() << message; }), 500000);
  }
}

}  // namespace
}  // namespace cpu
}  // namespace rnn_ops
