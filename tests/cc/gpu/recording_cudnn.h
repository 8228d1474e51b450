// The stand-in for cuDNN behind functions that note every call, and make a chosen one fail.
#ifndef TF_RNN_OPS_TESTS_CC_GPU_RECORDING_CUDNN_H_
#define TF_RNN_OPS_TESTS_CC_GPU_RECORDING_CUDNN_H_

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cc/gpu/cudnn_api.h"
#include "tests/cc/gpu/host_device_ops.h"

namespace rnn_ops {
namespace gpu {
namespace fake {

enum CudnnFunction {
#define NUMBER(result, name, parameters) k##name,
  RNN_OPS_CUDNN_FUNCTIONS(NUMBER)
#undef NUMBER
};

// What happened, of cuDNN's functions, of operations on memory and of allocations, in their order.
// One at a time; used by one thread.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;

  const CudnnApi& cudnn() const { return api_; }
  // Notes and perhaps fails operations that are not cuDNN's.
  Hook hook();

  // The names, without what cannot fail: destroying and texts.
  const std::vector<std::string>& calls() const { return calls_; }
  void Clear() { calls_.clear(); }
  // The fallible call of this number from now on fails, counted from 0; -1: none.
  void FailAt(int64_t number) { remaining_ = number; }
  // Notes a call; true: it shall fail.
  bool Note(const std::string& name);

  static Recording* current();

 private:
  CudnnApi api_;
  std::vector<std::string> calls_;
  int64_t remaining_ = -1;
};

// One function of the table and the arguments of its last call.
template <int kFunction, typename Pointer>
struct Recorded;

template <int kFunction, typename Result, typename... Args>
struct Recorded<kFunction, Result (*)(Args...)> {
  static inline Result (*real)(Args...) = nullptr;
  static inline const char* name = nullptr;
  static inline std::tuple<Args...> last;

  static Result Call(Args... args) {
    last = std::tuple<Args...>(args...);
    if constexpr (std::is_same_v<Result, cudnnStatus_t>) {
      const bool destroys = std::string(name).rfind("Destroy", 0) == 0;
      if (!destroys && Recording::current()->Note(name)) return CUDNN_STATUS_EXECUTION_FAILED;
    }
    return real(args...);
  }
};

// The arguments of the last call of a function: LAST_ARGUMENTS(RNNForward).
#define LAST_ARGUMENTS(name)                                     \
  (::rnn_ops::gpu::fake::Recorded<::rnn_ops::gpu::fake::k##name, \
                                  decltype(::rnn_ops::gpu::CudnnApi::name)>::last)

}  // namespace fake
}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_TESTS_CC_GPU_RECORDING_CUDNN_H_
