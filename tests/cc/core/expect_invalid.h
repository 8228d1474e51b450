// Checks a rejected call: the code of the status, that the message is a sentence, and the parts of
// the message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops {

inline void ExpectInvalid(const Status& status, const std::vector<const char*>& parts) {
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.message();
  ASSERT_FALSE(status.message().empty());
  EXPECT_EQ(status.message().back(), '.');
  for (const char* part : parts) {
    EXPECT_NE(status.message().find(part), std::string::npos)
        << "no '" << part << "' in: " << status.message();
  }
}

}  // namespace rnn_ops
