// A driver that does nothing but load modules, one of which a test can hold up. Thread-safe, which
// FakeCuda is not.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu::fake {

// The functions of the table use the only existing object.
class SlowDriver {
 public:
  // The time that other calls may take.
  static constexpr std::chrono::seconds kPatience{20};

  SlowDriver() {
    current_ = this;
    api_.GetErrorName = api_.GetErrorString = [](CUresult, const char** text) {
      *text = "an error";
      return CUDA_SUCCESS;
    };
    api_.CtxGetId = [](CUcontext context, unsigned long long* id) {
      *id = reinterpret_cast<uintptr_t>(context);
      return CUDA_SUCCESS;
    };
    api_.CtxGetDevice = [](CUdevice*) { return CUDA_SUCCESS; };
    api_.DeviceGetAttribute = [](int* value, CUdevice_attribute, CUdevice) {
      *value = 100;
      return CUDA_SUCCESS;
    };
    api_.ModuleLoadData = [](CUmodule* module, const void*) {
      *module = reinterpret_cast<CUmodule>(current_);
      current_->Load();
      return CUDA_SUCCESS;
    };
    api_.ModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
    api_.ModuleGetFunction = [](CUfunction* function, CUmodule, const char*) {
      *function = reinterpret_cast<CUfunction>(current_);
      return CUDA_SUCCESS;
    };
    api_.FuncSetAttribute = [](CUfunction, CUfunction_attribute, int) { return CUDA_SUCCESS; };
    api_.LaunchKernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void**, void**) { return CUDA_SUCCESS; };
    api_.LaunchCooperativeKernel = [](CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, unsigned, CUstream,
                                      void**) { return CUDA_SUCCESS; };
    api_.MemsetD8Async = [](CUdeviceptr, unsigned char, size_t, CUstream) { return CUDA_SUCCESS; };
    api_.MemHostAlloc = [](void** memory, size_t bytes, unsigned) {
      *memory = std::malloc(bytes);
      return CUDA_SUCCESS;
    };
    api_.MemFreeHost = [](void* memory) {
      std::free(memory);
      return CUDA_SUCCESS;
    };
  }
  SlowDriver(const SlowDriver&) = delete;

  const DriverApi& api() const { return api_; }
  // A context with this number, which is not 0.
  static CUcontext Context(uint64_t id) { return reinterpret_cast<CUcontext>(id); }

  int loads() {
    std::lock_guard<std::mutex> lock(mutex_);
    return loads_;
  }
  // The next module is loaded when Release() is called.
  void HoldNextModule() { Set(State::kHolding); }
  void AwaitHeld() { Await(State::kHeld); }
  void Release() { Set(State::kFree); }

 private:
  enum class State { kFree, kHolding, kHeld };

  void Set(State state) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      state_ = state;
    }
    changed_.notify_all();
  }
  void Await(State state) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return state_ == state; });
  }
  void Load() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++loads_;
      if (state_ != State::kHolding) return;
    }
    Set(State::kHeld);
    Await(State::kFree);
  }

  inline static SlowDriver* current_ = nullptr;
  DriverApi api_;
  std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::kFree;
  int loads_ = 0;
};

}  // namespace rnn_ops::gpu::fake
