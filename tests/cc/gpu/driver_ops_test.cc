// Tests the device operations on host memory: their results, their calls and their failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <future>
#include <memory>
#include <numeric>
#include <string>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/kernels/kernels_ptx.h"
#include "cc/gpu/launch/device_ops.h"
#include "tests/cc/cpu/narrow_bits.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/fake_memory.h"
#include "tests/cc/gpu/slow_driver.h"

namespace rnn_ops::gpu {
namespace {

using fake::FakeCuda;
using fake::SlowDriver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16};
const std::vector<int32_t> kLengths = {2, 0, 3, 1, 0};  // B = 5, T = 3
constexpr int64_t kTime = 3, kBatch = 5, kWidth = 4;

class DriverOpsTest : public ::testing::Test {
 protected:
  DriverOpsTest() : modules_(&cuda_.driver()), ops_(&cuda_.driver(), &modules_) {}
  void TearDown() override { EXPECT_TRUE(cuda_.pushed().empty()); }

  // 1, 2, 3, ...
  static std::vector<char> Count(Dtype dtype, int64_t size) {
    std::vector<char> memory(size * SizeOf(dtype));
    for (int64_t k = 0; k < size; ++k) fake::Write(dtype, memory.data(), k, k + 1);
    return memory;
  }

  FakeCuda cuda_;
  KernelModules modules_;
  const DriverOps ops_;
};

void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.message(); }

TEST_F(DriverOpsTest, ThePrimaryContextOfAProcessThatOnlyCompiles) {
  {
    ScopedPrimaryContext scope;
    ExpectOk(scope.Enter(cuda_.driver(), 3));
    EXPECT_THAT(cuda_.pushed(), ElementsAre(cuda_.context()));
  }
  EXPECT_THAT(cuda_.calls(),
              ElementsAre("Init", "DeviceGet", "DevicePrimaryCtxRetain", "CtxPushCurrent"));
  for (int call = 0; call < 4; ++call) {
    cuda_.FailAt(call);
    ScopedPrimaryContext scope;
    EXPECT_FALSE(scope.Enter(cuda_.driver(), 3).ok());
  }
}

// XLA passes -1 if it does not know the GPU. GPU 0 may be another one, or hidden from TensorFlow.
TEST_F(DriverOpsTest, AnUnknownOrdinalIsNotTheFirstGpu) {
  ScopedPrimaryContext scope;
  const Status status = scope.Enter(cuda_.driver(), -1);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("must be at least 0, but it is -1."));
  EXPECT_TRUE(cuda_.calls().empty());
}

TEST_F(DriverOpsTest, ZeroesAndCopies) {
  std::vector<char> from = Count(Dtype::kFloat32, 3), to(12, 'x');
  ExpectOk(ops_.Copy(cuda_.stream(), to.data(), from.data(), 8));
  EXPECT_EQ(std::string(to.data(), 12), std::string(from.data(), 8) + "xxxx");
  ExpectOk(ops_.CopyFromHost(cuda_.stream(), to.data(), from.data() + 8, 4));
  EXPECT_EQ(std::string(to.data(), 4), std::string(from.data() + 8, 4));
  cuda_.Clear();
  ExpectOk(ops_.CopyToHost(cuda_.stream(), to.data(), from.data() + 4, 4));
  EXPECT_EQ(std::string(to.data(), 4), std::string(from.data() + 4, 4));
  EXPECT_EQ(cuda_.calls().back(), "StreamSynchronize");
  ExpectOk(ops_.Zero(cuda_.stream(), to.data(), 5));
  EXPECT_EQ(std::string(to.data(), 5), std::string(5, '\0'));
  ExpectOk(ops_.Fill(cuda_.stream(), to.data(), 'y', 2));
  EXPECT_EQ(std::string(to.data(), 3), std::string("yy\0", 3));
  EXPECT_EQ(to[7], from[7]);
}

