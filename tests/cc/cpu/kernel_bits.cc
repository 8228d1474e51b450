// Prints one line for each of many problems, with a hash of the results, for the kernels of one or
// more shared objects. A change that must not change any bit must not change these lines:
//
//   kernel_bits [--cases N] OBJECT.so... > before.txt
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/cpu/rnn_cases.h"

namespace {

using namespace rnn_ops;                // NOLINT: a program of one file
using namespace rnn_ops::cpu;           // NOLINT
using namespace rnn_ops::cpu::testing;  // NOLINT

// Adds the bits of the results to an FNV-1a hash.
template <typename Values>
void Add(const Fields<Values>& fields, const Values& values, uint64_t* hash) {
  for (const auto& field : fields) {
    for (double v : values.*field.vec) {
      uint64_t bits;
      std::memcpy(&bits, &v, sizeof(bits));
      if (v != v) bits = 0x7ff8;  // NaN with any payload
      for (int i = 0; i < 8; ++i) *hash = (*hash ^ (bits >> 8 * i & 0xff)) * 0x100000001b3;
    }
  }
}

void Print(const KernelTable& table, uint64_t hash, const std::string& problem) {
  std::printf("%s %016llx %s\n", table.isa, static_cast<unsigned long long>(hash), problem.c_str());
}

// Unpacked and packed weights.
void AddInference(const KernelTable& table, const RnnCase& c, const RnnValues& inputs,
                  const RunOptions& options, uint64_t* hash) {
  RnnRun inference(table, c, inputs, options);
  inference.Forward();
  Add(kRnnOutputs, inference.values, hash);
  if (c.problem.input_masked || c.problem.recurrent_masked) return;
  RnnRun packed(table, c, inputs, options);
  packed.ForwardPacked();
  Add(kRnnOutputs, packed.values, hash);
}

void RunInference(const KernelTable& table, const RnnCase& c, uint64_t seed) {
  RunOptions options;
  options.num_threads = 1 + static_cast<int32_t>(seed % 4);
  uint64_t hash = 0xcbf29ce484222325;
  AddInference(table, c, RandomInputs(c, seed), options, &hash);
  Print(table, hash, Describe(c));
}

void RunStack(const KernelTable& table, RnnCase c, uint64_t seed) {
  const RnnValues inputs = RandomInputs(c, seed);
  RunOptions options;
  options.num_threads = 1 + static_cast<int32_t>(seed % 4);
  uint64_t hash = 0xcbf29ce484222325;
  RnnRun training(table, c, inputs, options);
  training.Forward();
  Add(kRnnOutputs, training.values, &hash);
  training.Backward();
  Add(kRnnGradients, training.values, &hash);
  c.problem.is_training = 0;
  AddInference(table, c, inputs, options, &hash);
  Print(table, hash, Describe(c));
}

void RunBlock(const KernelTable& table, const BlockLstmProblem& p, uint64_t seed) {
  RunOptions options;
  options.num_threads = 1 + static_cast<int32_t>(seed % 4);
  uint64_t hash = 0xcbf29ce484222325;
  BlockLstmRun run(table, p, RandomInputs(p, seed), options);
  run.Forward();
  Add(kBlockOutputs, run.values, &hash);
  run.Backward();
  Add(kBlockGradients, run.values, &hash);
  Print(table, hash, Describe(p));
}

BlockLstmProblem RandomBlock(std::mt19937_64& random, Dtype dtype) {
  const RnnProblem from = RandomCase(random, dtype).problem;
  const int64_t steps = random() % 2 ? from.max_time : random() % (from.max_time + 1);
  return {{random() % 2 == 1, 0.5f * static_cast<float>(random() % 3), from.max_time, from.batch,
           from.input_size, from.num_units, steps},
          dtype};
}

// Problems that are larger than the pieces of the kernels: chunks of rows, blocks of K, partitions
// of units.
void RunLarge(const KernelTable& table) {
  uint64_t seed = 0;
  for (Dtype dtype : {kFloat32, kFloat64, kBFloat16}) {
    for (int32_t mode : kModes) {
      RunStack(table, MakeCase(dtype, mode, 20, 30, 530, 21), ++seed);
      RunStack(table, MakeCase(dtype, mode, 3, 300, 3, 35), ++seed);
      RunStack(table, MakeCase(dtype, mode, 3, 40, 16, 520), ++seed);
      RunStack(table, MakeCase(dtype, mode, 4, 2, 24, 600), ++seed);
    }
    RunBlock(table, {{true, 0.5f, 20, 30, 530, 21, 20}, dtype}, ++seed);
    RunBlock(table, {{false, 0.0f, 3, 300, 3, 35, 2}, dtype}, ++seed);
    RunBlock(table, {{true, 0.5f, 2, 40, 4, 520, 2}, dtype}, ++seed);
  }
}

void RunAll(const KernelTable& table, int cases) {
  for (Dtype dtype : kDtypes) {
    std::mt19937_64 random(7);
    for (int i = 0; i < cases; ++i) {
      RunStack(table, RandomCase(random, dtype), i);
      RunStack(table, RandomLayerCase(random, dtype), i);
      RunInference(table, RandomQuantizedCase(random, dtype), i);
      RunBlock(table, RandomBlock(random, dtype), i);
    }
  }
  RunLarge(table);
}

}  // namespace

int main(int argc, char** argv) {
  int cases = 60;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--cases") == 0 && i + 1 < argc) {
      cases = std::atoi(argv[++i]);
      continue;
    }
    void* const object = dlopen(argv[i], RTLD_NOW);
    void* const entry = object == nullptr ? nullptr : dlsym(object, "tf_rnn_ops_kernel_table");
    if (entry == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    const KernelTable* table = reinterpret_cast<const KernelTable* (*)()>(entry)();
    if (table->version != kKernelTableVersion) {
      std::fprintf(stderr, "%s has another version of the table\n", argv[i]);
      return 1;
    }
    RunAll(*table, cases);
  }
  return 0;
}
