// The grammar in C++. tests/robustness/problem/test_grammar.py has the same cases for Python.
#include "tests/cc/cpu/problem_line.h"

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

TEST(ProblemLine, IsPrintedInOneOrderWithoutDefaults) {
  EXPECT_EQ(Printed("H=5 L=2 T=3 cell=gru B=2 I=4 D=2 type=float64 order=batch lengths=3,1"),
            "op=CudnnRNNV3 cell=gru T=3 B=2 I=4 H=5 L=2 D=2 type=float64 lengths=3,1 order=batch");
  EXPECT_EQ(Printed("op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 mask=both bias=no run=inference"),
            "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 mask=both bias=no run=inference");
  EXPECT_EQ(
      Printed("op=LayerRNN cell=gru_reset_before recurrent_activation=hard_sigmoid T=3 B=2 I=4 "
              "activation=linear H=5"),
      "op=LayerRNN cell=gru_reset_before T=3 B=2 I=4 H=5 activation=linear "
      "recurrent_activation=hard_sigmoid");
  EXPECT_EQ(Printed("op=LayerRNN T=3 B=2 I=4 H=5 zoneout_c=1 zoneout_h=.25"),
            "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 zoneout_h=0.25 zoneout_c=1");
  EXPECT_EQ(Printed("op=LayerRNN T=3 B=2 I=4 H=5 epsilon=1e-3 norm=yes"),
            "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 norm=yes epsilon=0.001");
  EXPECT_EQ(Printed("op=LayerRNN run=inference T=3 type=int8 B=2 I=4 H=5 P=7"),
            "op=LayerRNN cell=lstm T=3 B=2 I=4 H=5 P=7 type=int8 run=inference");
  EXPECT_EQ(Printed("op=BlockLSTMV2 T=3 B=2 I=4 H=5 lengths=2 clip=0.5 peephole=yes"),
            "op=BlockLSTMV2 T=3 B=2 I=4 H=5 lengths=2 clip=0.5 peephole=yes");
  EXPECT_EQ(Printed("op=LinearRecurrence adjoint=yes slopes=gates H=5 B=2 T=3 cell=gru"),
            "op=LinearRecurrence cell=gru T=3 B=2 H=5 slopes=gates adjoint=yes");
  EXPECT_EQ(Printed("op=LinearRecurrence T=3 B=2 H=5 type=float64 slopes=none"),
            "op=LinearRecurrence cell=lstm T=3 B=2 H=5 type=float64 slopes=none");
  EXPECT_EQ(Printed("T=3 B=2 I=4 H=4 P=4 input=auto"),
            "op=CudnnRNNV3 cell=lstm T=3 B=2 I=4 H=4 input=skip");
}

TEST(ProblemLine, RefusesWhatIsNoProblem) {
  for (const char* text : {"lstm",
                           "H=0",
                           "H=",
                           "H=x",
                           "T=-1",
                           "H=2 H=2",
                           "cell=rnn",
                           "type=int4",
                           "type=int8 run=inference",
                           "op=BlockLSTMV2 type=int8 run=inference",
                           "op=LinearRecurrence type=int8",
                           "op=LayerRNN type=int8",
                           "op=LayerRNN type=int8 run=training",
                           "op=LayerRNN type=int8 run=inference mask=both",
                           "op=LayerRNN type=int8 run=inference clip=0.5",
                           "op=LayerRNN type=int8 run=inference P=1 proj_clip=0.5",
                           "op=LayerRNN type=int8 run=inference peephole=yes",
                           "op=LayerRNN type=int8 run=inference norm=yes",
                           "op=LayerRNN type=int8 run=inference zoneout_h=0.5",
                           "P=3 H=2",
                           "P=1 H=2 cell=gru",
                           "D=3",
                           "input=skip I=2 H=3",
                           "op=LayerRNN L=2",
                           "cell=gru_reset_before",
                           "activation=relu",
                           "op=LayerRNN cell=tanh activation=relu",
                           "op=LayerRNN cell=relu recurrent_activation=tanh",
                           "op=LayerRNN activation=softmax",
                           "op=BlockLSTMV2 mask=both",
                           "mask=both",
                           "lengths=3 T=2",
                           "lengths=1,2 B=3 T=2",
                           "lengths=1,2,1 B=2 T=2",
                           "dropout=1",
                           "op=LayerRNN dropout=0.5",
                           "op=Other",
                           "run=backwards",
                           "op=LinearRecurrence I=2",
                           "op=LinearRecurrence cell=relu",
                           "op=LinearRecurrence type=float16",
                           "op=LinearRecurrence slopes=some",
                           "adjoint=yes",
                           "op=LayerRNN norm=yes epsilon=0",
                           "op=LayerRNN epsilon=0.5",
                           "op=LayerRNN norm=yes epsilon=2",
                           "op=LayerRNN zoneout_h=1.5",
                           "op=LayerRNN cell=gru zoneout_c=0.5",
                           "op=LayerRNN cell=tanh zoneout_h=0.5",
                           "op=LayerRNN norm=yes zoneout_c=0.5",
                           "op=LayerRNN drawn=yes",
                           "op=LayerRNN zoneout_h=0.5 drawn=yes run=packed",
                           "sizes=3"}) {
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