// The driver may read host memory until the stream has run the copy.
TEST_F(DriverOpsTest, HostMemoryIsReadWhenTheStreamRuns) {
  cuda_.delays_host_work = true;
  std::vector<int32_t> lengths(100), on_device(100);
  std::iota(lengths.begin(), lengths.end(), 1);
  const std::vector<int32_t> want = lengths;
  ExpectOk(ops_.CopyFromHost(cuda_.stream(), on_device.data(), lengths.data(), 400));
  lengths.assign(100, -1);
  // Other calls reuse memory that was freed.
  const std::vector<std::vector<int32_t>> others(10, std::vector<int32_t>(100, -2));
  cuda_.RunStream();
  EXPECT_EQ(on_device, want);
  EXPECT_THAT(cuda_.calls(), ElementsAre("StreamGetCtx", "CtxGetCurrent", "CtxPushCurrent",
                                         "StreamIsCapturing", "MemcpyHtoDAsync", "LaunchHostFunc"));
}

// Each replay of the graph would free the copy of the host memory again.
TEST_F(DriverOpsTest, ACaptureOfACopyFromTheHostIsRefused) {
  cuda_.is_capturing = true;
  int32_t length = 7, on_device = 0;
  const Status status = ops_.CopyFromHost(cuda_.stream(), &on_device, &length, 4);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("copies 4 bytes from host memory"));
  EXPECT_EQ(on_device, 0);
  EXPECT_EQ(cuda_.calls().back(), "StreamIsCapturing");
}

TEST_F(DriverOpsTest, AFailedCopyFromHostLeavesNoWorkThatReadsFreedMemory) {
  cuda_.delays_host_work = true;
  int32_t length = 7, on_device = 0;
  for (const char* function : {"cuMemcpyHtoDAsync", "cuLaunchHostFunc"}) {
    cuda_.Clear();
    cuda_.FailAt(function == std::string("cuLaunchHostFunc") ? 5 : 4);
    const Status status = ops_.CopyFromHost(cuda_.stream(), &on_device, &length, 4);
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_THAT(status.message(), HasSubstr(std::string(function) + " failed with "));
  }
  EXPECT_EQ(cuda_.calls().back(), "StreamSynchronize");
}

// Every value of the type, and on the way back every tie and the neighbors of every tie.
TEST_F(DriverOpsTest, ConvertsAsIeee754Says) {
  for (Dtype dtype : {Dtype::kFloat16, Dtype::kBFloat16}) {
    std::vector<uint16_t> narrow(65536);
    std::iota(narrow.begin(), narrow.end(), 0);
    std::vector<float> wide(narrow.size());
    ExpectOk(ops_.Convert(cuda_.stream(), wide.data(), Dtype::kFloat32, narrow.data(), dtype,
                          static_cast<int64_t>(narrow.size())));
    for (int64_t k = 0; k < 65536; ++k) {
      const double want = fake::Read(dtype, narrow.data(), k);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(wide[k])) << k;
      } else {
        ASSERT_EQ(wide[k], want) << k;
        ASSERT_EQ(std::signbit(wide[k]), std::signbit(want)) << k;
      }
    }
    std::vector<float> values = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e-45f, 1e-30f, 3e38f};
    for (int64_t k = 0; k + 1 < 65536; ++k) {
      const float middle = (wide[k] + wide[k + 1]) / 2;
      for (float value :
           {middle, std::nextafterf(middle, 0.0f), std::nextafterf(middle, INFINITY)}) {
        values.push_back(value);
      }
    }
    std::vector<uint16_t> got(values.size());
    ExpectOk(ops_.Convert(cuda_.stream(), got.data(), dtype, values.data(), Dtype::kFloat32,
                          static_cast<int64_t>(values.size())));
    for (size_t k = 0; k < values.size(); ++k) {
      const double v = values[k];
      const uint16_t want =
          dtype == Dtype::kFloat16 ? cpu::testing::HalfBits(v) : cpu::testing::BFloat16Bits(v);
      if (std::isnan(v)) {
        ASSERT_TRUE(std::isnan(fake::Read(dtype, got.data(), static_cast<int64_t>(k))));
      } else {
        ASSERT_EQ(got[k], want) << v;
      }
    }
  }
}

