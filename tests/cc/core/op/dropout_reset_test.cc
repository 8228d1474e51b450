#include <gtest/gtest.h>

#include "cc/core/op/dropout.h"

namespace rnn_ops {
namespace {

TEST(ResetRndGenState, IsReadAsTensorFlowReadsIt) {
  for (const char* value : {"1", "true", "True", "TRUE"}) {
    bool resets = false;
    EXPECT_TRUE(ParseResetRndGenState(value, &resets).ok()) << value;
    EXPECT_TRUE(resets) << value;
  }
  for (const char* value : {static_cast<const char*>(nullptr), "", "0", "false", "False"}) {
    bool resets = true;
    EXPECT_TRUE(ParseResetRndGenState(value, &resets).ok());
    EXPECT_FALSE(resets);
  }
  for (const char* value : {"2", "yes", "true "}) {
    bool resets = false;
    const Status status = ParseResetRndGenState(value, &resets);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << value;
    EXPECT_NE(status.message().find(value), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace rnn_ops
