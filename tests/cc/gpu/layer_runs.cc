#include "tests/cc/gpu/layer_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>

#include "cc/gpu/steps/layer.h"

namespace rnn_ops::gpu::fake {

using R = RnnValues;

LayerProblem ProblemOf(const RnnCase& c) {
  LayerProblem p;
  static_cast<RnnConfig&>(p) = c.problem;
  p.dtype = c.problem.dtype;
  p.bias_rows = c.problem.bias_rows;
  p.has_peepholes = c.problem.has_peepholes, p.has_layer_norm = c.problem.has_layer_norm;
  p.input_masked = c.problem.input_masked, p.recurrent_masked = c.problem.recurrent_masked;
  p.zoneout_drawn = c.problem.zoneout_drawn;
  return p;
}

LayerRun::LayerRun(const RnnCase& c, const RnnValues& inputs, uint64_t seed, bool gives_lengths)
    : values(inputs), problem(ProblemOf(c)), case_(c), tensors_(problem.dtype, &values) {
  for (const auto* fields : {&cpu::testing::kRnnInputs, &cpu::testing::kRnnGradientInputs}) {
    for (const auto& field : *fields) tensors_.In(field.vec);
  }
  if (gives_lengths) SetLengths(c.lengths);
  if (problem.zoneout_drawn) SetSeed(static_cast<int64_t>(seed), 0);
}

void LayerRun::SetSeed(int64_t seed, int64_t seed2) {
  seed_ = static_cast<int64_t*>(tensors_.memory()->Allocate(2 * sizeof(int64_t)));
  seed_[0] = seed;
  seed_[1] = seed2;
}

void LayerRun::SetLengths(const std::vector<int32_t>& lengths) {
  if (lengths.empty()) return;
  lengths_ = static_cast<int32_t*>(tensors_.memory()->Allocate(lengths.size() * sizeof(int32_t)));
  std::copy(lengths.begin(), lengths.end(), lengths_);
}

void LayerRun::SpoilReserve() { std::memset(reserve_, 1, 8); }

LayerInputs LayerRun::Inputs() {
  LayerInputs in = {};
  in.x = tensors_.In(&R::x), in.h0 = tensors_.In(&R::h0), in.c0 = tensors_.In(&R::c0);
  in.kernel = tensors_.In(&R::kernel), in.recurrent_kernel = tensors_.In(&R::recurrent_kernel);
  in.bias = tensors_.In(&R::bias), in.projection = tensors_.In(&R::projection);
  in.peepholes = tensors_.In(&R::peepholes), in.layer_norm = tensors_.In(&R::layer_norm);
  in.input_mask = tensors_.In(&R::input_mask), in.recurrent_mask = tensors_.In(&R::recurrent_mask);
  in.lengths = lengths_, in.seed = seed_;
  return in;
}

Status LayerRun::Forward(const ProductLibraries& libraries, DeviceAllocator* allocator,
                         void* stream) {
  const auto n = cpu::reference::ElementsOf(case_.problem);
  LayerForwardArgs args = {};
  args.problem = problem;
  args.algorithm = algorithm;
  args.in = Inputs();
  args.y = tensors_.Out(&R::y, n.y), args.h_n = tensors_.Out(&R::h_n, n.h),
  args.c_n = tensors_.Out(&R::c_n, n.c);
  reserve_ =
      problem.is_training ? tensors_.memory()->Allocate(LayerReserve(problem).bytes) : nullptr;
  args.reserve = reserve_;
  RNN_OPS_RETURN_IF_ERROR(RunLayerForward(libraries, args, allocator, stream));
  tensors_.Read(cpu::testing::kRnnOutputs);
  return Status();
}

Status LayerRun::Backward(const ProductLibraries& libraries, DeviceAllocator* allocator,
                          void* stream) {
  const auto n = cpu::reference::ElementsOf(case_.problem);
  LayerBackwardArgs args = {};
  args.problem = problem;
  args.algorithm = algorithm;
  args.in = Inputs();
  args.y = tensors_.In(&R::y);
  args.dy = tensors_.In(&R::dy), args.dh_n = tensors_.In(&R::dh_n),
  args.dc_n = tensors_.In(&R::dc_n);
  args.reserve = reserve_;
  args.dx = tensors_.Out(&R::dx, n.x), args.dh0 = tensors_.Out(&R::dh0, n.h),
  args.dc0 = tensors_.Out(&R::dc0, n.c);
  args.dkernel = tensors_.Out(&R::dkernel, n.kernel);
  args.drecurrent_kernel = tensors_.Out(&R::drecurrent_kernel, n.recurrent_kernel);
  args.dbias = tensors_.Out(&R::dbias, n.bias);
  args.dprojection = tensors_.Out(&R::dprojection, n.projection);
  args.dpeepholes = tensors_.Out(&R::dpeepholes, n.peepholes);
  args.dlayer_norm = tensors_.Out(&R::dlayer_norm, n.layer_norm);
  RNN_OPS_RETURN_IF_ERROR(RunLayerBackward(libraries, args, allocator, stream));
  tensors_.Read(cpu::testing::kRnnGradients);
  return Status();
}

RnnValues Perturbed(const RnnValues& values, Dtype dtype) {
  std::mt19937_64 random(1);
  RnnValues changed = values;
  for (auto field : {&RnnValues::x, &RnnValues::h0, &RnnValues::kernel,
                     &RnnValues::recurrent_kernel, &RnnValues::projection, &RnnValues::params}) {
    for (double& value : changed.*field) {
      value *= 1 + (random() % 2 == 0 ? 0.5 : -0.5) * cpu::testing::Epsilon(dtype);
    }
  }
  return changed;
}

void ExpectNearAsRounded(const cpu::testing::Fields<RnnValues>& fields, const RnnValues& got,
                         const RnnValues& want, const RnnValues& changed, Dtype dtype,
                         double factor) {
  for (const auto& field : fields) {
    double scale = 1, change = 0;
    const auto &a = want.*field.vec, &b = changed.*field.vec;
    for (size_t k = 0; k < a.size(); ++k) {
      scale = std::max(scale, std::abs(a[k]));
      change = std::max(change, std::abs(a[k] - b[k]));
    }
    cpu::testing::ExpectNear({field}, got, want,
                             cpu::testing::Epsilon(dtype) + factor * change / scale);
  }
}

// Rounding of the products' operands decides on slopes of relu nearer to zero than this.
constexpr double kNearZero = 64;

bool ExpectRight(const RnnCase& c, const RnnValues& inputs, const RnnValues& got, double layers) {
  using cpu::testing::Epsilon;
  cpu::RnnProblem p = c.problem;
  p.lengths = cpu::reference::LengthsOf(c.lengths);
  RnnValues want = inputs, changed = Perturbed(inputs, p.dtype);
  cpu::reference::RunStack(p, &want);
  if (IsNarrow(p.dtype)) {
    cpu::reference::RunStack(p, &changed);
    ExpectNearAsRounded(cpu::testing::kRnnOutputs, got, want, changed, p.dtype, 2 * layers);
  } else {
    cpu::testing::ExpectNear(cpu::testing::kRnnOutputs, got, want, 32 * layers * Epsilon(p.dtype));
  }
  if (!p.is_training) return true;
  if (IsNarrow(p.dtype)) {
    want.given_y = changed.given_y = got.y;
    cpu::reference::RunStack(p, &want);
    cpu::reference::RunStack(p, &changed);
  }
  if (want.nearest <= kNearZero * Epsilon(p.dtype)) return false;
  if (IsNarrow(p.dtype)) {
    ExpectNearAsRounded(cpu::testing::kRnnGradients, got, want, changed, p.dtype, 4 * layers);
  } else {
    // The roundings of a sum over all rows add up like a random walk.
    const double rows = static_cast<double>(p.max_time * p.batch);
    cpu::testing::ExpectNear(cpu::testing::kRnnGradients, got, want,
                             (32 + std::sqrt(rows)) * layers * Epsilon(p.dtype));
  }
  return true;
}

std::string NameOf(const ::testing::TestParamInfo<LayerAlgorithm>& info) {
  return info.param == LayerAlgorithm::kSteps ? "Steps" : "Persistent";
}

std::vector<std::string>* const files = new std::vector<std::string>;

int RunTestsOnFiles(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  files->assign(argv + 1, argv + argc);
  return RUN_ALL_TESTS();
}

void CheckFiles(const std::function<bool(const cpu::RnnProblem&)>& applies,
                const std::function<bool(const RnnCase&, uint64_t seed)>& check) {
  int checked = 0, undecided = 0;
  for (const std::string& file : *files) {
    std::ifstream stream(file);
    ASSERT_TRUE(stream) << file;
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    for (const std::string& line : cpu::testing::ProblemLines(text)) {
      cpu::testing::ProblemLine problem;
      ASSERT_EQ(cpu::testing::ParseProblem(line, &problem), "") << line;
      if (problem.op != cpu::testing::ProblemOp::kRnn || !applies(problem.rnn)) continue;
      ++checked;
      if (!check({problem.rnn, problem.lengths}, problem.seed)) ++undecided;
      if (::testing::Test::HasFailure()) return;
    }
  }
  std::cout << checked << " problems, " << undecided << " undecided\n";
  EXPECT_GT(checked, 50);
}

}  // namespace rnn_ops::gpu::fake
