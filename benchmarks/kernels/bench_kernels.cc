// Times the kernels of every instruction set of this machine, called through the kernel table as
// the ops call them, without TensorFlow.
//
//   bench_kernels [--rounds N] [--threads 1,2] [--isa NAME] [--against OBJECT]
//                 [SHAPES_FILE | "cell T B I H [L] [D] [dtype]"]...
//
// dtype: float32, bfloat16, or widened: tensors of bfloat16 whose products are taken in float32.
//
// --against: a shared object of an older build. Each call is made with both in turn, and the last
// two columns are the new time by the old one: each of the fastest tenth of its calls, which what
// else runs on the machine leaves alone, and of all calls, the medians, which show how it slows
// both.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/kernels/fma_peak.h"
#include "cc/core/float_environment.h"
#include "cc/core/team.h"
#include "cc/cpu/kernel_args.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/team_parallel_for.h"
#include "cc/cpu/variant.h"

namespace {

using namespace rnn_ops;       // NOLINT: a program of one file
using namespace rnn_ops::cpu;  // NOLINT
using Clock = std::chrono::steady_clock;

// A measurement goes on for this long at least.
constexpr double kRoundSeconds = 0.05;

struct Shape {
  std::string text;
  RnnProblem problem = {};
};

struct Options {
  int rounds = 7;
  std::vector<int> threads = {1, 2};
  std::string isa;
  std::string against;
  std::vector<Shape> shapes;
};

bool ParseShape(const std::string& line, Shape* shape) {
  std::istringstream words(line);
  std::string cell, word;
  if (!(words >> cell)) return false;
  RnnProblem& p = shape->problem;
  const char* const kCells[] = {"relu", "tanh", "lstm", "gru"};
  const auto mode = std::find(std::begin(kCells), std::end(kCells), cell);
  if (mode == std::end(kCells)) return false;
  p.mode = static_cast<RnnMode>(mode - kCells);
  std::vector<int64_t> sizes;
  p.dtype = kFloat32;
  p.bf16_products = true;
  while (words >> word) {
    if (word == "bfloat16" || word == "widened") {
      p.dtype = kBFloat16;
      if (word == "widened") p.bf16_products = false;
    } else if (word != "float32") {
      sizes.push_back(std::atoll(word.c_str()));
      if (sizes.back() < 1) return false;
    }
  }
  if (sizes.size() < 4 || sizes.size() > 6) return false;
  p.max_time = sizes[0];
  p.batch = sizes[1];
  p.input_size = sizes[2];
  p.num_units = sizes[3];
  p.num_layers = sizes.size() > 4 ? sizes[4] : 1;
  if (sizes.size() > 5) p.direction = static_cast<Direction>(sizes[5]);
  shape->text = line;
  return p.num_dirs() <= 2;
}

int64_t NumParams(const RnnProblem& p) {
  int64_t total = 0;
  for (int64_t layer = 0; layer < p.num_layers; ++layer) {
    const int64_t width = p.layer_input_size(layer);
    total += p.num_dirs() * p.num_gates() * p.num_units * (width + p.num_units + 2);
  }
  return total;
}

// Of the matrix products; the backward pass has twice those of the forward pass.
double Flops(const RnnProblem& p) {
  double total = 0;
  for (int64_t layer = 0; layer < p.num_layers; ++layer) {
    const int64_t width = p.layer_input_size(layer);
    total += 2.0 * p.num_dirs() * p.num_gates() * p.num_units * (width + p.num_units);
  }
  return total * p.max_time * p.batch;
}

// 64-byte aligned, filled with small random values of the dtype or with zeros.
class Buffer {
 public:
  Buffer(int64_t bytes) : block_(new unsigned char[bytes + 64]()) {
    data_ = block_.get() + (64 - reinterpret_cast<uintptr_t>(block_.get()) % 64) % 64;
  }
  Buffer(int64_t count, int32_t dtype, float scale) : Buffer(count * (dtype == kFloat32 ? 4 : 2)) {
    std::mt19937 random(static_cast<unsigned>(count));
    std::normal_distribution<float> normal(0, scale);
    for (int64_t i = 0; i < count; ++i) {
      const float v = normal(random);
      if (dtype == kFloat32) {
        std::memcpy(data_ + 4 * i, &v, 4);
      } else {  // bfloat16: the upper half
        std::memcpy(data_ + 2 * i, reinterpret_cast<const char*>(&v) + 2, 2);
      }
    }
  }
  void* get() const { return data_; }

