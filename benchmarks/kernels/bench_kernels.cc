// Measures the time of the kernels of every instruction set of this machine. The program calls the
// kernels through the kernel table, as the ops do, but without TensorFlow.
//
//   bench_kernels [--rounds N] [--threads 1,2] [--isa NAME] [--clock cpu] [--turns stdin]
//                 [--calls N] [SHAPES_FILE | "cell T B I H [L] [D] [dtype]"]...
//
// dtype: float32, bfloat16, widened: tensors of bfloat16 whose products are computed in float32, or
// int8: float32 tensors with the int8 weights of one layer, in inference.
//
// --clock cpu: the CPU time of the process instead of elapsed time. For one thread on a machine
// that other programs use.
//
// --turns stdin: for each pass the program prints "ready" and then, for each line "call" that it
// reads, the seconds of a call. Any other line ends the pass. There are no rounds. See
// benchmarks/turns.py.
//
// --calls N: for each pass one call, and then N calls from the function CountedCalls. No time is
// measured. A profiler counts the instructions of that function. See benchmarks/instructions.py.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/kernels/fma_peak.h"
#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/dispatch/variant.h"
#include "cc/cpu/kernel_args.h"

namespace {

using namespace rnn_ops;       // NOLINT: a program of one file
using namespace rnn_ops::cpu;  // NOLINT

bool measures_cpu_time = false;
// Whether lines of standard input say when to call.
bool takes_turns = false;
// The number of calls of CountedCalls; 0: times are measured.
int counted_calls = 0;

// Nanoseconds of the chosen clock.
double Now() {
  timespec time;
  clock_gettime(measures_cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

// The minimum duration of a measurement.
constexpr double kRoundSeconds = 0.05;
// The approximate duration of a turn.
constexpr double kTurnSeconds = 0.002;

struct Shape {
  std::string text;
  RnnProblem problem = {};
};

struct Options {
  int rounds = 7;
  std::vector<int> threads = {1, 2};
  std::string isa;
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
    if (word == "int8") {
      p.int8_weights = true;
      p.weight_layout = kKerasWeights;
      p.bias_rows = p.mode == RnnMode::kGru ? 2 : 1;
    } else if (word == "bfloat16" || word == "widened") {
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
  if (p.int8_weights && p.num_pseudo_layers() != 1) return false;
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

// The operations of the matrix products. The backward pass has twice the products of the forward
// pass.
double Flops(const RnnProblem& p) {
  double total = 0;
  for (int64_t layer = 0; layer < p.num_layers; ++layer) {
    const int64_t width = p.layer_input_size(layer);
    total += 2.0 * p.num_dirs() * p.num_gates() * p.num_units * (width + p.num_units);
  }
  return total * p.max_time * p.batch;
}

// A function that profilers find by its name.
extern "C" __attribute__((noipa)) int32_t CountedCalls(int32_t (*kernel)(const RnnArgs*),
                                                       const RnnArgs* args, int calls) {
  int32_t refused = 0;
  for (int i = 0; i < calls; ++i) refused |= kernel(args);
  return refused;
}

// 64-byte aligned memory, filled with small random values of the dtype or with zeros.
class Buffer {
 public:
  explicit Buffer(int64_t bytes) : bytes_(bytes), block_(new unsigned char[bytes + 64]()) {
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
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t bytes_;
  std::unique_ptr<unsigned char[]> block_;
  unsigned char* data_;
};

// Worker threads that live as long as the team.
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
  // Uses the costs of a cold call, even if this call is warm, so that the measurement of memory
  // sizes and the calls choose the same partition of the work.
  ParallelFor Get() {
    ParallelFor parallel = ParallelForOf(team_.get());
    parallel.threads.wake_ns = kWakeNs;
    return parallel;
  }

 private:
  ScopedFloatEnvironment environment_;  // the same settings as the caller of an op
  std::vector<std::thread> helpers_;
  std::unique_ptr<Team> team_;
};

// The time of one of `calls` calls, in seconds.
template <typename Call>
double SecondsOf(int calls, const Call& call) {
  const double start = Now();
  for (int i = 0; i < calls; ++i) call();
  return 1e-9 * (Now() - start) / calls;
}

// Calls when the input says so. Returns the time of the last turn. The number of calls of a turn is
// found in the first turn, while another program waits.
template <typename Call>
double TakeTurns(const Call& call) {
  int calls = 0;
  double seconds = 0;
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line == "call";) {
    call();  // not timed: the caches hold what the other program left
    if (calls == 0) calls = std::max(1, static_cast<int>(kTurnSeconds / SecondsOf(1, call)));
    seconds = SecondsOf(calls, call);
    std::printf("%.9g\n", seconds);
    std::fflush(stdout);
  }
  return seconds;
}

// The median time of one call over the rounds, in seconds.
template <typename Call>
double TimeCall(int rounds, const Call& call) {
  if (takes_turns) return TakeTurns(call);
  call();
  const int calls = std::max(1, static_cast<int>(kRoundSeconds / SecondsOf(1, call)));
  std::vector<double> all;
  for (int i = 0; i < rounds; ++i) all.push_back(SecondsOf(calls, call));
  std::nth_element(all.begin(), all.begin() + rounds / 2, all.end());
  return all[rounds / 2];
}

// Memory for the calls of one kernel, kept between calls. The reserve space belongs to `forward`,
// if given, or is new.
class Memory {
 public:
  explicit Memory(Memory* forward = nullptr) : forward_(forward) {}

  MemorySource Get() {
    return {this, [](void* context, const MemorySizes& sizes, MemoryBlocks* blocks) {
              auto& memory = *static_cast<Memory*>(context);
              blocks->scratch = Room(sizes.scratch_bytes, &memory.scratch_);
              auto* reserve =
                  memory.forward_ == nullptr ? &memory.reserve_ : &memory.forward_->reserve_;
              blocks->reserve = Room(sizes.reserve.bytes, reserve);
              memory.sizes_ = sizes;
              return true;
            }};
  }
  const MemorySizes& sizes() const { return sizes_; }  // of the last call

 private:
  static void* Room(int64_t bytes, std::unique_ptr<Buffer>* buffer) {
    if (*buffer == nullptr || (*buffer)->bytes() < bytes) *buffer = std::make_unique<Buffer>(bytes);
    return (*buffer)->get();
  }

  Memory* const forward_;
  std::unique_ptr<Buffer> scratch_, reserve_;
  MemorySizes sizes_ = {};
};

void Line(const Shape& shape, const KernelTable& table, int threads, const char* pass,
          double seconds, double flops, double peak, const MemorySizes& sizes) {
  const double rate = flops / seconds / 1e9;
  std::printf("| %s | %s | %d | %s | %.4g | %.1f | %.0f%% | %.3g | %.3g |\n", shape.text.c_str(),
              table.isa, threads, pass, seconds * 1e3, rate, 100 * rate / (peak * threads),
              sizes.scratch_bytes / 1e6, sizes.reserve.bytes / 1e6);
  std::fflush(stdout);
}

// The tensors of a problem, and its calls.
class Calls {
 public:
  Calls(const Shape& shape, const KernelTable& table, int threads, int rounds, double peak)
      : shape_(shape),
        table_(table),
        threads_(threads),
        rounds_(rounds),
        peak_(peak),
        lengths_(shape.problem.batch, static_cast<int32_t>(shape.problem.max_time)) {
    args_.problem = shape.problem;
    args_.tensors = &tensors_;
    const RnnProblem& p = args_.problem;
    const int64_t rows = p.max_time * p.batch;
    args_.problem.lengths = {lengths_.data(), rows};
    const int64_t states = p.num_pseudo_layers() * p.batch * p.num_units;
    const int64_t outputs = rows * p.num_dirs() * p.num_units;
    Input(Arg::input, rows * p.input_size, 1);
    if (p.int8_weights) {
      QuantizedWeights(p);
    } else {
      Input(Arg::params, NumParams(p), 0.05f);
    }
    for (Arg arg : {Arg::input_h, Arg::input_c}) Input(arg, states, 0.5f);
    Output(Arg::output, outputs);
    for (Arg arg : {Arg::output_h, Arg::output_c}) Output(arg, states);
  }

  void Run() {
    args_.problem.is_training = false;
    Memory memory;
    Time("forward", &KernelTable::rnn_forward, Flops(args_.problem), &memory);
    RunPacked();
    if (args_.problem.int8_weights) return;
    args_.problem.is_training = true;
    Memory kept;
    Time("forward, training", &KernelTable::rnn_forward, Flops(args_.problem), &kept);
    RunBackward(&kept);
  }

 private:
  void Input(Arg arg, int64_t n, float scale) {
    buffers_.push_back(std::make_unique<Buffer>(n, args_.problem.dtype, scale));
    tensors_.SetInput(arg, buffers_.back()->get(), TypeOf(args_.problem.dtype), n);
  }
  void QuantizedWeights(const RnnProblem& p) {
    const int64_t columns = p.num_gates() * p.num_units;
    std::mt19937 random(7);
    auto matrix = [&](Arg arg, int64_t n) {
      buffers_.push_back(std::make_unique<Buffer>(n));
      auto* const values = static_cast<int8_t*>(buffers_.back()->get());
      for (int64_t i = 0; i < n; ++i)
        values[i] = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
      tensors_.SetInput(arg, values, ElementType::kInt8, n);
    };
    matrix(Arg::kernel, p.input_size * columns);
    matrix(Arg::recurrent_kernel, p.num_units * columns);
    for (Arg arg : {Arg::kernel_scale, Arg::recurrent_kernel_scale}) Input(arg, columns, 0.001f);
    Input(Arg::bias, p.bias_rows * columns, 0.05f);
  }
  void Output(Arg arg, int64_t n) {
    buffers_.push_back(std::make_unique<Buffer>(n * 4));
    tensors_.SetOutput(arg, buffers_.back()->get(), TypeOf(args_.problem.dtype), n);
  }

  // Runs packing, and a forward pass on the packed weights.
  void RunPacked() {
    const Buffer packed(table_.rnn_packed_format(&args_.problem).bytes);
    args_.panels = packed.get();
    Memory memory, forward_memory;
    Time("packing", &KernelTable::rnn_pack, 0, &memory);
    args_.problem.weights_packed = true;
    Time("forward, packed", &KernelTable::rnn_forward, Flops(args_.problem), &forward_memory);
    args_.problem.weights_packed = false;
  }

  // The input y is the output of a forward pass.
  void RunBackward(Memory* kept) {
    const CallTensors forward = tensors_;
    CallTensors& t = tensors_ = {};
    for (Arg arg : {Arg::input, Arg::input_h, Arg::input_c, Arg::params}) {
      t.SetInput(arg, forward.in(arg), forward.in_type(arg), forward.in_elements(arg));
      Output(arg, t.in_elements(arg));
    }
    t.SetInput(Arg::output, forward.out(Arg::output), forward.out_type(Arg::output),
               forward.out_elements(Arg::output));
    Input(Arg::output_backprop, t.in_elements(Arg::output), 1);
    for (Arg arg : {Arg::output_h_backprop, Arg::output_c_backprop}) {
      Input(arg, t.in_elements(Arg::input_h), 1);
    }
    Memory memory(kept);
    Time("backward", &KernelTable::rnn_backward, 2 * Flops(args_.problem), &memory);
  }

  void Time(const char* pass, int32_t (*KernelTable::*kernel)(const RnnArgs*), double flops,
            Memory* memory) {
    Threads team(threads_);
    args_.parallel = team.Get();
    args_.memory = memory->Get();
    int32_t refused = 0;
    double seconds = 0;
    if (counted_calls > 0) {
      refused = (table_.*kernel)(&args_);  // not counted: allocates the memory
      refused |= CountedCalls(table_.*kernel, &args_, counted_calls);
    } else {
      seconds = TimeCall(rounds_, [&] { refused |= (table_.*kernel)(&args_); });
    }
    if (refused != 0) {
      std::fprintf(stderr, "%s: %s failed\n", shape_.text.c_str(), pass);
      std::exit(1);
    }
    if (counted_calls > 0) {
      std::printf("| %s | %s | %d | %s |\n", shape_.text.c_str(), table_.isa, threads_, pass);
      return;
    }
    Line(shape_, table_, threads_, pass, seconds, flops, peak_, memory->sizes());
  }

  const Shape& shape_;
  const KernelTable& table_;
  const int threads_, rounds_;
  const double peak_;
  const std::vector<int32_t> lengths_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  CallTensors tensors_;
  RnnArgs args_ = {};
};

// The tables of this machine. The variants are in cc/cpu of the build folder.
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
    } else if (name == "--clock") {
      if (value != "cpu") return false;
      measures_cpu_time = true;
    } else if (name == "--turns") {
      if (value != "stdin") return false;
      takes_turns = true;
    } else if (name == "--calls") {
      counted_calls = std::atoi(value.c_str());
      if (counted_calls < 1) return false;
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
    std::fprintf(stderr,
                 "usage: bench_kernels [--rounds N] [--threads 1,2] [--isa NAME] [--clock cpu] "
                 "[--turns stdin] [--calls N] SHAPES_FILE|\"cell T B I H [L] [D] [dtype]\"...\n");
    return 2;
  }
  const bool times = counted_calls == 0;
  std::printf("| problem | ISA | threads | pass |%s\n| --- | --- | --- | --- |%s\n",
              times ? " ms | GFLOP/s | of FMA peak | scratch MB | reserve MB |" : "",
              times ? " --- | --- | --- | --- | --- |" : "");
  for (const KernelTable* table : Tables(argv[0])) {
    if (!options.isa.empty() && options.isa != table->isa) continue;
    const double peak = times ? FmaPeak(table->vector_bytes) : 0;
    for (const Shape& shape : options.shapes) {
      for (int threads : options.threads) {
        Calls(shape, *table, threads, options.rounds, peak).Run();
      }
    }
    if (!times) continue;
    std::printf("\nFMA peak of one core, %s, float32: %.0f GFLOP/s\n\n", table->isa, peak);
  }
  return 0;
}
