// Preloaded into a child process: makes the n-th request for memory fail.
//
// Kinds of requests: "tensor", what TensorFlow's allocator takes from the C library; "new" and
// "mmap", those of this project's own libraries, told by the caller's address. Of mmap all requests
// from the n-th on fail, because the library asks again after it gave back what it kept.
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind { kNone, kTensor, kNew, kMmap };

std::atomic<int> armed{kNone};
std::atomic<long> left{0};  // requests until the one that fails

bool FromOurs(void* caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "_tf_rnn_ops") != nullptr;
}

// Whether this request is the one that fails.
bool Fails(int kind, void* caller) {
  if (armed.load() != kind) return false;
  if (kind != kTensor && !FromOurs(caller)) return false;
  const long before = left.fetch_sub(1);
  return kind == kMmap ? before <= 1 : before == 1;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int RealMemalign(void** data, std::size_t align, std::size_t size) {
  static auto* const next = Next<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  return next(data, align, size);
}

void* New(std::size_t size, void* caller) {
  void* data = Fails(kNew, caller) ? nullptr : std::malloc(size > 0 ? size : 1);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void* AlignedNew(std::size_t size, std::align_val_t align, void* caller) {
  const std::size_t bytes = std::max(static_cast<std::size_t>(align), sizeof(void*));
  void* data = nullptr;
  if (Fails(kNew, caller) || RealMemalign(&data, bytes, size) != 0) {
    throw std::bad_alloc();
  }
  return data;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// The n-th request of the kind from now on fails; n counts from 1.
EXPORT void fail_request(int kind, long n) {
  left = n;
  armed = kind;
}

// Ends it. Returns whether a request failed.
EXPORT int stop_failing() {
  armed = kNone;
  return left.load() <= 0;
}

EXPORT int posix_memalign(void** data, std::size_t align, std::size_t size) {
  return Fails(kTensor, CALLER) ? ENOMEM : RealMemalign(data, align, size);
}

EXPORT void* aligned_alloc(std::size_t align, std::size_t size) {
  static auto* const next = Next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  return Fails(kTensor, CALLER) ? nullptr : next(align, size);
}

EXPORT void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  static auto* const next = Next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (Fails(kMmap, CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return next(at, size, protection, flags, file, offset);
}

void* operator new(std::size_t size) { return New(size, CALLER); }
void* operator new[](std::size_t size) { return New(size, CALLER); }
void* operator new(std::size_t size, std::align_val_t align) {
  return AlignedNew(size, align, CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return Fails(kNew, CALLER) ? nullptr : std::malloc(size > 0 ? size : 1);
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