 private:
  std::unique_ptr<unsigned char[]> block_;
  unsigned char* data_;
};

// Helpers that last as long as the team.
class Threads {
 public:
  explicit Threads(int count)
      : team_(std::make_unique<Team>(count, [this](std::function<void()> help) {
          helpers_.emplace_back(std::move(help));
        })) {}
  ~Threads() {
    team_.reset();
    for (std::thread& helper : helpers_) helper.join();
  }
  // As for a call after a rest, however long this one was: sizes and calls go by the same costs.
  ParallelFor Get() {
    ParallelFor parallel = ParallelForOf(team_.get());
    parallel.threads.wake_ns = kWakeNs;
    return parallel;
  }

 private:
  ScopedFloatEnvironment environment_;  // as the caller of an op has
  std::vector<std::thread> helpers_;
  std::unique_ptr<Team> team_;
};

// Median seconds of one call over the rounds.
template <typename Call>
double Time(int rounds, const Call& call) {
  auto seconds_of = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  };
  call();
  const int calls = std::max(1, static_cast<int>(kRoundSeconds / seconds_of(1)));
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) all.push_back(seconds_of(calls));
  std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
  return all[rounds / 2];
}

// The kernels that are timed, and those they are compared with, if any.
struct Builds {
  const KernelTable& table;
  const KernelTable* old;
};

// The larger sizes, which serve both.
using SizesOf = RnnSizes (*KernelTable::*)(const RnnProblem*, const ThreadBudget*);
RnnSizes LargerSizes(const Builds& builds, SizesOf sizes, const RnnProblem& p,
                     const ThreadBudget& threads) {
  const RnnSizes a = (builds.table.*sizes)(&p, &threads);
  if (builds.old == nullptr) return a;
  const RnnSizes b = (builds.old->*sizes)(&p, &threads);
  return {std::max(a.scratch_bytes, b.scratch_bytes), std::max(a.reserve_bytes, b.reserve_bytes)};
}

struct Timing {
  double seconds;
  double ratio = 0;  // new by old
  double median_ratio = 0;
};

// call(table), with both builds in turn where there are two.
template <typename Call>
Timing TimeBuilds(const Builds& builds, int rounds, const Call& call) {
  if (builds.old == nullptr) return {Time(rounds, [&] { call(builds.table); })};
  const KernelTable* const tables[] = {&builds.table, builds.old};
  std::vector<double> seconds[2];
  const auto start = Clock::now();
  auto since = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  for (int i = 0; i < 20 || since(start) < 2 * rounds * kRoundSeconds; ++i) {
    for (int k : {i % 2, 1 - i % 2}) {
      const auto begin = Clock::now();
      call(*tables[k]);
      seconds[k].push_back(since(begin));
    }
  }
  auto quantile = [](std::vector<double>& all, double q) {
    const size_t at = static_cast<size_t>(all.size() * q);
    std::nth_element(all.begin(), all.begin() + at, all.end());
    return all[at];
  };
  const double now = quantile(seconds[0], 0.1);
  return {now, now / quantile(seconds[1], 0.1),
          quantile(seconds[0], 0.5) / quantile(seconds[1], 0.5)};
}

void Line(const Shape& shape, const KernelTable& table, int threads, const char* pass,
          const Timing& timing, double flops, double peak, int64_t scratch, int64_t reserve) {
  const double rate = flops / timing.seconds / 1e9;
  std::printf("| %s | %s | %d | %s | %.4g | %.1f | %.0f%% | %.3g | %.3g |", shape.text.c_str(),
              table.isa, threads, pass, timing.seconds * 1e3, rate, 100 * rate / (peak * threads),
              scratch / 1e6, reserve / 1e6);
  if (timing.ratio > 0) std::printf(" %.3f | %.3f |", timing.ratio, timing.median_ratio);
  std::printf("\n");
  std::fflush(stdout);
}

