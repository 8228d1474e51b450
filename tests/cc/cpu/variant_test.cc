#include "cc/cpu/dispatch/variant.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace rnn_ops::cpu {
namespace {

PackedFormat FormatOfPacked(const RnnProblem*) { return {}; }
int64_t LongestReserve(const RnnProblem*) { return 0; }
template <typename Args>
int32_t Run(const Args*) {
  return 0;
}
MemorySizes PlanSize(const RnnArgs*) { return {}; }
void PlanInit(const RnnArgs*, void*) {}
int32_t PlanRun(const RnnArgs*, void*, void*) { return 0; }

DenseFormat FormatOfDense(int64_t, int64_t) { return {}; }
void PackDense(const DenseArgs*, const float*, const float*) {}
void Dense(const DenseArgs*, int64_t, int64_t) {}
void PackQuantizedDense(const DenseArgs*, const int8_t*, const float*, const float*) {}
void QuantizeRow(const float*, int64_t, float, void*) {}
void Activate(const Elementwise*, const float*, float*, int64_t) {}
void Softmax(bool, const float*, float*, int64_t) {}
void Depthwise(const float* const*, const float*, const float*, int64_t, int64_t, float*) {}

KernelTable TableOf(const char* isa) {
  return {kKernelTableVersion,
          static_cast<int32_t>(sizeof(KernelTable)),
          static_cast<int32_t>(sizeof(RnnArgs)),
          isa,
          /*vector_bytes=*/16,
          FormatOfPacked,
          LongestReserve,
          Run<RnnArgs>,
          PlanSize,
          PlanInit,
          PlanRun,
          Run<RnnArgs>,
          Run<RnnArgs>,
          Run<BlockLstmArgs>,
          Run<BlockLstmArgs>,
          Run<LinearRecurrenceArgs>,
          FormatOfDense,
          PackDense,
          Dense,
          FormatOfDense,
          PackQuantizedDense,
          QuantizeRow,
          Dense,
          Activate,
          Softmax,
          Depthwise};
}

// A search in a folder that contains the variants in `present`.
class VariantTest : public ::testing::Test {
 protected:
  VariantTest() {
    search_.baseline = &baseline_;
    search_.folder = "/folder/";
    search_.open = [this](const std::string& path, Isa isa, std::string* problem) {
      opened_.push_back(path);
      const auto found = present_.find(isa);
      if (found != present_.end()) return found->second;
      *problem = path + " is missing";
      return static_cast<const KernelTable*>(nullptr);
    };
  }

  VariantChoice Choose(Isa best, const char* wanted) {
    opened_.clear();
    search_.best = best;
    search_.wanted = wanted;
    return ChooseVariant(search_);
  }

