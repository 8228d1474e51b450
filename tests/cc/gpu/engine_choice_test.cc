#include "cc/gpu/engine_choice.h"

#include <algorithm>
#include <cstdint>

#include "cc/gpu/launch/persistent_kernels.h"
#include "gtest/gtest.h"

namespace rnn_ops::gpu {
namespace {

constexpr DeviceTraits kH100 = {9, 0, 132};
constexpr LayerAlgorithm kSteps = LayerAlgorithm::kSteps;
constexpr LayerAlgorithm kPersistent = LayerAlgorithm::kPersistent;

RnnConfig Network(RnnMode mode, int64_t units, int64_t batch) {
  RnnConfig c;
  c.mode = mode;
  c.num_units = c.input_size = units;
  c.batch = batch;
  c.max_time = 50;
  return c;
}

EngineChoice Choose(const RnnConfig& c, Dtype dtype = Dtype::kFloat32,
                    const DeviceTraits& gpu = kH100) {
  return ChooseEngine(EnginePolicy::kHeuristic, c, dtype, KernelKind::kUsual, gpu);
}

// Sizes of runs on the H100 and the H200 in which the times differ by more than their noise
// (docs/design/measurements.md, "Persistent kernels").
TEST(EngineChoice, TheFastestOfTheMeasuredRows) {
  const struct {
    RnnMode mode;
    Dtype dtype;
    int64_t units, batch;
    bool replaces_cudnn;
  } rows[] = {
      {RnnMode::kLstm, Dtype::kFloat32, 128, 64, false},
      {RnnMode::kLstm, Dtype::kFloat32, 192, 8, true},
      {RnnMode::kLstm, Dtype::kFloat32, 256, 1, false},
      {RnnMode::kLstm, Dtype::kFloat32, 256, 16, true},
      {RnnMode::kLstm, Dtype::kFloat32, 256, 128, true},
      {RnnMode::kLstm, Dtype::kFloat32, 512, 64, true},
      {RnnMode::kLstm, Dtype::kFloat32, 512, 128, false},
      {RnnMode::kLstm, Dtype::kFloat32, 1024, 16, true},
      {RnnMode::kLstm, Dtype::kFloat32, 512, 80, true},
      {RnnMode::kLstm, Dtype::kFloat32, 1024, 24, true},
      {RnnMode::kLstm, Dtype::kFloat32, 1024, 64, true},
      {RnnMode::kLstm, Dtype::kFloat32, 1024, 128, false},
      {RnnMode::kGru, Dtype::kFloat32, 128, 8, false},
      {RnnMode::kGru, Dtype::kFloat32, 512, 16, true},
      {RnnMode::kTanh, Dtype::kFloat32, 256, 16, false},
      {RnnMode::kTanh, Dtype::kFloat32, 512, 16, true},
      {RnnMode::kTanh, Dtype::kFloat32, 1024, 24, true},
      {RnnMode::kTanh, Dtype::kFloat32, 1024, 128, false},
      {RnnMode::kLstm, Dtype::kBFloat16, 256, 1, false},
      {RnnMode::kLstm, Dtype::kBFloat16, 256, 4, true},
      {RnnMode::kLstm, Dtype::kBFloat16, 512, 128, true},
      {RnnMode::kLstm, Dtype::kBFloat16, 1024, 80, true},
      {RnnMode::kLstm, Dtype::kBFloat16, 1024, 128, false},
      {RnnMode::kTanh, Dtype::kBFloat16, 1024, 128, true},
      {RnnMode::kLstm, Dtype::kFloat16, 512, 16, false},
      {RnnMode::kLstm, Dtype::kFloat16, 256, 64, false},  // slower for few steps, or two directions
      {RnnMode::kLstm, Dtype::kFloat16, 192, 16, true},
      {RnnMode::kLstm, Dtype::kFloat16, 1024, 64, false},
      {RnnMode::kGru, Dtype::kFloat16, 256, 1, false},
      {RnnMode::kGru, Dtype::kFloat16, 1024, 64, true},
      {RnnMode::kTanh, Dtype::kFloat16, 512, 128, false},
      {RnnMode::kLstm, Dtype::kFloat64, 512, 16, false},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Choose(Network(row.mode, row.units, row.batch), row.dtype).replaces_cudnn,
              row.replaces_cudnn)
        << static_cast<int>(row.mode) << " " << row.dtype << " " << row.units << " " << row.batch;
  }
}

TEST(EngineChoice, PersistentKernelsWhereTheyAreFasterThanSteps) {
  const struct {
    RnnMode mode;
    Dtype dtype;
    int64_t units, batch;
    LayerAlgorithm steps;
  } rows[] = {
      {RnnMode::kLstm, Dtype::kFloat32, 64, 1, kPersistent},
      {RnnMode::kLstm, Dtype::kFloat32, 512, 64, kPersistent},
      {RnnMode::kLstm, Dtype::kFloat32, 512, 81, kSteps},
      {RnnMode::kVanilla, Dtype::kFloat32, 512, 128, kPersistent},
      {RnnMode::kGru, Dtype::kFloat32, 1024, 64, kPersistent},
      {RnnMode::kGru, Dtype::kFloat32, 1024, 65, kSteps},
      {RnnMode::kGru, Dtype::kBFloat16, 1024, 128, kPersistent},
      {RnnMode::kGru, Dtype::kBFloat16, 1024, 129, kSteps},
  };
  for (const auto& row : rows) {
    const EngineChoice choice = Choose(Network(row.mode, row.units, row.batch), row.dtype);
    EXPECT_EQ(choice.forward, row.steps)
        << static_cast<int>(row.mode) << " " << row.dtype << " " << row.units << " " << row.batch;
    EXPECT_EQ(choice.backward, row.steps);
  }
}

// Its gradient has no kernel.
TEST(EngineChoice, TheGruWithTwoProductsInAStep) {
  const EngineChoice choice = Choose(Network(RnnMode::kGruResetBefore, 512, 64));
  EXPECT_EQ(choice.forward, kPersistent);
  EXPECT_EQ(choice.backward, kSteps);
  EXPECT_EQ(Choose(Network(RnnMode::kGruResetBefore, 512, 65)).forward, kSteps);
}

TEST(EngineChoice, GeneralKernelsHaveTheirRows) {
  const RnnConfig large = Network(RnnMode::kLstm, 1024, 16);
  const EngineChoice choice =
      ChooseEngine(EnginePolicy::kHeuristic, large, Dtype::kFloat32, KernelKind::kGeneral, kH100);
  EXPECT_EQ(choice.forward, kSteps);  // its weights do not fit the registers
  EXPECT_EQ(choice.backward, kPersistent);
  EXPECT_EQ(Choose(large).forward, kPersistent);
  for (int64_t batch : {32, 64}) {
    const RnnConfig c = Network(RnnMode::kLstm, 512, batch);
    const EngineChoice general =
        ChooseEngine(EnginePolicy::kHeuristic, c, Dtype::kFloat32, KernelKind::kGeneral, kH100);
    EXPECT_EQ(general.forward, batch == 32 ? kPersistent : kSteps);
    EXPECT_EQ(general.backward, kPersistent);
  }
}

// Otherwise the steps would run one by one, which are slower than cuDNN.
TEST(EngineChoice, WhatReplacesCudnnHasItsKernels) {
  int64_t replaced = 0;
  for (RnnMode mode : {RnnMode::kLstm, RnnMode::kGru, RnnMode::kTanh, RnnMode::kRelu}) {
    for (Dtype dtype : {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16}) {
      for (int64_t units = 1; units <= 1025; ++units) {
        for (int64_t batch : {1, 4, 5, 8, 16, 17, 64, 65, 128, 129}) {
          const EngineChoice choice = Choose(Network(mode, units, batch), dtype);
          if (!choice.replaces_cudnn) continue;
          ++replaced;
          ASSERT_EQ(choice.forward, kPersistent) << units << " " << batch;
          ASSERT_EQ(choice.backward, kPersistent) << units << " " << batch;
          for (PersistentPass pass : {PersistentPass::kForward, PersistentPass::kBackward}) {
            const PersistentKernel* const kernel = FindPersistentKernel(
                {pass, mode, dtype, units, std::min<int64_t>(batch, 64), /*is_general=*/false});
            ASSERT_NE(kernel, nullptr) << units << " " << batch;
            ASSERT_LE(kernel->Blocks(units), 128) << units << " " << batch;
          }
        }
      }
    }
  }
  EXPECT_GT(replaced, 10000);
}

TEST(EngineChoice, WhatWasNotMeasuredRunsAsBefore) {
  const RnnConfig fast = Network(RnnMode::kLstm, 256, 16);
  ASSERT_TRUE(Choose(fast).replaces_cudnn);
  for (const DeviceTraits& gpu : {DeviceTraits{8, 0, 108}, DeviceTraits{8, 0, 132},
                                  DeviceTraits{9, 0, 114}, DeviceTraits{10, 0, 148}}) {
    const EngineChoice choice = Choose(fast, Dtype::kFloat32, gpu);
    EXPECT_FALSE(choice.replaces_cudnn) << gpu.major << " " << gpu.multiprocessors;
    EXPECT_EQ(choice.forward, kSteps) << gpu.major << " " << gpu.multiprocessors;
    EXPECT_EQ(choice.backward, kSteps) << gpu.major << " " << gpu.multiprocessors;
  }
  RnnConfig other = fast;
  other.num_proj = 100;
  EXPECT_FALSE(Choose(other).replaces_cudnn);
  other = fast;
  other.cell_clip = 1;
  EXPECT_FALSE(Choose(other).replaces_cudnn);
  other = fast;
  other.input_mode = InputMode::kSkip;
  EXPECT_FALSE(Choose(other).replaces_cudnn);
  other = fast;
  other.max_time = 65537;
  EXPECT_FALSE(Choose(other).replaces_cudnn);
  EXPECT_FALSE(Choose(Network(RnnMode::kLstm, 1025, 16), Dtype::kBFloat16).replaces_cudnn);
}

TEST(EngineChoice, TheEnvironmentVariable) {
  const RnnConfig fast = Network(RnnMode::kLstm, 256, 16);
  const struct {
    const char* text;
    bool replaces_cudnn;
    LayerAlgorithm steps;
  } values[] = {{nullptr, true, kPersistent},     {"", true, kPersistent},
                {"heuristic", true, kPersistent}, {"cudnn", false, kSteps},
                {"steps", true, kSteps},          {"persistent", true, kPersistent}};
  EnginePolicy policy;
  for (const auto& value : values) {
    ASSERT_TRUE(ParseEnginePolicy(value.text, &policy).ok());
    const EngineChoice choice =
        ChooseEngine(policy, fast, Dtype::kFloat32, KernelKind::kUsual, kH100);
    EXPECT_EQ(choice.replaces_cudnn, value.replaces_cudnn);
    EXPECT_EQ(choice.forward, value.steps);
    EXPECT_EQ(choice.backward, value.steps);
  }
  const Status status = ParseEnginePolicy("fast", &policy);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(
      status.message(),
      "TF_RNN_OPS_GPU_ALGO must be one of heuristic, cudnn, persistent, steps, but it is 'fast'.");
}

}  // namespace
}  // namespace rnn_ops::gpu
