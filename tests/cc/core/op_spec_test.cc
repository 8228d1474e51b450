// The tables of the ops, by what is read through them.
#include "cc/core/op_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cc/core/call_tensors.h"
#include "cc/core/read_attrs.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

using Value = std::variant<std::string, int64_t, float, bool>;

// The attributes of a node, none with the value of a default; `fails` is the one that cannot be
// read.
struct Node {
  std::map<std::string, Value> values = {
      {"rnn_mode", "lstm"},
      {"input_mode", "skip_input"},
      {"direction", "bidirectional"},
      {"activation", "relu"},
      {"cell_clip", 2.0f},
      {"recurrent_activation", "linear"},
      {"proj_clip", 3.0f},
      {"zoneout_h", 0.25f},
      {"zoneout_c", 0.125f},
      {"dropout", 0.5f},
      {"seed", int64_t{7}},
      {"seed2", int64_t{8}},
      {"num_proj", int64_t{9}},
      {"is_training", false},
      {"time_major", false},
      {"layer_norm_epsilon", 0.5f},
  };
  std::string fails;

  Status Read(const AttrSet& has, RnnAttrs* attrs, std::vector<std::string>* asked) const {
    const auto get = [&](const char* name, auto* value) {
      asked->push_back(name);
      if (fails == name) return Internal("cannot read ", name);
      *value = std::get<std::decay_t<decltype(*value)>>(values.at(name));
      return Status();
    };
    return ReadAttrs(has, get, attrs);
  }
};

struct Op {
  const OpSpec* spec;
  std::vector<std::string> attrs;
  bool is_training;
};

std::vector<Op> Ops() {
  const std::vector<std::string> stack = {"rnn_mode", "input_mode", "direction"};
  const std::vector<std::string> layer = {"rnn_mode",  "activation",         "recurrent_activation",
                                          "cell_clip", "proj_clip",          "zoneout_h",
                                          "zoneout_c", "layer_norm_epsilon", "time_major"};
  const auto with = [](std::vector<std::string> names, std::vector<std::string> more) {
    names.insert(names.end(), more.begin(), more.end());
    return names;
  };
  const std::vector<std::string> first = with(stack, {"dropout", "seed", "seed2"});
  const std::vector<std::string> back = with(first, {"num_proj", "time_major"});
  return {
      {&kCudnnRnnV1, with(first, {"is_training"}), false},
      {&kCudnnRnnV2, with(first, {"is_training"}), false},
      {&kCudnnRnnV3, with(back, {"is_training"}), false},
      {&kStatelessCudnnRnnV3, with(stack, {"dropout", "num_proj", "time_major"}), true},
      {&kCudnnRnnV3Packed, with(stack, {"num_proj", "time_major"}), false},
      {&kPackCudnnRnnParams, with(stack, {"num_proj"}), false},
      {&kCudnnRnnBackpropV1, first, true},
      {&kCudnnRnnBackpropV2, first, true},
      {&kCudnnRnnBackpropV3, back, true},
      {&kLayerRnn, with(layer, {"is_training"}), false},
      {&kLayerRnnPacked, layer, false},
      {&kLayerRnnBackprop, layer, true},
      {&kPackLayerRnn, {"rnn_mode"}, false},
      {&kLinearRecurrence, {"rnn_mode"}, false},
  };
}

TEST(ReadAttrs, ReadsThoseThatTheOpHasAndNoOthers) {
  for (const Op& op : Ops()) {
    SCOPED_TRACE(op.spec->inputs[0].name);
    const auto has = [&op](const char* name) {
      return std::count(op.attrs.begin(), op.attrs.end(), name) == 1;
    };
    RnnAttrs attrs;
    std::vector<std::string> asked;
    ASSERT_TRUE(Node().Read(op.spec->attrs, &attrs, &asked).ok());
    EXPECT_TRUE(std::is_permutation(asked.begin(), asked.end(), op.attrs.begin(), op.attrs.end()))
        << testing::PrintToString(asked);
    EXPECT_EQ(attrs.mode, RnnMode::kLstm);
    EXPECT_EQ(attrs.input_mode, has("input_mode") ? InputMode::kSkip : InputMode::kLinear);
    EXPECT_EQ(attrs.num_dirs(), has("direction") ? 2 : 1);
    EXPECT_EQ(attrs.activation, has("activation") ? Activation::kRelu : Activation::kTanh);
    EXPECT_EQ(attrs.recurrent_activation,
              has("recurrent_activation") ? Activation::kLinear : Activation::kSigmoid);
    EXPECT_EQ(attrs.cell_clip, has("cell_clip") ? 2 : 0);
    EXPECT_EQ(attrs.proj_clip, has("proj_clip") ? 3 : 0);
    EXPECT_EQ(attrs.zoneout_h, has("zoneout_h") ? 0.25f : 0);
    EXPECT_EQ(attrs.zoneout_c, has("zoneout_c") ? 0.125f : 0);
    EXPECT_EQ(attrs.layer_norm_epsilon, has("layer_norm_epsilon") ? 0.5f : 1e-3f);
    EXPECT_EQ(attrs.dropout, has("dropout") ? 0.5f : 0);
    EXPECT_EQ(attrs.seed, has("seed") ? 7 : 0);
    EXPECT_EQ(attrs.seed2, has("seed2") ? 8 : 0);
    EXPECT_EQ(attrs.num_proj, has("num_proj") ? 9 : 0);
    EXPECT_EQ(attrs.is_training, op.is_training);
    EXPECT_EQ(attrs.time_major, !has("time_major"));
  }
}