  const KernelTable baseline_ = TableOf("baseline");
  const KernelTable avx2_ = TableOf("avx2");
  const KernelTable avx512_ = TableOf("avx512");
  std::map<Isa, const KernelTable*> present_ = {{Isa::kAvx2, &avx2_}, {Isa::kAvx512, &avx512_}};
  std::vector<std::string> opened_;
  VariantSearch search_;
};

TEST_F(VariantTest, TakesTheBestLevelOfTheMachine) {
  VariantChoice choice = Choose(Isa::kAvx512, nullptr);
  EXPECT_EQ(choice.table, &avx512_);
  EXPECT_EQ(choice.report.isa, "avx512");
  EXPECT_EQ(choice.report.why, "");
  EXPECT_FALSE(choice.warn);
  EXPECT_EQ(opened_, std::vector<std::string>{"/folder/_tf_rnn_ops_avx512.so"});

  choice = Choose(Isa::kAvx2, nullptr);
  EXPECT_EQ(choice.table, &avx2_);
  EXPECT_EQ(opened_, std::vector<std::string>{"/folder/_tf_rnn_ops_avx2.so"});

  choice = Choose(Isa::kBaseline, nullptr);
  EXPECT_EQ(choice.table, &baseline_);
  EXPECT_TRUE(opened_.empty()) << "cpuid comes before dlopen";
  EXPECT_FALSE(choice.warn);
}

TEST_F(VariantTest, ALowerLevelCanBeAskedFor) {
  VariantChoice choice = Choose(Isa::kAvx512, "avx2");
  EXPECT_EQ(choice.report.isa, "avx2");
  EXPECT_EQ(choice.report.why, "TF_RNN_OPS_CPU_ISA=avx2");
  EXPECT_FALSE(choice.warn);
  choice = Choose(Isa::kAvx512, "baseline");
  EXPECT_EQ(choice.report.isa, "baseline");
  EXPECT_TRUE(opened_.empty());
  EXPECT_FALSE(choice.warn);
  choice = Choose(Isa::kAvx512, "avx512");
  EXPECT_EQ(choice.report.why, "");
  choice = Choose(Isa::kAvx512, "");
  EXPECT_EQ(choice.report.isa, "avx512");
  EXPECT_FALSE(choice.warn);
}

TEST_F(VariantTest, AHigherLevelThanTheMachinesIsRefusedWithAWarning) {
  VariantChoice choice = Choose(Isa::kAvx2, "avx512");
  EXPECT_EQ(choice.report.isa, "avx2");
  EXPECT_TRUE(choice.warn);
  EXPECT_NE(choice.report.why.find("TF_RNN_OPS_CPU_ISA=avx512"), std::string::npos);
  EXPECT_EQ(opened_, std::vector<std::string>{"/folder/_tf_rnn_ops_avx2.so"});
}

TEST_F(VariantTest, AnUnknownLevelIsIgnoredWithAWarning) {
  for (const char* wanted : {"AVX2", "sse", "avx2 ", "512"}) {
    const VariantChoice choice = Choose(Isa::kAvx512, wanted);
    EXPECT_EQ(choice.report.isa, "avx512");
    EXPECT_TRUE(choice.warn);
    EXPECT_NE(choice.report.why.find(wanted), std::string::npos);
  }
}

TEST_F(VariantTest, AMissingVariantFallsBackStepByStep) {
  present_.erase(Isa::kAvx512);
  VariantChoice choice = Choose(Isa::kAvx512, nullptr);
  EXPECT_EQ(choice.table, &avx2_);
  EXPECT_TRUE(choice.warn);
  EXPECT_NE(choice.report.why.find("_tf_rnn_ops_avx512.so is missing"), std::string::npos);

  present_.clear();
  choice = Choose(Isa::kAvx512, nullptr);
  EXPECT_EQ(choice.table, &baseline_);
  EXPECT_EQ(choice.report.isa, "baseline");
  EXPECT_TRUE(choice.warn);
  EXPECT_NE(choice.report.why.find("_tf_rnn_ops_avx2.so is missing"), std::string::npos);
  EXPECT_EQ(choice.report.why.find('\n'), std::string::npos) << "one line in the log";
}

TEST(CheckTable, NamesWhatIsWrong) {
  EXPECT_EQ(CheckTable(nullptr, Isa::kAvx2), "it returned no table");
  KernelTable table = TableOf("avx2");
  EXPECT_EQ(CheckTable(&table, Isa::kAvx2), "");
  EXPECT_NE(CheckTable(&table, Isa::kAvx512).find("'avx2'"), std::string::npos);
  table.isa = nullptr;
  EXPECT_NE(CheckTable(&table, Isa::kAvx2), "");
  table = TableOf("avx2");
  table.version += 1;
  EXPECT_NE(CheckTable(&table, Isa::kAvx2).find("version"), std::string::npos);
  table = TableOf("avx2");
  table.struct_size -= 8;
  EXPECT_NE(CheckTable(&table, Isa::kAvx2).find("bytes"), std::string::npos);
  table = TableOf("avx2");
  table.args_size += 8;
  EXPECT_NE(CheckTable(&table, Isa::kAvx2).find("arguments"), std::string::npos);
  table = TableOf("avx2");
  table.linear_recurrence = nullptr;
  EXPECT_NE(CheckTable(&table, Isa::kAvx2).find("lacks"), std::string::npos);
}

std::string FolderOfThisProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  EXPECT_GT(size, 0);
  const std::string program(path, std::max<ssize_t>(size, 0));
  return program.substr(0, program.rfind('/') + 1);
}

