// Tests the driver calls that read the traits of a GPU, with a mock driver that answers each call
// with the number of the call.
#include <gtest/gtest.h>

#include "cc/gpu/libraries/driver_api.h"

namespace rnn_ops::gpu {
namespace {

int fail_at;  // the number of the call that fails; -1: none

CUresult Note() { return fail_at-- == 0 ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS; }

CUcontext current;
int stream;  // an address

DriverApi FakeDriver() {
  DriverApi api;
  api.GetErrorName = api.GetErrorString = [](CUresult, const char** text) {
    *text = "on purpose";
    return CUDA_SUCCESS;
  };
  api.StreamGetCtx = [](CUstream of, CUcontext* context) {
    EXPECT_EQ(static_cast<void*>(of), &stream);
    *context = reinterpret_cast<CUcontext>(&stream);
    return Note();
  };
  api.CtxGetCurrent = [](CUcontext* context) {
    *context = current;
    return Note();
  };
  api.CtxPushCurrent = [](CUcontext context) {
    const CUresult result = Note();
    if (result == CUDA_SUCCESS) current = context;
    return result;
  };
  api.CtxPopCurrent = [](CUcontext*) {
    current = nullptr;
    return CUDA_SUCCESS;
  };
  api.CtxGetDevice = [](CUdevice* device) {
    *device = 3;
    return Note();
  };
  api.DeviceGetAttribute = [](int* value, CUdevice_attribute attribute, CUdevice device) {
    EXPECT_NE(current, nullptr);
    EXPECT_EQ(device, 3);
    *value = attribute;
    return Note();
  };
  return api;
}

TEST(DeviceTraitsTest, EachTraitIsItsAttribute) {
  fail_at = -1;
  DeviceTraits traits;
  ASSERT_TRUE(GetDeviceTraits(FakeDriver(), &stream, &traits).ok());
  EXPECT_EQ(traits.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(traits.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(traits.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(current, nullptr);
}

TEST(DeviceTraitsTest, EveryFailureIsReportedAndLeavesNoContext) {
  for (int number = 0; number < 7; ++number) {
    fail_at = number;
    DeviceTraits traits;
    const Status status = GetDeviceTraits(FakeDriver(), &stream, &traits);
    EXPECT_EQ(status.code(), Code::kInternal) << number;
    EXPECT_EQ(current, nullptr) << number;
  }
}

}  // namespace
}  // namespace rnn_ops::gpu