TEST_F(DriverOpsTest, ConvertBetweenEqualTypesIsACopyAndOthersAreRefused) {
  double from = 2.5, to = 0;
  ExpectOk(ops_.Convert(cuda_.stream(), &to, Dtype::kFloat64, &from, Dtype::kFloat64, 1));
  EXPECT_EQ(to, 2.5);
  cuda_.Clear();
  ExpectOk(ops_.Convert(cuda_.stream(), &to, Dtype::kFloat64, &to, Dtype::kFloat64, 1));
  EXPECT_TRUE(cuda_.calls().empty());
  const Status status =
      ops_.Convert(cuda_.stream(), &to, Dtype::kFloat64, &from, Dtype::kFloat32, 1);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("float to double"));
}

TEST_F(DriverOpsTest, SwapsLeadingDimensions) {
  for (Dtype dtype : kDtypes) {
    const std::vector<char> from = Count(dtype, 3 * 5 * 4);
    std::vector<char> to(from.size());
    ExpectOk(ops_.SwapLeadingDims(cuda_.stream(), dtype, to.data(), from.data(), 3, 5, 4));
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t j = 0; j < 5; ++j) {
        for (int64_t k = 0; k < 4; ++k) {
          ASSERT_EQ(fake::Read(dtype, to.data(), (j * 3 + i) * 4 + k), (i * 5 + j) * 4 + k + 1);
        }
      }
    }
  }
}

TEST_F(DriverOpsTest, MasksSequencesInBothLayoutsAndInPlace) {
  for (Dtype dtype : kDtypes) {
    for (bool time_major : {true, false}) {
      for (bool in_place : {true, false}) {
        std::vector<char> from = Count(dtype, kTime * kBatch * kWidth);
        fake::Write(dtype, from.data(), (time_major ? 1 : kTime) * kWidth, NAN);  // t 0, b 1
        std::vector<char> other(from.size());
        char* const to = in_place ? from.data() : other.data();
        ExpectOk(ops_.MaskSequence(cuda_.stream(), dtype, {kTime, kBatch, kWidth, time_major}, to,
                                   from.data(), kLengths.data()));
        for (int64_t at = 0; at < kTime * kBatch * kWidth; ++at) {
          const int64_t row = at / kWidth;
          const int64_t t = time_major ? row / kBatch : row % kTime;
          const int64_t b = time_major ? row % kBatch : row / kTime;
          ASSERT_EQ(fake::Read(dtype, to, at), t < kLengths[b] ? at + 1.0 : 0.0) << at;
        }
      }
    }
  }
}

TEST_F(DriverOpsTest, TakesStatesOfEmptyRowsFromElsewhereOrZeroesThem) {
  for (Dtype dtype : kDtypes) {
    const int64_t size = 2 * kBatch * kWidth;
    const StateShape shape = {2, kBatch, kWidth};
    const std::vector<char> from = Count(dtype, size);
    std::vector<char> copied(from.size()), zeroed(from.size(), '\x7f');
    ExpectOk(ops_.CopyEmptyRows(cuda_.stream(), dtype, shape, copied.data(), from.data(),
                                kLengths.data()));
    ExpectOk(ops_.ZeroEmptyRows(cuda_.stream(), dtype, shape, zeroed.data(), from.data(),
                                kLengths.data()));
    for (int64_t at = 0; at < size; ++at) {
      const bool empty = kLengths[at / kWidth % kBatch] == 0;
      ASSERT_EQ(fake::Read(dtype, copied.data(), at), empty ? at + 1.0 : 0.0) << at;
      ASSERT_EQ(fake::Read(dtype, zeroed.data(), at), empty ? 0.0 : at + 1.0) << at;
    }
  }
}