TEST(OwnFolder, IsThatOfTheProgram) { EXPECT_EQ(OwnFolder(), FolderOfThisProgram()); }

// In this case the loader knows the program by a name without a folder.
TEST(OwnFolder, IsNotTheCurrentFolderOfAProgramFoundThroughPath) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (chdir("/") != 0) _exit(2);
    const char* const arguments[] = {"variant_test", "--gtest_filter=*IsThatOfTheProgram", nullptr};
    execv("/proc/self/exe", const_cast<char* const*>(arguments));
    _exit(3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

class OpenVariantTest : public ::testing::Test {
 protected:
  OpenVariantTest() {
    std::string name = ::testing::TempDir() + "/variant_XXXXXX";
    EXPECT_NE(mkdtemp(&name[0]), nullptr);
    folder_ = name + "/";
    path_ = folder_ + "_tf_rnn_ops_avx2.so";
  }
  ~OpenVariantTest() override {
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }

  // The real search, without a mock. Every failure selects the baseline and reports a reason.
  void ExpectBaseline(const char* reason) {
    const KernelTable baseline = TableOf("baseline");
    VariantSearch search;
    search.best = Isa::kAvx2;
    search.folder = folder_;
    search.baseline = &baseline;
    const VariantChoice choice = ChooseVariant(search);
    EXPECT_EQ(choice.table, &baseline);
    EXPECT_TRUE(choice.warn);
    EXPECT_NE(choice.report.why.find(path_), std::string::npos) << choice.report.why;
    EXPECT_NE(choice.report.why.find(reason), std::string::npos) << choice.report.why;
  }

  std::string folder_, path_;
};

TEST_F(OpenVariantTest, MissingFile) { ExpectBaseline("No such file"); }

TEST_F(OpenVariantTest, EmptyFile) {
  std::ofstream(path_).close();
  ExpectBaseline("too short");
}

TEST_F(OpenVariantTest, NoElfFile) {
  std::ofstream(path_) << std::string(4096, 'x');
  ExpectBaseline("invalid ELF header");
}

// The path of a library of the system.
std::string SystemLibrary() {
  Dl_info info;
  EXPECT_NE(dladdr(reinterpret_cast<void*>(static_cast<double (*)(double)>(std::sin)), &info), 0);
  return info.dli_fname;
}

TEST_F(OpenVariantTest, LibraryWithoutTheTable) {
  ASSERT_EQ(symlink(SystemLibrary().c_str(), path_.c_str()), 0);
  ExpectBaseline("no symbol tf_rnn_ops_kernel_table");
}

TEST_F(OpenVariantTest, LibraryThatIsCutOff) {
  std::string bytes(8192, '\0');
  ASSERT_TRUE(std::ifstream(SystemLibrary(), std::ios::binary).read(&bytes[0], 8192));
  std::ofstream(path_, std::ios::binary) << bytes;
  ExpectBaseline("it is cut off");
}

TEST(Variant, NamesAndOwnFolder) {
  EXPECT_STREQ(Name(Isa::kBaseline), "baseline");
  EXPECT_STREQ(Name(Isa::kAvx2), "avx2");
  EXPECT_STREQ(Name(Isa::kAvx512), "avx512");
  const std::string folder = OwnFolder();
  ASSERT_FALSE(folder.empty());
  EXPECT_EQ(folder.front(), '/');
  EXPECT_EQ(folder.back(), '/');
  EXPECT_EQ(access(folder.c_str(), R_OK | X_OK), 0) << folder;
}

#if defined(__x86_64__)
// GCC's own detection reads the same registers with other code.
TEST(Variant, DetectsWhatTheCompilersRuntimeDetects) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl");
  EXPECT_EQ(DetectIsa(), avx512 ? Isa::kAvx512 : avx2 ? Isa::kAvx2 : Isa::kBaseline);
}
#else
TEST(Variant, OtherProcessorsHaveTheBaselineAlone) { EXPECT_EQ(DetectIsa(), Isa::kBaseline); }
#endif

}  // namespace
}  // namespace rnn_ops::cpu
