// A call of one thread allocates nothing, takes no lock and makes no system call, from the first
// one on.

#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/step/rnn_step.h"
#include "gtest/gtest.h"
#include "tests/cc/step/reference_graph.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RNN_OPS_SANITIZED 1
#else
#define RNN_OPS_SANITIZED 0
#endif

namespace {

// The functions that a call may not reach, in the child of a test.
std::atomic<bool> trapped{false};

void Reached(const char* function) {
  if (!trapped.load(std::memory_order_relaxed)) return;
  const char text[] = "a call reaches ";
  static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
  static_cast<void>(!write(STDERR_FILENO, function, std::strlen(function)));
  static_cast<void>(!write(STDERR_FILENO, "\n", 1));
  _exit(1);
}

}  // namespace

#if !RNN_OPS_SANITIZED

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* data, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* data);

void* malloc(size_t size) noexcept {
  Reached("malloc");
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) noexcept {
  Reached("calloc");
  return __libc_calloc(count, size);
}
void* realloc(void* data, size_t size) noexcept {
  Reached("realloc");
  return __libc_realloc(data, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  Reached("aligned_alloc");
  return __libc_memalign(alignment, size);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  Reached("pthread_mutex_lock");
  static const auto lock =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return lock(mutex);
}
void free(void* data) noexcept {
  Reached("free");
  __libc_free(data);
}

}  // extern "C"

#endif

