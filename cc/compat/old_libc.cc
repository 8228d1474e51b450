// Lets what is built on a new Linux run on an old one, back to glibc 2.27 and GCC 7's libstdc++.
//
// The linker binds a call to the newest version of a function. Each function here takes the place
// of one whose newest version is too new; the version script keeps them inside the library. The
// gate is test_symbol_versions in tests/package/wheel.

#include <dlfcn.h>
#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

#ifdef __GLIBC__

#if defined(__x86_64__)
#define RNN_OPS_FIRST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define RNN_OPS_FIRST_GLIBC "GLIBC_2.17"
#else
#error "say which version of glibc was the first on this architecture"
#endif

// glibc 2.34 moved these from libdl to libc and gave them a new version. The old one is there
// still. An older system has them in libdl.so.2, to which libtensorflow_framework.so.2 is linked.
#define RNN_OPS_OLD(name) __asm__(".symver Old_" #name "," #name "@" RNN_OPS_FIRST_GLIBC)

extern "C" {

RNN_OPS_OLD(dladdr);
RNN_OPS_OLD(dlclose);
RNN_OPS_OLD(dlerror);
RNN_OPS_OLD(dlopen);
RNN_OPS_OLD(dlsym);

int Old_dladdr(const void* address, Dl_info* info);
int Old_dlclose(void* handle);
char* Old_dlerror();
void* Old_dlopen(const char* file, int mode);
void* Old_dlsym(void* handle, const char* symbol);

int dladdr(const void* address, Dl_info* info) noexcept { return Old_dladdr(address, info); }
int dlclose(void* handle) noexcept { return Old_dlclose(handle); }
char* dlerror() noexcept { return Old_dlerror(); }
void* dlopen(const char* file, int mode) noexcept { return Old_dlopen(file, mode); }
void* dlsym(void* handle, const char* symbol) noexcept { return Old_dlsym(handle, symbol); }

// glibc 2.32. libstdc++ reads it to count references without atomic operations in a process of one
// thread; TensorFlow's has many.
char __libc_single_threaded = 0;

}  // extern "C"

#endif  // __GLIBC__

namespace std {

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 11
// GCC 11: for `new T[n]` with a size that overflows.
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
#endif

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 12
// GCC 12: no longer noexcept, so that a thread can be cancelled while it waits.
void condition_variable::wait(unique_lock<mutex>& lock) {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
#endif

}  // namespace std
