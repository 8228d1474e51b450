// Tests the kernels whose blocks of threads compute a row: with threads of the host, as a device
// compiler sees their source, against the form that the other tests run, of one thread.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "tests/cc/gpu/fake_block.h"
#include "tests/cc/gpu/host_kernels.h"

namespace rnn_ops::gpu {
namespace {

using elementwise_block::LayerBackStep;
using elementwise_block::LayerCall;
using elementwise_block::LayerStep;

constexpr int64_t kBatch = 5, kGates = 4;

// The memory of one step and its gradient.
struct Memory {
  explicit Memory(int64_t units) : H(units) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (auto* vec : {&gates, &from_h, &c_prev, &bias, &norm, &dy, &dh_n, &dc_n, &dh, &dc}) {
      vec->resize(18 * kGates * kBatch * H);
      for (double& value : *vec) value = uniform(random);
    }
    for (auto* vec :
         {&c, &y, &h_n, &c_n, &dgates_x, &dgates_h, &dsums, &c_unit, &dc_scaled, &stats})
      vec->resize(kGates * kBatch * H);
  }

  LayerCall Call() {
    LayerCall call = {};
    call.batch = kBatch, call.units = call.hidden = H, call.max_time = 3;
    call.lengths = lengths;
    call.bias = bias.data(), call.layer_norm = norm.data();
    call.header = &reserve.header, call.fingerprint = reserve.header.fingerprint;
    call.bias_rows = 1, call.gates = kGates, call.saved = 2 * kGates;
    call.recurrent_activation = elementwise_block::kSigmoidNumber;
    call.epsilon = 0.5f;
    return call;
  }
  LayerStep Forward() {
    LayerStep step = {};
    step.call = Call();
    step.t = 1;
    step.gates = gates.data(), step.from_h = from_h.data();
    step.c_prev = c_prev.data(), step.c = c.data();
    step.y = y.data(), step.h_n = h_n.data(), step.c_n = c_n.data();
    return step;
  }
  LayerBackStep Backward() {
    LayerBackStep step = {};
    step.call = Call();
    step.t = 1;
    step.gates = gates.data(), step.c_prev = c_prev.data(), step.c = c.data();
    step.dy = dy.data(), step.dh_n = dh_n.data(), step.dc_n = dc_n.data();
    step.dh = dh.data(), step.products = 1;
    step.dc = dc.data();
    step.dgates_x = dgates_x.data(), step.dgates_h = dgates_h.data();
    step.dsums = dsums.data(), step.c_unit = c_unit.data(), step.dc_scaled = dc_scaled.data();
    step.stats = stats.data();
    return step;
  }

  const int64_t H;
  // Finished, at its last step, before it, without steps, invalid.
  const int lengths[kBatch] = {1, 2, 3, 0, -1};
  struct {
    elementwise_block::ReserveHeader header;
    int steps[kBatch];
  } reserve = {{7, {0, 0}}, {1, 2, 3, 0, 3}};
  std::vector<double> gates, from_h, c_prev, bias, norm, dy, dh_n, dc_n, dh, dc;
  std::vector<double> c, y, h_n, c_n, dgates_x, dgates_h, dsums, c_unit, dc_scaled, stats;
};

void ExpectNear(const std::vector<double>& got, const std::vector<double>& want) {
  for (size_t k = 0; k < want.size(); ++k) {
    if (std::isnan(want[k])) {
      EXPECT_TRUE(std::isnan(got[k])) << k;
    } else {
      ASSERT_NEAR(got[k], want[k], 1e-11) << k;
    }
  }
}

void RunOneThread(const char* name, const void* args) {
  const fake::HostKernel* kernel = fake::FindHostKernel(name);
  ASSERT_NE(kernel, nullptr);
  fake::RunHostKernel(*kernel, {1, kBatch, 1}, args);
}

// `units`: fewer than a warp, several warps, and more units than threads. `blocks`: one for each
// row, or fewer, which loop.
void Check(int64_t units, unsigned threads, unsigned blocks) {
  SCOPED_TRACE(units);
  Memory got(units), want(units);
  const LayerStep step = got.Forward();
  fake::RunBlocks(threads, blocks, [&] { elementwise_block::StepLayerNorm<double>(step); });
  const LayerStep host_step = want.Forward();
  RunOneThread("row_layer_norm_step_f64", &host_step);
  for (auto field : {&Memory::gates, &Memory::c, &Memory::y, &Memory::h_n, &Memory::c_n}) {
    ExpectNear(got.*field, want.*field);
  }
  const LayerBackStep back = got.Backward();
  fake::RunBlocks(threads, blocks, [&] { elementwise_block::BackLayerNorm<double>(back); });
  const LayerBackStep host_back = want.Backward();
  RunOneThread("row_layer_norm_back_f64", &host_back);
  for (auto field : {&Memory::dgates_x, &Memory::dgates_h, &Memory::dsums, &Memory::c_unit,
                     &Memory::dc_scaled, &Memory::stats, &Memory::dc}) {
    ExpectNear(got.*field, want.*field);
  }
}

TEST(RowKernels, ABlockOfThreadsComputesWhatOneDoes) {
  for (unsigned blocks : {5u, 2u}) {
    Check(3, 32, blocks);
    Check(70, 96, blocks);
    Check(150, 64, blocks);
  }
}

}  // namespace
}  // namespace rnn_ops::gpu
