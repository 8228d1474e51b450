// Lets a library that was built on a new Linux run on an old one, back to glibc 2.27 and GCC 7's
// libstdc++.
//
// The linker binds a call to the newest version of a function. Each function in this file replaces
// a function whose newest version is too new. The version script keeps these functions inside the
// library. test_symbol_versions in tests/package/wheel checks the result.

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

// glibc 2.34 moved these functions from libdl to libc and gave them a new version. The old version
// still exists. Older systems have it in libdl.so.2, and libtensorflow_framework.so.2 is linked to
// libdl.so.2.
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

// New in glibc 2.32. libstdc++ reads this variable to avoid atomic operations for reference counts
// in processes with one thread. A process with TensorFlow has many threads.
char __libc_single_threaded = 0;

}  // extern "C"

#endif  // __GLIBC__

namespace std {

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 11
// New in GCC 11: called by `new T[n]` if the size overflows.
void __throw_bad_array_new_length() { throw bad_array_new_length(); }
#endif

#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE >= 12
// Changed in GCC 12: no longer noexcept, so that a waiting thread can be cancelled.
void condition_variable::wait(unique_lock<mutex>& lock) {
  pthread_cond_wait(native_handle(), lock.mutex()->native_handle());
}
#endif

}  // namespace std