TEST_F(DriverOpsTest, NothingToDoCallsNothing) {
  ExpectOk(ops_.Zero(cuda_.stream(), nullptr, 0));
  ExpectOk(ops_.Copy(cuda_.stream(), nullptr, nullptr, 0));
  ExpectOk(ops_.CopyFromHost(cuda_.stream(), nullptr, nullptr, 0));
  ExpectOk(ops_.CopyToHost(cuda_.stream(), nullptr, nullptr, 0));
  ExpectOk(ops_.Convert(cuda_.stream(), nullptr, Dtype::kFloat16, nullptr, Dtype::kFloat32, 0));
  ExpectOk(ops_.SwapLeadingDims(cuda_.stream(), Dtype::kFloat32, nullptr, nullptr, 3, 0, 4));
  ExpectOk(ops_.MaskSequence(cuda_.stream(), Dtype::kFloat32, {0, 5, 4, true}, nullptr, nullptr,
                             kLengths.data()));
  EXPECT_TRUE(cuda_.calls().empty());
}

TEST_F(DriverOpsTest, LoadsTheModuleOnceAndAFunctionOnce) {
  const std::vector<char> from = Count(Dtype::kFloat32, 60);
  std::vector<char> to(from.size());
  for (int k = 0; k < 3; ++k) {
    ExpectOk(
        ops_.SwapLeadingDims(cuda_.stream(), Dtype::kFloat32, to.data(), from.data(), 3, 5, 4));
  }
  EXPECT_EQ(cuda_.Count("ModuleLoadData"), 1);
  EXPECT_EQ(cuda_.Count("ModuleGetFunction"), 1);
  EXPECT_EQ(cuda_.Count("LaunchKernel swap_leading_dims_b32"), 3);
}

TEST_F(DriverOpsTest, ANewContextAtTheAddressOfADestroyedOneGetsItsOwnModule) {
  const std::vector<char> from = Count(Dtype::kFloat32, 60);
  std::vector<char> to(from.size());
  for (uint64_t id : {1, 2, 1, 2}) {
    cuda_.context_id = id;
    ExpectOk(
        ops_.SwapLeadingDims(cuda_.stream(), Dtype::kFloat32, to.data(), from.data(), 3, 5, 4));
  }
  EXPECT_EQ(cuda_.Count("ModuleLoadData"), 2);
  EXPECT_EQ(cuda_.Count("ModuleGetFunction"), 2);
}

// The driver may compile for seconds.
TEST(KernelModules, ACompilationHoldsUpNeitherOtherModulesNorOtherContexts) {
  SlowDriver driver;
  KernelModules modules(&driver.api());
  elementwise::SwapLeading swap = {};
  elementwise::LayerEnd end = {};
  const auto in = [](uint64_t id) { return LaunchPlace{SlowDriver::Context(id), nullptr}; };
  ExpectOk(modules.Launch(in(1), Kernel::swap_leading_dims_b32, {1, 1}, swap));
  driver.HoldNextModule();
  auto slow = std::async(std::launch::async,
                         [&] { return modules.Launch(in(1), Kernel::layer_end_f32, {1, 1}, end); });
  driver.AwaitHeld();
  auto others = std::async(std::launch::async, [&] {
    ExpectOk(modules.Launch(in(1), Kernel::swap_leading_dims_b32, {1, 1}, swap));
    ExpectOk(modules.Launch(in(2), Kernel::layer_end_f32, {1, 1}, end));
  });
  EXPECT_EQ(others.wait_for(SlowDriver::kPatience), std::future_status::ready);
  driver.Release();
  ExpectOk(slow.get());
}

TEST_F(DriverOpsTest, WithoutIdsOfContextsTheAddressIsTheKey) {
  DriverApi old_driver = cuda_.driver();
  old_driver.CtxGetId = nullptr;
  uint64_t id = 0;
  ExpectOk(GetContextId(old_driver, cuda_.context(), &id));
  EXPECT_EQ(id, reinterpret_cast<uintptr_t>(cuda_.context()));
  ExpectOk(GetContextId(cuda_.driver(), cuda_.context(), &id));
  EXPECT_EQ(id, 1u);
}