namespace rnn_ops::step {
namespace {

using testing::ReferenceGraph;
using testing::Tensor;

using Make = std::function<Tensor*(ReferenceGraph*)>;

// Graphs with each node of windows.
void AddWindows(std::map<std::string, Make>* graphs) {
  using G = ReferenceGraph*;
  using T = Tensor*;
  const auto on_windows = [graphs](const std::string& name, auto node) {
    for (const int64_t words : {0, 50}) {
      (*graphs)["window: " + name + (words > 0 ? " of words" : "")] = [=](G g) {
        T padded = words > 0 ? g->Padded({20}, words) : g->Padded({20, 24}, 0);
        T lengths = g->Lengths(padded, words > 0);
        return node(g, words > 0 ? g->Embedding(padded, words, 24, false) : padded, lengths);
      };
    }
  };
  on_windows("rnn", [](G g, T x, T n) { return g->Rnn(x, "lstm", 5, {}, n); });
  on_windows("mask", [](G g, T x, T n) { return g->Mask(x, n, true); });
  on_windows("reverse", [](G g, T x, T n) { return g->Reverse(x, n); });
  on_windows("crop", [](G g, T x, T) { return g->Crop(x, 2, 3); });
  on_windows("repeat", [](G g, T x, T) { return g->Repeat(x, 3); });
  on_windows("pool", [](G g, T x, T n) { return g->Pool(x, n, "average", 4, 2, 1, 2); });
  on_windows("pool of all",
             [](G g, T x, T) { return g->Pool(x, nullptr, "maximum", 20, 1, 0, 0); });
  on_windows("permute", [](G g, T x, T) { return g->Permute(x, {1, 0}); });
  on_windows("last_step", [](G g, T x, T n) { return g->LastStep(x, n); });
  on_windows("conv", [](G g, T x, T) { return g->WindowConv(x, 3, 10, 1, 1, 2, 1, 1); });
  on_windows("grouped conv", [](G g, T x, T) { return g->WindowConv(x, 3, 24, 4, 2, 1, 4, 0); });
  on_windows("depthwise conv", [](G g, T x, T) { return g->WindowConv(x, 3, 24, 24, 1, 1, 1, 1); });
  for (const char* mode : {"lstm", "gru", "gru_reset_before", "rnn_tanh", "rnn_relu"}) {
    on_windows(mode, [mode](G g, T x, T) {
      T h = g->LastStep(g->Rnn(x, mode, 33));
      return g->Rnn(x, mode, 33,
                    mode == std::string("lstm") ? std::vector<T>{h, h} : std::vector<T>{h});
    });
  }
}

// A graph with each node.
std::map<std::string, Make> Graphs() {
  std::map<std::string, Make> graphs;
  AddWindows(&graphs);
  const auto on_floats = [&graphs](const std::string& name, auto node) {
    graphs[name] = [node](ReferenceGraph* g) { return node(g, g->Input({24})); };
  };
  using G = ReferenceGraph*;
  using T = Tensor*;
  on_floats("dense", [](G g, T x) { return g->Dense(x, 40, true); });
  on_floats("dense of one column", [](G g, T x) { return g->Dense(x, 1, true); });
  on_floats("quantized_dense", [](G g, T x) { return g->QuantizedDense(x, 40); });
  on_floats("conv", [](G g, T x) { return g->Conv(x, 3, 10, 1, 1); });
  on_floats("dilated conv", [](G g, T x) { return g->Conv(x, 3, 10, 1, 4); });
  on_floats("grouped conv", [](G g, T x) { return g->Conv(x, 3, 24, 4, 2); });
  on_floats("depthwise conv", [](G g, T x) { return g->Conv(x, 3, 24, 24, 1); });
  for (const char* name :
       {"relu", "tanh", "sigmoid", "hard_sigmoid", "exponential", "softplus", "softsign", "elu",
        "selu", "silu", "hard_silu", "gelu", "mish", "softmax", "log_softmax"}) {
    on_floats(name, [name](G g, T x) { return g->Activation(g->Scale(x), name); });
  }
  on_floats("scale", [](G g, T x) { return g->Scale(x); });
  on_floats("norm", [](G g, T x) { return g->Norm(x, true); });
  for (const char* name : {"add", "subtract", "multiply", "average", "maximum", "minimum"}) {
    on_floats(name, [name](G g, T x) { return g->Combine({x, g->Scale(x)}, name); });
  }
  on_floats("concatenate", [](G g, T x) { return g->Concatenate({x, g->Scale(x)}); });
  on_floats("reshape", [](G g, T x) { return g->Scale(g->Reshape(x, {2, 12})); });
  on_floats("reshape of an input", [](G g, T x) { return g->Reshape(x, {2, 12}); });
  on_floats("last_step", [](G g, T x) { return g->LastStep(x); });
  for (const char* mode : {"lstm", "gru", "gru_reset_before", "rnn_tanh", "rnn_relu"}) {
    on_floats(mode, [mode](G g, T x) { return g->Rnn(x, mode, 33); });
  }
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    on_floats(std::string("int8 ") + mode,
              [mode](G g, T x) { return g->QuantizedRnn(x, mode, 33); });
  }
  on_floats("stack", [](G g, T x) { return g->Stack(x, 20); });
  graphs["embedding"] = [](G g) { return g->Embedding(g->Words({}, 50), 50, 20, false); };
  graphs["embedding in int8"] = [](G g) { return g->Embedding(g->Words({}, 50), 50, 20, true); };
  graphs["cast"] = [](G g) { return g->Scale(g->Reshape(g->Cast(g->Words({}, 50), 50), {1})); };
  return graphs;
}

// Kills the process at any system call but write and exit. Returns false if Linux does not allow
// it.
bool ForbidSystemCalls() {
  const auto allow = [](int number) {
    return std::vector<sock_filter>{
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  };
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int number : {SYS_write, SYS_exit_group}) {
    const std::vector<sock_filter> part = allow(number);
    filter.insert(filter.end(), part.begin(), part.end());
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program = {static_cast<uint16_t>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

constexpr int kNoFilter = 77;

// Runs a function in a process that may do nothing else. Returns how the process ended.
int RunTrapped(const std::function<void()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    if (!ForbidSystemCalls()) _exit(kNoFilter);
    trapped = true;
    function();
    _exit(0);
  }
  int how = 0;
  EXPECT_EQ(waitpid(child, &how, 0), child);
  return how;
}

bool IsKilled(int how) { return WIFSIGNALED(how) && WTERMSIG(how) == SIGSYS; }

class RealTime : public ::testing::Test {
 protected:
  void SetUp() override {
    if (RNN_OPS_SANITIZED) GTEST_SKIP() << "a sanitizer allocates and makes system calls";
    const int how = RunTrapped([] {});
    if (WIFEXITED(how) && WEXITSTATUS(how) == kNoFilter) {
      GTEST_SKIP() << "no filter of system calls: " << std::strerror(errno);
    }
    ASSERT_EQ(how, 0);
  }
};

TEST_F(RealTime, TheTrapSeesAllocationsAndSystemCalls) {
  EXPECT_NE(RunTrapped([] { free(malloc(100)); }), 0);
  EXPECT_NE(RunTrapped([] { delete new std::string(100, 'x'); }), 0);
  EXPECT_NE(RunTrapped([] {
              std::mutex mutex;
              const std::lock_guard<std::mutex> lock(mutex);
            }),
            0);
  EXPECT_TRUE(IsKilled(RunTrapped([] { syscall(SYS_futex, nullptr, 1, 0, nullptr, nullptr, 0); })));
  EXPECT_TRUE(IsKilled(RunTrapped([] { syscall(SYS_openat, -1, "/", 0); })));
}

TEST_F(RealTime, CallsOnlyCompute) {
  for (const auto& [name, make] : Graphs()) {
    for (const int64_t batch : {1, 3}) {
      for (const int64_t time : {1, 10}) {
        SCOPED_TRACE(::testing::Message() << name << ", batch " << batch << ", time " << time);
        ReferenceGraph graph(/*seed=*/1, batch, time, /*windows=*/name[0] == 'w' && name[6] == ':');
        graph.Output(make(&graph));
        graph.Step();
        const std::string file = graph.File();
        RnnStepper* stepper = nullptr;
        ASSERT_EQ(rnn_step_new(file.data(), file.size(), batch, time, /*threads=*/1, &stepper),
                  RNN_STEP_OK)
            << rnn_step_error();
        const std::unique_ptr<RnnStepper, decltype(&rnn_step_free)> owned(stepper, &rnn_step_free);
        const std::vector<const void*> inputs = graph.InputPointers();
        std::vector<float> y(graph.outputs()[0]->values.size());
        float* const outputs[] = {y.data()};
        std::vector<float> state(10'000);
        const int how = RunTrapped([&] {
          for (int call = 0; call < 5; ++call) {
            if (rnn_step_call(stepper, inputs.data(), outputs) != RNN_STEP_OK) _exit(2);
          }
          if (rnn_step_num_states(stepper) > 0) {
            if (rnn_step_get_state(stepper, 0, state.data()) != RNN_STEP_OK) _exit(3);
            if (rnn_step_set_state(stepper, 0, state.data()) != RNN_STEP_OK) _exit(4);
          }
          if (rnn_step_reset(stepper, nullptr, 0) != RNN_STEP_OK) _exit(5);
        });
        EXPECT_EQ(how, 0) << (IsKilled(how) ? "a system call" : "");
      }
    }
  }
}

}  // namespace
}  // namespace rnn_ops::step
