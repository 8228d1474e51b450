#include "cc/core/op/dtype.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace rnn_ops {
namespace {

TEST(Dtype, SizesAndNames) {
  const struct {
    Dtype dtype;
    int64_t bytes;
    bool narrow;
    std::string name;
  } types[] = {{kFloat32, 4, false, "float"},
               {kFloat64, 8, false, "double"},
               {kFloat16, 2, true, "half"},
               {kBFloat16, 2, true, "bfloat16"}};
  for (const auto& type : types) {
    EXPECT_EQ(SizeOf(type.dtype), type.bytes) << type.name;
    EXPECT_EQ(IsNarrow(type.dtype), type.narrow) << type.name;
    EXPECT_EQ(Name(type.dtype), type.name);
  }
  for (const int32_t number : {-1, 4, 1 << 30}) {
    EXPECT_STREQ(Name(static_cast<Dtype>(number)), "unknown") << number;
  }
}

}  // namespace
}  // namespace rnn_ops