TEST(ReadAttrs, PassesOnWhatCannotBeRead) {
  for (const Op& op : Ops()) {
    for (const std::string& name : op.attrs) {
      Node node;
      node.fails = name;
      RnnAttrs attrs;
      std::vector<std::string> asked;
      const Status status = node.Read(op.spec->attrs, &attrs, &asked);
      EXPECT_EQ(status.message(), "cannot read " + name);
      EXPECT_EQ(asked.back(), name) << "nothing is read behind a failure";
    }
  }
}

TEST(ReadAttrs, RefusesValuesThatNoOpTakes) {
  const auto refuse = [](const OpSpec& op, const std::string& name, const Value& value) {
    Node node;
    node.values[name] = value;
    RnnAttrs attrs;
    std::vector<std::string> asked;
    ExpectInvalid(node.Read(op.attrs, &attrs, &asked), {name.c_str()});
  };
  for (const char* name : {"rnn_mode", "input_mode", "direction"}) refuse(kCudnnRnnV3, name, "x");
  for (const char* name : {"activation", "recurrent_activation"}) refuse(kLayerRnn, name, "x");
  refuse(kLayerRnn, "cell_clip", -1.0f);
  refuse(kLayerRnn, "zoneout_h", 1.5f);
  refuse(kLayerRnn, "layer_norm_epsilon", 0.0f);
  refuse(kCudnnRnnV3, "dropout", 2.0f);
  refuse(kCudnnRnnV3, "num_proj", int64_t{-1});
}

TEST(OpSpec, NamesOfTensors) {
  EXPECT_EQ(kCudnnRnnV3.Input("input"), 0);
  EXPECT_EQ(kCudnnRnnV3.Input("sequence_lengths"), 4);
  EXPECT_EQ(kCudnnRnnV3.Input("output"), kAbsent);
  EXPECT_EQ(kCudnnRnnV3.Output("output"), 0);
  EXPECT_EQ(kCudnnRnnV3.Output("host_reserved"), 4);
  EXPECT_EQ(kCudnnRnnV3.Output("input"), kAbsent);
  EXPECT_EQ(kCudnnRnnV3.GradientOf("input"), kAbsent);
}

// Inputs before those that have a gradient, and behind them, have none.
TEST(OpSpec, GradientsAreThoseOfSomeInputs) {
  for (const OpSpec* op : {&kCudnnRnnBackpropV1, &kCudnnRnnBackpropV2, &kCudnnRnnBackpropV3}) {
    EXPECT_EQ(op->num_outputs(), 4);
    EXPECT_EQ(op->GradientOf("params"), 3);
  }
  EXPECT_EQ(kCudnnRnnBackpropV3.GradientOf("sequence_lengths"), kAbsent);
  const OpSpec& layer = kLayerRnnBackprop;
  EXPECT_EQ(layer.num_outputs(), 9);
  EXPECT_EQ(layer.GradientOf("input"), 0);
  EXPECT_EQ(layer.GradientOf("peepholes"), 7);
  EXPECT_EQ(layer.GradientOf("sequence_lengths"), kAbsent);
  EXPECT_EQ(layer.GradientOf("nothing"), kAbsent);
  EXPECT_EQ(layer.output(7).name, "peepholes");
  EXPECT_EQ(layer.GradientOf("layer_norm"), 8);
  const OpSpec& block = kBlockLstmGrad;
  EXPECT_EQ(block.num_outputs(), 8);
  EXPECT_EQ(block.GradientOf("seq_len_max"), kAbsent);
  EXPECT_EQ(block.GradientOf("x"), 0);
  EXPECT_EQ(block.GradientOf("b"), 7);
  EXPECT_EQ(block.GradientOf("i"), kAbsent);
  EXPECT_EQ(block.output(0).name, "x");
}

