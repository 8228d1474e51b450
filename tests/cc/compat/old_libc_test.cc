// Tests that the replaced functions behave like the functions of the C and C++ libraries.

#include <dlfcn.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

#include "gtest/gtest.h"

namespace {

TEST(OldLibcTest, LoadsALibrary) {
  void* library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto cosine = reinterpret_cast<double (*)(double)>(dlsym(library, "cos"));
  ASSERT_NE(cosine, nullptr);
  EXPECT_EQ(cosine(0.0), 1.0);
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(cosine), &info), 0);
  EXPECT_NE(std::strstr(info.dli_fname, "libm"), nullptr);
  EXPECT_EQ(dlclose(library), 0);
}

TEST(OldLibcTest, SaysWhyALibraryIsNotLoaded) {
  EXPECT_EQ(dlopen("no_such_library.so", RTLD_NOW), nullptr);
  EXPECT_NE(std::strstr(dlerror(), "no_such_library.so"), nullptr);
}

TEST(OldLibcTest, WaitsUntilNotified) {
  std::mutex mutex;
  std::condition_variable changed;
  int value = 0;
  std::thread other([&] {
    for (int next = 1; next <= 1000; ++next) {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return value == 2 * next - 1; });
      value = 2 * next;
      changed.notify_one();
    }
  });
  for (int next = 1; next <= 1000; ++next) {
    std::unique_lock<std::mutex> lock(mutex);
    value = 2 * next - 1;
    changed.notify_one();
    changed.wait(lock, [&] { return value == 2 * next; });
  }
  other.join();
  EXPECT_EQ(value, 2000);
}

TEST(OldLibcTest, RefusesAnArrayTooLarge) {
  volatile long count = -1;
  EXPECT_THROW(delete[] new double[count], std::bad_array_new_length);
}

}  // namespace