// Packing alone, and a forward pass on weights that were packed before.
void RunPacked(RnnForwardArgs f, const Builds& builds, int threads, int rounds, const Shape& shape,
               double peak) {
  const KernelTable& table = builds.table;
  const RnnPackSizes sizes = table.rnn_pack_sizes(&f.problem);
  const Buffer packed(sizes.packed_bytes), scratch(sizes.scratch_bytes);
  Threads team(threads);
  RnnPackArgs pack = {};
  pack.problem = f.problem;
  pack.parallel = team.Get();
  pack.scratch = scratch.get();
  pack.params = f.params;
  pack.packed = packed.get();
  const Timing packing =
      TimeBuilds(builds, rounds, [&](const KernelTable& t) { t.rnn_pack(&pack); });
  Line(shape, table, threads, "packing", packing, 0, peak, sizes.scratch_bytes, 0);

  f.problem.weights_packed = 1;
  const int64_t bytes =
      LargerSizes(builds, &KernelTable::rnn_forward_sizes, f.problem, pack.parallel.threads)
          .scratch_bytes;
  const Buffer forward_scratch(bytes);
  f.parallel = pack.parallel;
  f.scratch = forward_scratch.get();
  f.params = nullptr;
  f.packed = packed.get();
  const Timing timing =
      TimeBuilds(builds, rounds, [&](const KernelTable& t) { t.rnn_forward(&f); });
  Line(shape, table, threads, "forward, packed", timing, Flops(f.problem), peak, bytes, 0);
}

void Run(const Shape& shape, const Builds& builds, int threads, int rounds, double peak) {
  const KernelTable& table = builds.table;
  const ThreadBudget budget = {threads, kWakeNs, kMeetNs};
  RnnProblem p = shape.problem;
  const std::vector<int32_t> lengths(p.batch, static_cast<int32_t>(p.max_time));
  p.lengths = lengths.data();
  const int64_t LD = p.num_pseudo_layers();
  const int64_t rows = p.max_time * p.batch, states = LD * p.batch * p.num_units;
  const int64_t num_params = NumParams(p), outputs = rows * p.num_dirs() * p.num_units;
  const Buffer x(rows * p.input_size, p.dtype, 1), h0(states, p.dtype, 0.5f),
      c0(states, p.dtype, 0.5f), params(num_params, p.dtype, 0.05f), dy(outputs, p.dtype, 1),
      dh(states, p.dtype, 1), dc(states, p.dtype, 1);
  const Buffer y(outputs * 4), h_n(states * 4), c_n(states * 4), dx(rows * p.input_size * 4),
      dh0(states * 4), dc0(states * 4), dparams(num_params * 4);

  for (int training = 0; training <= 1; ++training) {
    p.is_training = training == 1;
    const RnnSizes sizes = LargerSizes(builds, &KernelTable::rnn_forward_sizes, p, budget);
    const int64_t reserve_bytes = training ? sizes.reserve_bytes : 1;
    // One for each build, whose headers may differ.
    const Buffer scratch(sizes.scratch_bytes), reserve(reserve_bytes), old_reserve(reserve_bytes);
    const auto reserve_of = [&](const KernelTable& t) {
      return &t == builds.old ? old_reserve.get() : reserve.get();
    };
    RnnForwardArgs f = {};
    f.problem = p;
    f.scratch = scratch.get();
    f.x = x.get();
    f.h0 = h0.get();
    f.c0 = c0.get();
    f.params = params.get();
    f.y = y.get();
    f.h_n = h_n.get();
    f.c_n = c_n.get();
    {
      Threads team(threads);
      f.parallel = team.Get();
      const Timing timing = TimeBuilds(builds, rounds, [&](const KernelTable& t) {
        f.reserve = training ? reserve_of(t) : nullptr;
        t.rnn_forward(&f);
      });
      Line(shape, table, threads, training ? "forward, training" : "forward", timing, Flops(p),
           peak, sizes.scratch_bytes, training ? sizes.reserve_bytes : 0);
    }
    if (!training) {
      RunPacked(f, builds, threads, rounds, shape, peak);
      continue;
    }
    const RnnSizes back = LargerSizes(builds, &KernelTable::rnn_backward_sizes, p, budget);
    const Buffer back_scratch(back.scratch_bytes);
    RnnBackwardArgs b = {};
    b.problem = p;
    b.scratch = back_scratch.get();
    b.x = x.get();
    b.h0 = h0.get();
    b.c0 = c0.get();
    b.params = params.get();
    b.y = y.get();
    b.dy = dy.get();
    b.dh_n = dh.get();
    b.dc_n = dc.get();
    b.dx = dx.get();
    b.dh0 = dh0.get();
    b.dc0 = dc0.get();
    b.dparams = dparams.get();
    Threads team(threads);
    b.parallel = team.Get();
    int32_t refused = 0;
    const Timing timing = TimeBuilds(builds, rounds, [&](const KernelTable& t) {
      b.reserve = reserve_of(t);
      refused |= t.rnn_backward(&b);
    });
    if (refused != 0) {
      std::fprintf(stderr, "%s: the backward kernel refused\n", shape.text.c_str());
      std::exit(1);
    }
    Line(shape, table, threads, "backward", timing, 2 * Flops(p), peak, back.scratch_bytes,
         sizes.reserve_bytes);
  }
}

