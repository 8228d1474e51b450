#include "tests/cc/cpu/kernel_tables.h"

#include <dlfcn.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "cc/cpu/dispatch/variant.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/emulated_kernels.h"
#include "tests/cc/cpu/tested_isas.h"

namespace rnn_ops::cpu::testing {
namespace {

bool StartsWith(const std::string& text, const char* start) { return text.rfind(start, 0) == 0; }
bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Whether Linux names a feature of this CPU. WHY not cpuid: the kernels read that themselves.
bool CpuHas(const std::string& feature) {
  static const auto* const features = [] {
    auto* found = new std::set<std::string>;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (!StartsWith(line, "flags")) continue;
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) found->insert(word);
      break;
    }
    return found;
  }();
  return features->count(feature) > 0;
}

#if defined(__aarch64__)
bool HasNeonDot() { return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
#else
bool HasNeonDot() { return false; }
#endif

const KernelTable* Open(Isa isa) {
  std::string problem;
  const std::string file = std::string("./cc/cpu/_tf_rnn_ops_") + Name(isa) + ".so";
  const KernelTable* table = OpenVariant(file, isa, &problem);
  if (table == nullptr) ADD_FAILURE() << problem;
  return table;
}

// `native`: the table of AVX2.
void AppendEmulations(const char* level, const KernelTable* native,
                      std::vector<const KernelTable*>* list) {
  const std::string file = std::string("./tests/cc/cpu/emulated_") + level + ".so";
  void* const object = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    ADD_FAILURE() << dlerror();
    return;
  }
  const auto get = reinterpret_cast<decltype(&tf_rnn_ops_emulated_tables)>(
      dlsym(object, "tf_rnn_ops_emulated_tables"));
  const EmulatedTables tables = get(native);
  for (int32_t k = 0; k < tables.count; ++k) list->push_back(&tables.tables[k]);
}

class Executed : public ::testing::Environment {
 public:
  void Note(const std::string& code, bool emulated) {
    const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
    if (test == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    tests_[{code, emulated}].insert(std::string(test->test_suite_name()) + "." + test->name());
  }
  void TearDown() override {
    for (const auto& [key, tests] : tests_) {
      std::printf("[executed] %s: %s, %d tests\n", key.first.c_str(),
                  key.second ? "emulated" : "native", static_cast<int>(tests.size()));
    }
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, bool>, std::set<std::string>> tests_;
};

// googletest owns the environment.
Executed* const executed = [] {
  auto* environment = new Executed;
  ::testing::AddGlobalTestEnvironment(environment);
  return environment;
}();

}  // namespace

const std::vector<const KernelTable*>& Tables() {
  static const auto* const tables = [] {
    auto* list = new std::vector<const KernelTable*>{BaselineKernelTable<kKernelTableVersion>()};
    const KernelTable* avx2 = nullptr;
    for (Isa isa : TestedIsas()) {
      if (isa == Isa::kBaseline) continue;
      const KernelTable* const table = Open(isa);
      if (table != nullptr) list->push_back(table);
      if (isa == Isa::kAvx2) avx2 = table;
    }
    if (avx2 != nullptr) {
      AppendEmulations("avx2", avx2, list);
      AppendEmulations("avx512", nullptr, list);
    }
    return list;
  }();
  return *tables;
}

bool IsEmulated(const KernelTable& table) { return Contains(table.isa, "-emulated"); }

std::string CodeOf(const KernelTable& table, const RnnProblem& problem) {
  const std::string isa = table.isa;
#if defined(__aarch64__)
  const std::string level = "neon";
#else
  const std::string level = isa.substr(0, isa.find('-'));
#endif
  const auto has = [&](const char* emulated, const char* feature) {
    return IsEmulated(table) ? Contains(isa, emulated) : CpuHas(feature);
  };
  if (problem.int8_weights) {
    if (level == "neon" && HasNeonDot()) return "neon dot";
    const bool vnni = level == "avx2" ? has("vnni", "avx_vnni")
                      : level == "avx512"
                          ? has("-bf16", "avx512_vnni") || has("-amx", "avx512_vnni")
                          : false;
    return level + (vnni ? " vnni" : " int8");
  }
  if (problem.dtype == kBFloat16 && problem.bf16_products &&
      table.rnn_packed_format(&problem).element == kPackedBFloat16Pairs) {
    return level + (has("amx", "amx_bf16") ? " amx" : " bf16");
  }
  return level;
}

std::vector<const KernelTable*> Tables(const RnnProblem& problem) {
  std::vector<const KernelTable*> list;
  std::set<std::string> emulated;
  for (const KernelTable* table : Tables()) {
    if (IsEmulated(*table)) {
      const std::string code = CodeOf(*table, problem);
      if (code == "avx2" || !emulated.insert(code).second) continue;
    }
    list.push_back(table);
  }
  return list;
}

void NoteExecuted(const KernelTable& table, const std::string& code) {
  // The emulations of AVX2 have only the kernels of int8 weights.
  executed->Note(code, IsEmulated(table) && code != "avx2");
}

}  // namespace rnn_ops::cpu::testing
