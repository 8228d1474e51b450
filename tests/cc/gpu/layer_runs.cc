#include "tests/cc/gpu/layer_runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops {
namespace gpu {
namespace fake {

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
    : values(inputs), problem(ProblemOf(c)), case_(c) {
  for (const auto* fields : {&cpu::testing::kRnnInputs, &cpu::testing::kRnnGradientInputs}) {
    for (const auto& field : *fields) {
      WriteAll(problem.dtype, Output(field.vec, (values.*field.vec).size()), inputs.*field.vec);
    }
  }
  if (gives_lengths) SetLengths(c.lengths);
  if (problem.zoneout_drawn) SetSeed(static_cast<int64_t>(seed), 0);
}

void LayerRun::SetSeed(int64_t seed, int64_t seed2) {
  seed_ = static_cast<int64_t*>(memory_.Allocate(2 * sizeof(int64_t)));
  seed_[0] = seed;
  seed_[1] = seed2;
}

void LayerRun::SetLengths(const std::vector<int32_t>& lengths) {
  if (lengths.empty()) return;
  lengths_ = static_cast<int32_t*>(memory_.Allocate(lengths.size() * sizeof(int32_t)));
  std::copy(lengths.begin(), lengths.end(), lengths_);
}

void LayerRun::SpoilReserve() { std::memset(reserve_, 1, 8); }

void* LayerRun::Memory(Vec R::* field) {
  for (const auto& tensor : tensors_) {
    if (tensor.first == field) return tensor.second;
  }
  return nullptr;
}

void* LayerRun::Output(Vec R::* field, int64_t elements) {
  (values.*field).resize(elements);
  void* const made = elements == 0 ? nullptr : memory_.Allocate(elements * SizeOf(problem.dtype));
  for (auto& tensor : tensors_) {
    if (tensor.first == field) return tensor.second = made;
  }
  tensors_.emplace_back(field, made);
  return made;
}

void LayerRun::Read(const cpu::testing::Fields<R>& fields) {
  for (const auto& field : fields) {
    const void* const memory = Memory(field.vec);
    if (memory == nullptr) continue;
    Vec& to = values.*field.vec;
    to = ReadAll(problem.dtype, memory, static_cast<int64_t>(to.size()));
  }
}

LayerInputs LayerRun::Inputs() {
  LayerInputs in = {};
  in.x = Memory(&R::x), in.h0 = Memory(&R::h0), in.c0 = Memory(&R::c0);
  in.kernel = Memory(&R::kernel), in.recurrent_kernel = Memory(&R::recurrent_kernel);
  in.bias = Memory(&R::bias), in.projection = Memory(&R::projection);
  in.peepholes = Memory(&R::peepholes), in.layer_norm = Memory(&R::layer_norm);
  in.input_mask = Memory(&R::input_mask), in.recurrent_mask = Memory(&R::recurrent_mask);
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
  args.y = Output(&R::y, n.y), args.h_n = Output(&R::h_n, n.h), args.c_n = Output(&R::c_n, n.c);
  reserve_ = problem.is_training ? memory_.Allocate(LayerReserveBytes(problem)) : nullptr;
  args.reserve = reserve_;
  RNN_OPS_RETURN_IF_ERROR(RunLayerForward(libraries, args, allocator, stream));
  Read(cpu::testing::kRnnOutputs);
  return Status();
}

Status LayerRun::Backward(const ProductLibraries& libraries, DeviceAllocator* allocator,
                          void* stream) {
  const auto n = cpu::reference::ElementsOf(case_.problem);
  LayerBackwardArgs args = {};
  args.problem = problem;
  args.algorithm = algorithm;
  args.in = Inputs();
  args.y = Memory(&R::y);
  args.dy = Memory(&R::dy), args.dh_n = Memory(&R::dh_n), args.dc_n = Memory(&R::dc_n);
  args.reserve = reserve_;
  args.dx = Output(&R::dx, n.x), args.dh0 = Output(&R::dh0, n.h), args.dc0 = Output(&R::dc0, n.c);
  args.dkernel = Output(&R::dkernel, n.kernel);
  args.drecurrent_kernel = Output(&R::drecurrent_kernel, n.recurrent_kernel);
  args.dbias = Output(&R::dbias, n.bias);
  args.dprojection = Output(&R::dprojection, n.projection);
  args.dpeepholes = Output(&R::dpeepholes, n.peepholes);
  args.dlayer_norm = Output(&R::dlayer_norm, n.layer_norm);
  RNN_OPS_RETURN_IF_ERROR(RunLayerBackward(libraries, args, allocator, stream));
  Read(cpu::testing::kRnnGradients);
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

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops
