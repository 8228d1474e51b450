#include "tests/cc/cpu/problem_line.h"

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rnn_ops::cpu::testing {
namespace {

std::string Printed(const std::string& text) {
  ProblemLine line;
  const std::string error = ParseProblem(text, &line);
  if (!error.empty()) return "not a problem: " + error;
  switch (line.op) {
    case ProblemOp::kBlockLstm:
      return LineOf(line.block);
    case ProblemOp::kLinearRecurrence:
      return LineOf(line.linear, line.has_states);
    case ProblemOp::kRnn:
      break;
  }
  return LineOf(line.rnn, line.lengths);
}

// The words of a line that LineOf prints as they were read. It prints random lengths as numbers, a
// run on packed weights as inference, and of a stack input=auto as skip or not at all, and no P of
// H.
std::set<std::string> Words(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::set<std::string> found;
  for (std::string word; words >> word;) {
    const std::string key = word.substr(0, word.find('='));
    const bool other = key == "lengths" || key == "run" || key == "input" || key == "P" ||
                       key == "isa" || key == "threads" || key == "seed";
    if (!other) found.insert(word);
  }
  return found;
}

TEST(ProblemLine, PrintsWhatItRead) {
  for (const char* path : {"tests/robustness/problem/smoke.txt", "tests/cc/cpu/problems.txt"}) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::vector<std::string> lines = ProblemLines(text);
    EXPECT_GT(lines.size(), 100u) << path;
    for (const std::string& line : lines) {
      const std::string printed = Printed(line);
      EXPECT_EQ(Words(printed), Words(line)) << line;
      EXPECT_EQ(Printed(printed.substr(0, printed.find('#'))).substr(0, printed.find('#')),
                printed.substr(0, printed.find('#')))
          << line;
    }
  }
  EXPECT_EQ(Printed("T=3 B=2 I=4 H=4 P=4 input=auto"),
            "op=CudnnRNNV3 cell=lstm T=3 B=2 I=4 H=4 input=skip");
  EXPECT_EQ(Printed("op=LayerRNN T=3 B=2 I=4 H=5 P=7 lengths=3,1 run=packed"),
            "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 P=7 lengths=3,1 run=inference");
}

TEST(ProblemLine, RejectsUnknownKeysAndValues) {
  for (const char* text : {"lstm", "H=0", "H=x", "H=2 H=2", "cell=rnn2", "D=3", "lengths=3 T=2",
                           "lengths=1,2,1 B=2 T=2", "op=BlockLSTMV2 mask=both", "sizes=3"}) {
    EXPECT_EQ(Printed(text).rfind("not a problem", 0), 0u) << text;
  }
}

TEST(ProblemLine, NumbersFollowFromTheLine) {
  // The same values as in tests/robustness/problem/test_grammar.py.
  EXPECT_EQ(ProblemWord(7, "x", 0), 0x2BF6377441CBC71Fu);
  ProblemLine line;
  ASSERT_EQ(ParseProblem("T=9 B=4 lengths=random seed=7", &line), "");
  EXPECT_EQ(line.lengths, (std::vector<int32_t>{9, 9, 2, 7}));
}

TEST(ProblemLine, CommentsAndBlankLinesAreLeftOut) {
  EXPECT_EQ(ProblemLines("# a\n\nT=1 # b\n  \nT=2"), (std::vector<std::string>{"T=1 ", "T=2"}));
}

}  // namespace
}  // namespace rnn_ops::cpu::testing
