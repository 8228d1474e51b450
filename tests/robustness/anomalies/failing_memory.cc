// Preloaded into a child process: makes the n-th request for memory fail, and counts what is held.
//
// Kinds of requests: "tensor", what TensorFlow's allocator takes from the C library; "new" and
// "mmap", those of this project's own libraries, told by the caller's address. Of mmap all requests
// from the n-th on fail, because the library asks again after it gave back what it kept.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

// The C library's own, which the definition below hides.
extern "C" void __libc_free(void* data);

namespace {

enum Kind { kNone, kTensor, kNew, kMmap };

std::atomic<int> armed{kNone};
std::atomic<long> left{0};  // requests until the one that fails

// Where the code of this project's libraries lies. No more of them are loaded than fit.
struct Range {
  uintptr_t begin, end;
};
Range ranges[16];
std::atomic<int> num_ranges{0};

int AddRanges(dl_phdr_info* info, std::size_t, void* found) {
  if (std::strstr(info->dlpi_name, "_tf_rnn_ops") == nullptr) return 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    const auto& header = info->dlpi_phdr[k];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    int* const count = static_cast<int*>(found);
    const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    if (*count < 16) ranges[(*count)++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

void FindRanges() {
  int found = 0;
  dl_iterate_phdr(AddRanges, &found);
  num_ranges = found;
}

bool FromOurs(void* caller) {
  const auto at = reinterpret_cast<uintptr_t>(caller);
  return std::any_of(ranges, ranges + num_ranges,
                     [at](const Range& range) { return at >= range.begin && at < range.end; });
}

// Whether this request is the one that fails.
bool Fails(int kind, void* caller) {
  if (armed.load() != kind) return false;
  if (kind != kTensor && !FromOurs(caller)) return false;
  const long before = left.fetch_sub(1);
  return kind == kMmap ? before <= 1 : before == 1;
}

// From the C library, so that it may be used inside of `new`.
template <typename T>
struct Allocator {
  using value_type = T;
  Allocator() = default;
  template <typename U>
  Allocator(const Allocator<U>&) {}  // NOLINT: as the standard library wants it
  T* allocate(std::size_t count) { return static_cast<T*>(std::malloc(count * sizeof(T))); }
  void deallocate(T* data, std::size_t) { __libc_free(data); }
  friend bool operator==(Allocator, Allocator) { return true; }
  friend bool operator!=(Allocator, Allocator) { return false; }
};

// What was given for requests of a kind and has not been freed.
class Held {
 public:
  // Lives as long as the process, whose last deletes come late.
  static Held& All() {
    static auto* const all = new (std::malloc(sizeof(Held))) Held;
    return *all;
  }

  void Add(int kind, void* data) {
    if (data == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    kinds_[data] = kind;
    ++counts_[kind];
  }

  void Remove(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = kinds_.find(data);
    if (it == kinds_.end()) return;
    --counts_[it->second];
    kinds_.erase(it);
  }

  // Of kMmap the bytes, since a part of a block may be given back.
  void AddBytes(long bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    counts_[kMmap] += bytes;
  }

  long Count(int kind) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_[kind];
  }

 private:
  using Entry = std::pair<void* const, int>;
  std::mutex mutex_;
  std::unordered_map<void*, int, std::hash<void*>, std::equal_to<void*>, Allocator<Entry>> kinds_;
  long counts_[kMmap + 1] = {};
};

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int RealMemalign(void** data, std::size_t align, std::size_t size) {
  static auto* const next = Next<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  return next(data, align, size);
}

void* NewOrNull(std::size_t size, void* caller) {
  void* const data = Fails(kNew, caller) ? nullptr : std::malloc(size > 0 ? size : 1);
  if (FromOurs(caller)) Held::All().Add(kNew, data);
  return data;
}

void* New(std::size_t size, void* caller) {
  void* const data = NewOrNull(size, caller);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

void* AlignedNew(std::size_t size, std::align_val_t align, void* caller) {
  const std::size_t bytes = std::max(static_cast<std::size_t>(align), sizeof(void*));
  void* data = nullptr;
  if (Fails(kNew, caller) || RealMemalign(&data, bytes, size) != 0) {
    throw std::bad_alloc();
  }
  if (FromOurs(caller)) Held::All().Add(kNew, data);
  return data;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

// The n-th request of the kind from now on fails; n counts from 1.
EXPORT void fail_request(int kind, long n) {
  FindRanges();
  left = n;
  armed = kind;
}

// Ends it. Returns whether a request failed.
EXPORT int stop_failing() {
  armed = kNone;
  return left.load() <= 0;
}

// How many requests of the kind are held; of mmap, how many bytes.
EXPORT long held(int kind) {
  FindRanges();
  return Held::All().Count(kind);
}

EXPORT int posix_memalign(void** data, std::size_t align, std::size_t size) {
  if (Fails(kTensor, CALLER)) return ENOMEM;
  const int error = RealMemalign(data, align, size);
  if (error == 0) Held::All().Add(kTensor, *data);
  return error;
}

EXPORT void* aligned_alloc(std::size_t align, std::size_t size) {
  static auto* const next = Next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  void* const data = Fails(kTensor, CALLER) ? nullptr : next(align, size);
  Held::All().Add(kTensor, data);
  return data;
}

EXPORT void free(void* data) {
  if (data != nullptr) Held::All().Remove(data);
  __libc_free(data);
}

EXPORT void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  static auto* const next = Next<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (Fails(kMmap, CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  void* const data = next(at, size, protection, flags, file, offset);
  if (data != MAP_FAILED && FromOurs(CALLER)) Held::All().AddBytes(static_cast<long>(size));
  return data;
}

EXPORT int munmap(void* at, std::size_t size) {
  static auto* const next = Next<int (*)(void*, std::size_t)>("munmap");
  if (FromOurs(CALLER)) Held::All().AddBytes(-static_cast<long>(size));
  return next(at, size);
}

void* operator new(std::size_t size) { return New(size, CALLER); }
void* operator new[](std::size_t size) { return New(size, CALLER); }
void* operator new(std::size_t size, std::align_val_t align) {
  return AlignedNew(size, align, CALLER);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return NewOrNull(size, CALLER);
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
