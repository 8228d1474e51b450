#include "tests/cc/gpu/rnn_runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops::gpu::fake {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

cpu::RnnProblem ReferenceProblem(const RnnCase& c) {
  cpu::RnnProblem p;
  static_cast<RnnConfig&>(p) = c.config;
  p.is_training = true;
  p.dropout = 0;  // the masks depend on the generator
  p.lengths = cpu::reference::LengthsOf(c.lengths);
  return p;
}

// A tensor in memory of exactly its size, on the heap, so that a sanitizer detects any access
// beyond it.
class Buffer {
 public:
  Buffer(Dtype dtype, int64_t size) : dtype_(dtype), bytes_(size * SizeOf(dtype), '\xff') {}
  Buffer(Dtype dtype, const std::vector<double>& values)
      : Buffer(dtype, static_cast<int64_t>(values.size())) {
    WriteAll(dtype, bytes_.data(), values);
  }
  void* data() { return bytes_.empty() ? nullptr : bytes_.data(); }
  std::vector<double> Values() const {
    return ReadAll(dtype_, bytes_.data(), static_cast<int64_t>(bytes_.size()) / SizeOf(dtype_));
  }

 private:
  Dtype dtype_;
  std::vector<char> bytes_;
};

}  // namespace

std::string RnnCase::Describe() const {
  std::string text =
      StrCat(Name(config.mode), " ", Name(config.input_mode), " ", Name(config.direction),
             " L=", config.num_layers, " I=", config.input_size, " H=", config.num_units,
             " P=", config.num_proj, " T=", config.max_time, " B=", config.batch,
             " dropout=", config.dropout, " ", Name(dtype),
             config.time_major ? " time-major" : " batch-major",
             config.is_training ? " training" : " inference", " lengths");
  for (int32_t length : lengths) text += StrCat(" ", length);
  return text;
}

StackProblem RnnCase::Problem() const {
  StackProblem problem;
  static_cast<RnnConfig&>(problem) = config;
  problem.dtype = dtype;
  problem.lengths = lengths.data();
  problem.allow_tf32 = allow_tf32;
  return problem;
}

RnnCase SmallCase(RnnMode mode) {
  RnnCase c;
  c.config.mode = mode;
  c.config.num_units = 4;
  c.config.input_size = 3;
  c.config.max_time = 4;
  c.config.batch = 3;
  c.lengths = {4, 2, 3};
  return c;
}

Values MakeInputs(const RnnCase& c, bool zero_padding) {
  const RnnConfig& config = c.config;
  const cpu::reference::RnnElements n = cpu::reference::ElementsOf(ReferenceProblem(c));
  std::mt19937 random(17);
  const auto draw = [&](int64_t size) {
    std::vector<double> values(size);
    for (double& v : values) {
      const double uniform = static_cast<double>(random()) / 4294967296.0;
      // Rounds the value to the type of the tensor.
      char memory[sizeof(double)];
      Write(c.dtype, memory, 0, 1.6 * uniform - 0.8);
      v = Read(c.dtype, memory, 0);
    }
    return values;
  };
  Values v;
  v.x = draw(n.x), v.h0 = draw(n.h), v.c0 = draw(n.c), v.params = draw(n.params);
  v.dy = draw(n.y), v.dh_n = draw(n.h), v.dc_n = draw(n.c);

  for (int64_t b = 0; b < config.batch; ++b) {
    for (int64_t t = c.lengths[b]; t < config.max_time; ++t) {
      const int64_t row = config.time_major ? t * config.batch + b : b * config.max_time + t;
      const double padding = zero_padding ? 0 : std::nan("");
      std::fill_n(v.x.begin() + row * config.input_size, config.input_size, padding);
      std::fill_n(v.dy.begin() + row * config.output_size(), config.output_size(), padding);
    }
    if (c.lengths[b] > 0 || zero_padding) continue;
    for (int64_t pl = 0; pl < config.num_pseudo_layers(); ++pl) {
      const int64_t state =
          config.time_major ? pl * config.batch + b : b * config.num_pseudo_layers() + pl;
      v.h0[state * config.hidden_size()] = kInfinity;
      if (n.c > 0) v.c0[state * config.num_units] = -kInfinity;
    }
  }
  return v;
}

Values Expected(const RnnCase& c) {
  Values v = MakeInputs(c, /*zero_padding=*/false);
  cpu::reference::RunStack(ReferenceProblem(c), &v);
  return v;
}

RnnExecutorParts HostParts(const CudnnApi* cudnn, const DeviceOps* ops, AlgoPolicy policy) {
  RnnExecutorParts parts;
  parts.cudnn = cudnn;
  parts.ops = ops;
  parts.policy = policy;
  parts.traits = [](void*, DeviceTraits* traits) {
    *traits = {/*major=*/9, /*minor=*/0, /*multiprocessors=*/132};
    return Status();
  };
  return parts;
}

