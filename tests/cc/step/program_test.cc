// The memory of a program, and graphs that export() does not write.

#include "cc/step/program.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cc/core/runtime/machine_limits.h"
#include "gtest/gtest.h"
#include "tests/cc/step/written_file.h"

namespace rnn_ops::step {
namespace {

using testing::Weights;
using testing::WriteFile;

TEST(Memory, HasHalfOfTheMachine) {
  const int64_t most = AvailableMemory() / 2;
  ASSERT_GT(most, 0);
  Memory memory;
  EXPECT_FALSE(memory.Take(most + 1));
  EXPECT_TRUE(memory.Take(most - 100));
  EXPECT_TRUE(memory.Plan(60));
  EXPECT_FALSE(memory.Plan(60)) << "the plans add up";
  memory.ForgetPlan();
  EXPECT_TRUE(memory.Plan(60));
  EXPECT_FALSE(memory.Take(60)) << "what is planned is kept free";
  EXPECT_TRUE(memory.Take(40));
  memory.GiveBack(most - 60);
  EXPECT_TRUE(memory.Take(most - 60));
  EXPECT_FALSE(Memory().Plan(INT64_MAX));
}

TEST(Memory, CountsBlocksWhileTheyExist) {
  const int64_t most = AvailableMemory() / 2, large = int64_t{1} << 20;
  Memory memory;
  ASSERT_TRUE(memory.Take(most - large - 64));
  Block first, second;
  ASSERT_TRUE(first.Resize(large, &memory).ok());
  EXPECT_EQ(first.bytes(), large);
  EXPECT_EQ(second.Resize(large, &memory).code(), Code::kResourceExhausted);
  EXPECT_EQ(second.bytes(), 0);
  second = std::move(first);
  EXPECT_FALSE(first.Resize(large, &memory).ok());
  ASSERT_TRUE(second.Resize(large / 2, &memory).ok()) << "the old memory counts no longer";
  EXPECT_TRUE(first.Resize(large / 2, &memory).ok());
  second = Block();
  EXPECT_TRUE(second.Resize(0, &memory).ok());
  EXPECT_NE(second.as<char>(), nullptr);
}

// The program of nodes behind an input x of [B, T, 2].
Status Build(const std::string& nodes, const std::string& value,
             const std::vector<Weights>& weights, Program* program) {
  const std::string text = WriteFile(
      "{\"inputs\": [{\"name\": \"x\", \"dtype\": \"float32\", \"has_time\": true, "
      "\"dims\": [2]}], \"nodes\": [" +
          nodes + "], \"outputs\": [{\"name\": \"y\", \"value\": \"" + value + "\"}]}",
      weights);
  ModelFile file;
  const Status status = ReadModelFile(text.data(), text.size(), &file);
  if (!status.ok()) return status;
  return BuildProgram(file, 1, 1, 1, program);
}

Status Build(const std::string& nodes, const std::string& value,
             const std::vector<Weights>& weights = {}) {
  Program program;
  return Build(nodes, value, weights, &program);
}

std::string Relu(const std::string& from, const std::string& to) {
  return "{\"op\": \"activation\", \"name\": \"n\", \"activation\": \"relu\", \"inputs\": [\"" +
         from + "\"], \"outputs\": [\"" + to + "\"]}";
}

TEST(Program, OutputsThatNobodyReadHaveNoName) {
  const Status known = Build(Relu("x", "y"), "y");
  ASSERT_TRUE(known.ok()) << known.message();
  EXPECT_TRUE(Build(Relu("x", "") + "," + Relu("x", "") + "," + Relu("x", "y"), "y").ok());
  EXPECT_FALSE(Build(Relu("x", "y") + "," + Relu("x", "y"), "y").ok());
  EXPECT_FALSE(Build(Relu("x", ""), "").ok());
}

TEST(Program, ChecksTheEpsilonOfANormalization) {
  const auto norm = [](const std::string& epsilon) {
    return Build(
        "{\"op\": \"norm\", \"name\": \"n\", \"inputs\": [\"x\"], \"outputs\": [\"y\"], "
        "\"centered\": true, \"epsilon\": " +
            epsilon + ", \"weights\": {\"scale\": \"s\", \"offset\": \"s\"}}",
        "y", {{"s", {2}, {1, 1}}});
  };
  const Status known = norm("0.5");
  ASSERT_TRUE(known.ok()) << known.message();
  EXPECT_TRUE(norm("0").ok());
  EXPECT_FALSE(norm("-1").ok());
  EXPECT_FALSE(norm("1e300").ok());
}

std::string Combine(const std::string& a, const std::string& b, const std::string& to) {
  return "{\"op\": \"combine\", \"name\": \"n\", \"function\": \"add\", \"inputs\": [\"" + a +
         "\", \"" + b + "\"], \"outputs\": [\"" + to + "\"]}";
}

std::string Reshape(const std::string& from, const std::string& to) {
  return "{\"op\": \"reshape\", \"name\": \"n\", \"dims\": [1, 2], \"inputs\": [\"" + from +
         "\"], \"outputs\": [\"" + to + "\"]}";
}

// The values that have memory of the program at once, each in a cache line. y is where the caller
// wants it.
int64_t ValuesInMemory(const std::string& nodes) {
  Program program;
  const Status status = Build(nodes, "y", {}, &program);
  EXPECT_TRUE(status.ok()) << status.message();
  return program.value_memory.bytes() / 64;
}

TEST(Program, ValuesShareMemory) {
  EXPECT_EQ(ValuesInMemory(Relu("x", "y")), 0);
  const std::string chain = Relu("x", "a") + "," + Relu("a", "b") + "," + Relu("b", "c") + ",";
  EXPECT_EQ(ValuesInMemory(chain + Relu("c", "y")), 1) << "an activation is in place";
  EXPECT_EQ(ValuesInMemory(chain + Combine("a", "c", "y")), 2) << "a is needed later";
  EXPECT_EQ(ValuesInMemory(Combine("x", "x", "a") + "," + Combine("x", "a", "b") + "," +
                           Combine("x", "b", "c") + "," + Combine("x", "c", "y")),
            2)
      << "a sum is not in place";
  EXPECT_EQ(ValuesInMemory(Relu("x", "a") + "," + Reshape("a", "b") + "," + Relu("b", "y")), 1)
      << "a reshape copies nothing";
  EXPECT_EQ(ValuesInMemory(Relu("x", "a") + "," + Reshape("a", "b") + "," + Relu("a", "c") + "," +
                           Reshape("c", "d") + "," + Combine("b", "d", "y")),
            2)
      << "a is needed later as b";
}

}  // namespace
}  // namespace rnn_ops::step