TEST_F(DriverOpsTest, AContextThatIsCurrentIsNotPushed) {
  ASSERT_EQ(cuda_.driver().CtxPushCurrent(cuda_.context()), CUDA_SUCCESS);
  cuda_.Clear();
  char to = 1;
  ExpectOk(ops_.Zero(cuda_.stream(), &to, 1));
  EXPECT_THAT(cuda_.calls(), ElementsAre("StreamGetCtx", "CtxGetCurrent", "MemsetD8Async"));
  CUcontext context = nullptr;
  cuda_.driver().CtxPopCurrent(&context);
  EXPECT_EQ(context, cuda_.context());
}

// Every kernel of the list is found and launched under its own name, for every type.
TEST_F(DriverOpsTest, EachTypeHasItsKernel) {
  std::vector<char> memory(1024);
  const StateShape shape = {1, 1, 1};
  const SequenceShape sequence = {1, 1, 1, true};
  const int32_t length = 1;
  const char* const sizes[] = {"b32", "b64", "b16", "b16"};
  for (Dtype dtype : kDtypes) {
    cuda_.Clear();
    char* const m = memory.data();
    ExpectOk(ops_.SwapLeadingDims(cuda_.stream(), dtype, m + 512, m, 1, 1, 1));
    ExpectOk(ops_.MaskSequence(cuda_.stream(), dtype, sequence, m, m, &length));
    ExpectOk(ops_.CopyEmptyRows(cuda_.stream(), dtype, shape, m, m, &length));
    ExpectOk(ops_.ZeroEmptyRows(cuda_.stream(), dtype, shape, m, m, &length));
    const std::string size = sizes[static_cast<int>(dtype)];
    for (const char* name :
         {"swap_leading_dims_", "mask_sequence_", "copy_empty_rows_", "zero_empty_rows_"}) {
      EXPECT_EQ(cuda_.Count("LaunchKernel " + (name + size)), 1) << name << Name(dtype);
    }
  }
}

// NVRTC and the host compiler give the structs the same size.
TEST(Ptx, ItsParametersAreAsLargeAsTheStructsOfTheHost) {
  const std::string ptx = std::string(elementwise::kKernelsPtx) + elementwise::kLayerKernelsPtx;
  const struct {
    const char* name;
    size_t size;
  } kernels[] = {
#define RNN_OPS_SIZE(name, Args, function) {#name, sizeof(elementwise::Args)},
      RNN_OPS_KERNELS(RNN_OPS_SIZE)
#undef RNN_OPS_SIZE
  };
  for (const auto& kernel : kernels) {
    EXPECT_THAT(ptx, HasSubstr(StrCat(".visible .entry ", kernel.name, "(\n\t.param .align 8 .b8 ",
                                      kernel.name, "_param_0[", kernel.size, "]\n)")));
  }
}

TEST_F(DriverOpsTest, AFailureNamesFunctionAndKernel) {
  const std::vector<char> from = Count(Dtype::kFloat32, 60);
  std::vector<char> to(from.size());
  const char* const functions[] = {"cuStreamGetCtx",   "cuCtxGetCurrent",     "cuCtxPushCurrent",
                                   "cuModuleLoadData", "cuModuleGetFunction", "cuLaunchKernel"};
  int64_t n = 0;
  for (const char* function : functions) {
    FakeCuda cuda;
    KernelModules modules(&cuda.driver());
    const DriverOps ops(&cuda.driver(), &modules);
    cuda.FailAt(n++);
    const Status status =
        ops.SwapLeadingDims(cuda.stream(), Dtype::kFloat32, to.data(), from.data(), 3, 5, 4);
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_THAT(status.message(), HasSubstr(std::string(function) +
                                            " failed with CUDA_ERROR_NOT_INITIALIZED (3) in "));
    EXPECT_THAT(status.message(), HasSubstr("text of the driver"));
    if (n > 4) {
      EXPECT_THAT(status.message(), HasSubstr("swap_leading_dims_b32"));
    }
    EXPECT_TRUE(cuda.pushed().empty());
  }
}

}  // namespace
}  // namespace rnn_ops::gpu