// The tables of this machine; the variants lie in cc/cpu of the build's folder.
std::vector<const KernelTable*> Tables(const std::string& program) {
  std::vector<const KernelTable*> tables = {BaselineKernelTable<kKernelTableVersion>()};
  const std::string folder = program.substr(0, program.rfind('/') + 1) + "../../cc/cpu/";
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa > DetectIsa()) continue;
    std::string problem;
    const KernelTable* table =
        OpenVariant(folder + "_tf_rnn_ops_" + Name(isa) + ".so", isa, &problem);
    if (table != nullptr) {
      tables.push_back(table);
    } else {
      std::fprintf(stderr, "left out: %s: %s\n", Name(isa), problem.c_str());
    }
  }
  return tables;
}

bool AddShapes(const std::string& argument, std::vector<Shape>* shapes) {
  std::ifstream file(argument);
  std::istringstream text(argument);
  std::istream& lines = file ? static_cast<std::istream&>(file) : text;
  std::string line;
  while (std::getline(lines, line)) {
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    Shape shape;
    if (!ParseShape(line, &shape)) {
      std::fprintf(stderr, "not a problem: '%s'; expected 'cell T B I H [L] [D] [dtype]'\n",
                   line.c_str());
      return false;
    }
    shapes->push_back(shape);
  }
  return true;
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0) {
      if (!AddShapes(name, &options->shapes)) return false;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (name == "--rounds") {
      options->rounds = std::atoi(value.c_str());
    } else if (name == "--isa") {
      options->isa = value;
    } else if (name == "--against") {
      options->against = value;
    } else if (name == "--threads") {
      options->threads.clear();
      std::istringstream list(value);
      for (std::string word; std::getline(list, word, ',');) {
        options->threads.push_back(std::atoi(word.c_str()));
        if (options->threads.back() < 1) return false;
      }
    } else {
      return false;
    }
  }
  return options->rounds > 0 && !options->threads.empty() && !options->shapes.empty();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) {
    std::fprintf(
        stderr,
        "usage: bench_kernels [--rounds N] [--threads 1,2] [--isa NAME] [--against OBJECT] "
        "SHAPES_FILE|\"cell T B I H [L] [D] [dtype]\"...\n");
    return 2;
  }
  std::printf(
      "| problem | ISA | threads | pass | ms | GFLOP/s | of FMA peak | scratch MB | reserve MB |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const KernelTable* table : Tables(argv[0])) {
    if (!options.isa.empty() && options.isa != table->isa) continue;
    const KernelTable* old = nullptr;
    if (!options.against.empty()) {
      std::string problem;
      for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
        if (Name(isa) == std::string(table->isa)) {
          old = OpenVariant(options.against, isa, &problem);
        }
      }
      if (old == nullptr) {
        std::fprintf(stderr, "left out: %s: %s\n", table->isa, problem.c_str());
        continue;
      }
    }
    const double peak = FmaPeak(table->vector_bytes);
    for (const Shape& shape : options.shapes) {
      for (int threads : options.threads) Run(shape, {*table, old}, threads, options.rounds, peak);
    }
    std::printf("\nFMA peak of one core, %s, float32: %.0f GFLOP/s\n\n", table->isa, peak);
  }
  return 0;
}
