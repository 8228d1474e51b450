// Tests the tables of the ops through the functions that read them.
#include "cc/core/op/op_spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cc/core/op/call_tensors.h"
#include "cc/core/op/rnn_config.h"
#include "tests/cc/core/expect_invalid.h"

namespace rnn_ops {
namespace {

using Value = std::variant<std::string, int64_t, float, bool>;

// The attributes of a node, all with values other than the defaults. Reading the attribute `fails`
// returns an error.
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
    SCOPED_TRACE(op.spec->inputs[0].name());
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
      EXPECT_EQ(asked.back(), name) << "no attribute is read after a failure";
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

TEST(OpSpec, PlacesOfTensors) {
  EXPECT_EQ(kCudnnRnnV3.Input(Arg::input), 0);
  EXPECT_EQ(kCudnnRnnV3.Input(Arg::sequence_lengths), 4);
  EXPECT_EQ(kCudnnRnnV3.Input(Arg::output), kAbsent);
  EXPECT_EQ(kCudnnRnnV3.Output(Arg::output), 0);
  EXPECT_EQ(kCudnnRnnV3.Output(Arg::host_reserved), 4);
  EXPECT_EQ(kCudnnRnnV3.Output(Arg::input), kAbsent);
  EXPECT_EQ(kCudnnRnnV3.inputs[4].name(), "sequence_lengths");
  EXPECT_EQ(kBlockLstm.output(1).name(), "cs");
}

// Inputs before and after the inputs with a gradient have no gradient.
TEST(OpSpec, GradientsAreThoseOfSomeInputs) {
  for (const OpSpec* op : {&kCudnnRnnBackpropV1, &kCudnnRnnBackpropV2, &kCudnnRnnBackpropV3}) {
    EXPECT_EQ(op->num_outputs(), 4);
    EXPECT_EQ(op->Output(Arg::params), 3);
  }
  EXPECT_EQ(kCudnnRnnBackpropV3.Output(Arg::sequence_lengths), kAbsent);
  const OpSpec& layer = kLayerRnnBackprop;
  EXPECT_EQ(layer.num_outputs(), 9);
  EXPECT_EQ(layer.Output(Arg::input), 0);
  EXPECT_EQ(layer.Output(Arg::peepholes), 7);
  EXPECT_EQ(layer.Output(Arg::sequence_lengths), kAbsent);
  EXPECT_EQ(layer.Output(Arg::x), kAbsent);
  EXPECT_EQ(layer.output(7).name(), "peepholes");
  EXPECT_EQ(layer.Output(Arg::layer_norm), 8);
  const OpSpec& block = kBlockLstmGrad;
  EXPECT_EQ(block.num_outputs(), 8);
  EXPECT_EQ(block.Output(Arg::seq_len_max), kAbsent);
  EXPECT_EQ(block.Output(Arg::x), 0);
  EXPECT_EQ(block.Output(Arg::b), 7);
  EXPECT_EQ(block.Output(Arg::i), kAbsent);
  EXPECT_EQ(block.output(0).name(), "x");
}

TEST(CallTensors, WhatAnOpOrACallLacksIsNull) {
  float params[3], gradient[3];
  CallTensors tensors;
  EXPECT_EQ(tensors.in(Arg::params), nullptr);
  EXPECT_EQ(tensors.in_elements(Arg::params), 0);
  tensors.SetInput(Arg::params, params, ElementType::kFloat32, 3);
  EXPECT_EQ(tensors.in<float>(Arg::params), params);
  EXPECT_EQ(tensors.out(Arg::params), nullptr) << "an input is not an output";
  EXPECT_EQ(tensors.out_elements(Arg::params), 0) << "an input is not an output";
  tensors.SetOutput(Arg::params, gradient, ElementType::kFloat32, 2);
  EXPECT_EQ(tensors.in<float>(Arg::params), params);
  EXPECT_EQ(tensors.out<float>(Arg::params), gradient);
  EXPECT_EQ(tensors.in_elements(Arg::params), 3);
  EXPECT_EQ(tensors.out_elements(Arg::params), 2);
  EXPECT_EQ(tensors.in(Arg::input), nullptr);
}

// An absent input after the output of the same name does not change the output.
TEST(CallTensors, AnAbsentInputKeepsItsGradient) {
  double gradient[3];
  CallTensors tensors;
  tensors.SetOutput(Arg::bias, gradient, ElementType::kFloat64, 3);
  tensors.SetInput(Arg::bias, nullptr, ElementType::kFloat64, 0);
  EXPECT_EQ(tensors.out_elements(Arg::bias), 3);
  EXPECT_EQ(tensors.out<double>(Arg::bias), gradient);
  EXPECT_EQ(tensors.in<double>(Arg::bias), nullptr);
}

TEST(CallTensorsDeathTest, APointerOfAnotherTypeIsNotHandedOut) {
  int8_t data[16];
  CallTensors tensors;
  tensors.SetInput(Arg::kernel, data, ElementType::kBFloat16, 4);
  tensors.SetOutput(Arg::kernel, data, ElementType::kBFloat16, 4);
  EXPECT_EQ(tensors.in(Arg::kernel), data);
  EXPECT_DEATH(tensors.in<float>(Arg::kernel), "IsOf");
  EXPECT_DEATH(tensors.out<float>(Arg::kernel), "IsOf");
  tensors.SetInput(Arg::kernel, data, ElementType::kInt8, 4);
  EXPECT_EQ(tensors.in<int8_t>(Arg::kernel), data);
  EXPECT_DEATH(tensors.in<double>(Arg::kernel), "IsOf");
  EXPECT_DEATH(tensors.out<float>(Arg::kernel), "IsOf");
}

TEST(OpSpec, TypesOfTensors) {
  const auto type = [](const OpSpec& op, Arg arg) {
    return op.inputs[op.Input(arg)].TypeIn(kFloat16);
  };
  EXPECT_EQ(type(kQuantizedLayerRnn, Arg::input), ElementType::kFloat16);
  EXPECT_EQ(type(kQuantizedLayerRnn, Arg::kernel), ElementType::kInt8);
  EXPECT_EQ(type(kQuantizedLayerRnn, Arg::kernel_scale), ElementType::kFloat32);
  EXPECT_EQ(type(kQuantizedLayerRnn, Arg::sequence_lengths), ElementType::kOther);
  EXPECT_EQ(type(kCudnnRnnBackpropV3, Arg::reserve_space), ElementType::kOther);
}

TEST(OpSpec, OpaqueBuffersAndIntegersHaveNoNumbers) {
  const auto has_numbers = [](const OpSpec& op, Arg arg) {
    return op.inputs[op.Input(arg)].has_numbers();
  };
  EXPECT_TRUE(has_numbers(kLayerRnnBackprop, Arg::bias));
  EXPECT_TRUE(has_numbers(kCudnnRnnBackpropV3, Arg::params));
  EXPECT_FALSE(has_numbers(kCudnnRnnBackpropV3, Arg::reserve_space));
  EXPECT_FALSE(has_numbers(kCudnnRnnBackpropV3, Arg::sequence_lengths));
  EXPECT_FALSE(has_numbers(kLayerRnnPacked, Arg::packed));
}

}  // namespace
}  // namespace rnn_ops