// Stands for the memory of tensors: every one has its own byte.
struct Memory {
  char inputs[kMaxTensors];
  char outputs[kMaxTensors];

  CallTensors Of(const OpSpec& op) {
    CallTensors tensors(op);
    for (int k = 0; k < op.inputs.count; ++k) tensors.SetInput(k, &inputs[k]);
    for (int k = 0; k < op.num_outputs(); ++k) tensors.SetOutput(k, &outputs[k]);
    return tensors;
  }
};

TEST(CallTensors, WhatAnOpOrACallLacksIsNull) {
  Memory memory;
  CallTensors tensors = memory.Of(kCudnnRnnV1);
  EXPECT_EQ(tensors.in("params"), &memory.inputs[3]);
  EXPECT_EQ(tensors.in("sequence_lengths"), nullptr);
  EXPECT_EQ(tensors.out("output_c"), &memory.outputs[2]);
  EXPECT_EQ(tensors.out("host_reserved"), nullptr);
  EXPECT_EQ(tensors.gradient("input"), nullptr);
  tensors.SetInput(3, nullptr);
  EXPECT_EQ(tensors.in("params"), nullptr);
  EXPECT_EQ(CallTensors(kCudnnRnnV1).in("input"), nullptr);
}

struct RnnForwardArgs {
  const void *x, *h0, *c0, *params;
  void *y, *h_n, *c_n;
};

struct RnnBackwardArgs {
  const void *x, *h0, *c0, *params, *y, *dy, *dh_n, *dc_n;
  void *dx, *dh0, *dc0, *dparams;
};

TEST(CallTensors, ArgumentsOfAnRnn) {
  Memory memory;
  RnnForwardArgs forward;
  SetForward(memory.Of(kCudnnRnnV3), &forward);
  int at = 0;
  for (const void* in : {forward.x, forward.h0, forward.c0, forward.params}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {forward.y, forward.h_n, forward.c_n}) EXPECT_EQ(out, &memory.outputs[at++]);
  RnnBackwardArgs back;
  SetBackward(memory.Of(kCudnnRnnBackpropV1), &back);
  at = 0;
  for (const void* in : {back.x, back.h0, back.c0, back.params, back.y}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 7;  // behind output_h and output_c
  for (const void* in : {back.dy, back.dh_n, back.dc_n}) EXPECT_EQ(in, &memory.inputs[at++]);
  at = 0;
  for (void* out : {back.dx, back.dh0, back.dc0, back.dparams}) {
    EXPECT_EQ(out, &memory.outputs[at++]);
  }
}

struct BlockArgs {
  const void *x, *cs_prev, *h_prev, *w, *wci, *wcf, *wco, *b;
};

struct BlockForwardArgs : BlockArgs {
  void *i, *cs, *f, *o, *ci, *co, *h;
};

struct BlockBackwardArgs : BlockArgs {
  const void *i, *cs, *f, *o, *ci, *co, *h, *cs_grad, *h_grad;
  void *x_grad, *cs_prev_grad, *h_prev_grad, *w_grad, *wci_grad, *wcf_grad, *wco_grad, *b_grad;
};

TEST(CallTensors, ArgumentsOfABlockLstm) {
  Memory memory;
  BlockForwardArgs a;
  SetBlockLstmForward(memory.Of(kBlockLstm), &a);
  int at = 1;
  for (const void* in : {a.x, a.cs_prev, a.h_prev, a.w, a.wci, a.wcf, a.wco, a.b}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {a.i, a.cs, a.f, a.o, a.ci, a.co, a.h}) EXPECT_EQ(out, &memory.outputs[at++]);
  BlockBackwardArgs g;
  SetBlockLstmBackward(memory.Of(kBlockLstmGrad), &g);
  at = 1;
  for (const void* in : {g.x, g.cs_prev, g.h_prev, g.w, g.wci, g.wcf, g.wco, g.b, g.i, g.cs, g.f,
                         g.o, g.ci, g.co, g.h, g.cs_grad, g.h_grad}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {g.x_grad, g.cs_prev_grad, g.h_prev_grad, g.w_grad, g.wci_grad, g.wcf_grad,
                    g.wco_grad, g.b_grad}) {
    EXPECT_EQ(out, &memory.outputs[at++]);
  }
}

}  // namespace
}  // namespace rnn_ops
