// The values are those of LLVM's class, by the descriptions in its header.
#include <cfloat>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzzer/FuzzedDataProvider.h"
#include "gtest/gtest.h"

namespace {

using Bytes = std::vector<uint8_t>;

TEST(FuzzedDataProvider, NumbersComeFromTheEnd) {
  const Bytes data = {1, 2, 3, 4, 5};
  FuzzedDataProvider bytes(data.data(), data.size());
  EXPECT_EQ(bytes.ConsumeIntegral<uint16_t>(), 0x0504);
  EXPECT_EQ(bytes.ConsumeIntegralInRange<int64_t>(-1, 10), -1 + 3);
  EXPECT_EQ(bytes.ConsumeIntegral<uint32_t>(), 0x0201u);
  EXPECT_EQ(bytes.ConsumeIntegral<int8_t>(), -128);
}

TEST(FuzzedDataProvider, ANumberTakesTheBytesThatItsRangeNeeds) {
  const Bytes data = {7, 6, 5, 4, 3, 2, 1, 255};
  FuzzedDataProvider bytes(data.data(), data.size());
  EXPECT_EQ(bytes.ConsumeIntegralInRange<int>(3, 3), 3);
  EXPECT_EQ(bytes.ConsumeIntegralInRange<int>(0, 255), 255);
  EXPECT_EQ(bytes.ConsumeIntegralInRange<int>(0, 256), 0x0102 % 257);
  EXPECT_EQ(bytes.ConsumeIntegralInRange<int64_t>(0, int64_t{1} << 33),
            0x0304050607 % ((int64_t{1} << 33) + 1));
}

TEST(FuzzedDataProvider, BytesComeFromTheBeginning) {
  const Bytes data = {1, 2, 3};
  FuzzedDataProvider bytes(data.data(), data.size());
  EXPECT_EQ(bytes.ConsumeBytes<uint8_t>(2), (Bytes{1, 2}));
  EXPECT_TRUE(bytes.ConsumeBool());
  EXPECT_EQ(bytes.ConsumeBytes<uint8_t>(2), Bytes{});
  EXPECT_FALSE(bytes.ConsumeBool());
}

TEST(FuzzedDataProvider, FloatingPoint) {
  const Bytes data = {0, 0, 0, 0, 255, 255, 255, 255, 1, 255, 255, 255, 255};
  FuzzedDataProvider bytes(data.data(), data.size());
  EXPECT_EQ(bytes.ConsumeProbability<float>(), 1.0f);
  EXPECT_EQ(bytes.ConsumeFloatingPoint<float>(), FLT_MAX);
  EXPECT_EQ(bytes.ConsumeProbability<float>(), 0.0f);
  EXPECT_EQ(bytes.ConsumeFloatingPoint<float>(), -FLT_MAX);
}

TEST(FuzzedDataProvider, ABackslashEndsAString) {
  const std::string data = "a\\\\b\\cdefg";
  FuzzedDataProvider bytes(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  EXPECT_EQ(bytes.ConsumeRandomLengthString(12), "a\\b");
  EXPECT_EQ(bytes.ConsumeRandomLengthString(2), "de");
  EXPECT_EQ(bytes.ConsumeRandomLengthString(9), "fg");
  EXPECT_EQ(bytes.PickValueInArray({5, 6}), 5);
}

}  // namespace
