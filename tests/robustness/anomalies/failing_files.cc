// Preloaded into a child process: makes the n-th use of a file fail, of those that are this
// project's libraries or tell about the limits of the process, or of those in a folder.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace {

enum Kind { kNone, kOpen, kRead, kDlopen, kWrite };

std::atomic<int> armed{kNone};
std::atomic<long> left{0};  // uses until the one that fails
char folder[PATH_MAX];      // whose files are watched in the place of the project's own

bool IsWatched(const char* path) {
  if (path == nullptr) return false;
  if (folder[0] != '\0') return std::strncmp(path, folder, std::strlen(folder)) == 0;
  const char* const slash = std::strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return std::strncmp(name, "_tf_rnn_ops", 11) == 0 ||
         std::strncmp(path, "/proc/self/mountinfo", 20) == 0 ||
         std::strncmp(path, "/proc/self/cgroup", 17) == 0 ||
         std::strncmp(path, "/proc/self/task", 15) == 0 ||
         std::strncmp(path, "/sys/fs/cgroup", 14) == 0;
}

// Whether this use is the one that fails.
bool Fails(int kind, const char* path) {
  return armed.load() == kind && IsWatched(path) && left.fetch_sub(1) == 1;
}

bool Refused(const char* path) {
  if (!Fails(kOpen, path)) return false;
  errno = EMFILE;
  return true;
}

template <typename Function>
Function Next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

// Whether this use of an open file is the one that fails; then errno is `error`.
bool FailsOn(int kind, int file, int error) {
  if (armed.load() != kind) return false;
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, path, sizeof(path) - 1);
  path[length < 0 ? 0 : length] = '\0';
  // The process is seen there by its number.
  const bool in_proc = std::strncmp(path, "/proc/", 6) == 0;
  const char* const rest = in_proc ? std::strchr(path + 6, '/') : nullptr;
  char self[PATH_MAX + 16];
  if (rest != nullptr) std::snprintf(self, sizeof(self), "/proc/self%s", rest);
  if (!Fails(kind, rest != nullptr ? self : path)) return false;
  errno = error;
  return true;
}

bool FailsToRead(int file) { return FailsOn(kRead, file, EIO); }
bool FailsToWrite(int file) { return FailsOn(kWrite, file, ENOSPC); }

int Open(const char* function, const char* path, int flags, mode_t mode) {
  return Next<int (*)(const char*, int, ...)>(function)(path, flags, mode);
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// Files of this folder are watched from now on, instead of the project's own.
EXPORT void watch(const char* path) { std::snprintf(folder, sizeof(folder), "%s", path); }

// The n-th use of the kind from now on fails; n counts from 1.
EXPORT void fail_use(int kind, long n) {
  left = n;
  armed = kind;
}

// Ends it. Returns whether a use failed.
EXPORT int stop_failing() {
  armed = kNone;
  return left.load() <= 0;
}

EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return Refused(path) ? -1 : Open("open", path, flags, mode);
}

EXPORT int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return Refused(path) ? -1 : Open("open64", path, flags, mode);
}

EXPORT FILE* fopen(const char* path, const char* mode) {
  return Refused(path) ? nullptr : Next<FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}

EXPORT FILE* fopen64(const char* path, const char* mode) {
  return Refused(path) ? nullptr : Next<FILE* (*)(const char*, const char*)>("fopen64")(path, mode);
}

EXPORT DIR* opendir(const char* path) {
  return Refused(path) ? nullptr : Next<DIR* (*)(const char*)>("opendir")(path);
}

EXPORT ssize_t read(int file, void* data, size_t size) {
  static auto* const next = Next<ssize_t (*)(int, void*, size_t)>("read");
  return FailsToRead(file) ? -1 : next(file, data, size);
}

EXPORT ssize_t pread(int file, void* data, size_t size, off_t at) {
  static auto* const next = Next<ssize_t (*)(int, void*, size_t, off_t)>("pread");
  return FailsToRead(file) ? -1 : next(file, data, size, at);
}

EXPORT ssize_t pread64(int file, void* data, size_t size, off64_t at) {
  static auto* const next = Next<ssize_t (*)(int, void*, size_t, off64_t)>("pread64");
  return FailsToRead(file) ? -1 : next(file, data, size, at);
}

EXPORT ssize_t write(int file, const void* data, size_t size) {
  static auto* const next = Next<ssize_t (*)(int, const void*, size_t)>("write");
  return FailsToWrite(file) ? -1 : next(file, data, size);
}

EXPORT ssize_t sendfile64(int to, int from, off64_t* at, size_t size) {
  static auto* const next = Next<ssize_t (*)(int, int, off64_t*, size_t)>("sendfile64");
  return FailsToRead(from) || FailsToWrite(to) ? -1 : next(to, from, at, size);
}

EXPORT ssize_t sendfile(int to, int from, off_t* at, size_t size) {
  static auto* const next = Next<ssize_t (*)(int, int, off_t*, size_t)>("sendfile");
  return FailsToRead(from) || FailsToWrite(to) ? -1 : next(to, from, at, size);
}

EXPORT void* dlopen(const char* path, int mode) {
  // What dlerror() says then is another library's.
  const char* const opened = Fails(kDlopen, path) ? "/nonexistent/library.so" : path;
  return Next<void* (*)(const char*, int)>("dlopen")(opened, mode);
}
