// The cuDNN mock behind functions that record every call and make a chosen call fail.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cc/gpu/libraries/cudnn_api.h"
#include "tests/cc/gpu/host_device_ops.h"

namespace rnn_ops::gpu::fake {

enum CudnnFunction {
#define NUMBER(result, name, parameters) k##name,
  RNN_OPS_CUDNN_FUNCTIONS(NUMBER)
#undef NUMBER
};

// A record of the calls of cuDNN's functions, of operations on memory and of allocations, in their
// order. Only one object may exist. Not thread-safe.
class Recording {
 public:
  Recording();
  ~Recording();
  Recording(const Recording&) = delete;

  const CudnnApi& cudnn() const { return api_; }
  // A hook that records operations other than cuDNN's, and makes them fail if chosen.
  Hook hook();

  // The names of the calls that can fail, which excludes destroying objects and getting texts.
  const std::vector<std::string>& calls() const { return calls_; }
  void Clear() { calls_.clear(); }
  // Makes the call with this number in calls() fail, counted from 0 from now on; -1: none.
  void FailAt(int64_t number) { remaining_ = number; }
  // Records a call. Returns true if the call must fail.
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

}  // namespace rnn_ops::gpu::fake