Outcome RunForward(RnnExecutor* executor, const RnnCase& c, const Values& in,
                   const RnnGpuCall& call) {
  Buffer x(c.dtype, in.x), h0(c.dtype, in.h0), c0(c.dtype, in.c0), params(c.dtype, in.params);
  const int64_t y_size = c.config.max_time * c.config.batch * c.config.output_size();
  Buffer y(c.dtype, y_size), h_n(c.dtype, in.h0.size()), c_n(c.dtype, in.c0.size());
  HostAllocator reserve;
  RnnForwardArgs args;
  args.problem = c.Problem();
  args.dropout_seed = c.dropout_seed;
  args.generator = c.generator;
  args.generator_memory = c.generator_memory;
  args.x = x.data(), args.h0 = h0.data(), args.c0 = c0.data(), args.params = params.data();
  args.y = y.data(), args.h_n = h_n.data(), args.c_n = c_n.data();
  args.reserve = &reserve;
  Outcome result;
  args.algorithm = &result.algorithm;
  result.status = executor->Forward(args, call);
  result.values.y = y.Values(), result.values.h_n = h_n.Values(), result.values.c_n = c_n.Values();
  result.reserve_requests = static_cast<int>(reserve.sizes().size());
  if (result.reserve_requests == 1) {
    const char* start = static_cast<const char*>(reserve.last());
    result.reserve.assign(start, start + reserve.sizes()[0]);
  }
  return result;
}

Outcome RunBackward(RnnExecutor* executor, const RnnCase& c, const Values& in,
                    const Outcome& forward, const RnnGpuCall& call, bool keeps_reserve) {
  Buffer x(c.dtype, in.x), h0(c.dtype, in.h0), c0(c.dtype, in.c0), params(c.dtype, in.params);
  Buffer y(c.dtype, forward.values.y), dy(c.dtype, in.dy), dh_n(c.dtype, in.dh_n);
  Buffer dc_n(c.dtype, in.dc_n);
  Buffer dx(c.dtype, in.x.size()), dh0(c.dtype, in.h0.size()), dc0(c.dtype, in.c0.size());
  Buffer dparams(c.dtype, in.params.size());
  RnnBackwardArgs args;
  args.problem = c.Problem();
  args.x = x.data(), args.h0 = h0.data(), args.c0 = c0.data(), args.params = params.data();
  args.y = y.data(), args.dy = dy.data(), args.dh_n = dh_n.data(), args.dc_n = dc_n.data();
  // Aligned like a device allocation.
  HostAllocator reserve;
  const int64_t reserve_bytes = static_cast<int64_t>(forward.reserve.size());
  if (reserve_bytes > 0) {
    void* memory = reserve.Allocate(reserve_bytes);
    std::memcpy(memory, forward.reserve.data(), reserve_bytes);
    args.reserve = memory;
  }
  args.reserve_bytes = reserve_bytes;
  args.algorithm = forward.algorithm;
  args.keeps_reserve = keeps_reserve;
  args.dx = dx.data(), args.dh0 = dh0.data(), args.dc0 = dc0.data();
  args.dparams = dparams.data();
  Outcome result;
  result.status = executor->Backward(args, call);
  result.values.dx = dx.Values(), result.values.dh0 = dh0.Values();
  result.values.dc0 = dc0.Values(), result.values.dparams = dparams.Values();
  const char* start = static_cast<const char*>(args.reserve);
  if (reserve_bytes > 0) result.reserve.assign(start, start + reserve_bytes);
  return result;
}

double Difference(const std::vector<double>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return kInfinity;
  double largest = 1, difference = 0;
  for (double v : expected) {
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  }
  for (size_t k = 0; k < actual.size(); ++k) {
    if (actual[k] == expected[k]) continue;
    const double d = std::abs(actual[k] - expected[k]);
    difference = std::isnan(d) ? kInfinity : std::max(difference, d);
  }
  return difference / largest;
}

void ExpectResults(RnnExecutor* executor, const RnnCase& c, const Values& in,
                   const Values& expected, double bound) {
  SCOPED_TRACE(c.Describe());
  HostAllocator scratch;
  const RnnGpuCall call{/*device=*/0, /*stream=*/nullptr, &scratch};
  const Outcome forward = RunForward(executor, c, in, call);
  ASSERT_TRUE(forward.status.ok()) << forward.status.message();
  EXPECT_LE(Difference(forward.values.y, expected.y), bound) << "y";
  EXPECT_LE(Difference(forward.values.h_n, expected.h_n), bound) << "h_n";
  EXPECT_LE(Difference(forward.values.c_n, expected.c_n), bound) << "c_n";
  if (!c.config.is_training) return;
  const Outcome backward = RunBackward(executor, c, in, forward, call);
  ASSERT_TRUE(backward.status.ok()) << backward.status.message();
  EXPECT_LE(Difference(backward.values.dx, expected.dx), bound) << "dx";
  EXPECT_LE(Difference(backward.values.dh0, expected.dh0), bound) << "dh0";
  EXPECT_LE(Difference(backward.values.dc0, expected.dc0), bound) << "dc0";
  EXPECT_LE(Difference(backward.values.dparams, expected.dparams), bound) << "dparams";
}

}  // namespace rnn_ops::gpu::fake
