// Tests the driver and cuBLAS when the libraries are missing or are other libraries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "cc/gpu/libraries/cublas_api.h"
#include "cc/gpu/libraries/driver_api.h"
#include "cc/gpu/libraries/dso.h"
#include "cc/gpu/rnn_gpu.h"

namespace rnn_ops::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Dso OpenLibc() {
  DsoRequest request;
  request.what = "the C library";
  request.names = {"libc.so.6"};
  request.remedy = "";
  Dso dso;
  const Status status = OpenDso(request, &dso);
  EXPECT_TRUE(status.ok()) << status.message();
  return dso;
}

TEST(Libraries, ALibraryWithoutTheFunctionsIsRefusedByName) {
  const Dso libc = OpenLibc();
  DriverApi driver;
  const Status no_driver = driver.Bind(libc);
  EXPECT_EQ(no_driver.code(), Code::kFailedPrecondition);
  EXPECT_THAT(no_driver.message(), AllOf(HasSubstr("libc.so.6"), HasSubstr("cuMemcpyHtoDAsync_v2"),
                                         HasSubstr("cuLaunchKernel")));
  CublasApi cublas;
  const Status no_cublas = cublas.Bind(libc);
  EXPECT_EQ(no_cublas.code(), Code::kFailedPrecondition);
  EXPECT_THAT(no_cublas.message(), AllOf(HasSubstr("libc.so.6"), HasSubstr("cublasGemmEx_64")));
}

TEST(Libraries, CublasIsNamedWithWhereItWasLookedForAndHowToGetIt) {
  DsoRequest request = CublasApi::Request();
  ASSERT_EQ(setenv(request.env, "/nowhere/libcublas.so.12", 1), 0);
  const CublasApi* api = nullptr;
  const Status status = GetLibrary(&api);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("cuBLAS 12 or 13"), HasSubstr("/nowhere/libcublas.so.12"),
                    HasSubstr("pip install nvidia-cublas-cu12")));
}

TEST(Libraries, OutOfMemoryIsResourceExhausted) {
  DriverApi driver;
  driver.GetErrorName = [](CUresult, const char** name) {
    *name = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  };
  // Like the driver for an unknown code.
  driver.GetErrorString = [](CUresult, const char**) { return CUDA_ERROR_INVALID_VALUE; };
  const Status status = FromDriver(driver, CUDA_ERROR_OUT_OF_MEMORY, "ModuleLoadData(&m, ptx)");
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "cuModuleLoadData failed with CUDA_ERROR_OUT_OF_MEMORY (2) in "
            "cuModuleLoadData(&m, ptx): no description");
  EXPECT_TRUE(FromDriver(driver, CUDA_SUCCESS, "").ok());

  CublasApi cublas;
  cublas.GetStatusName = [](cublasStatus_t) { return "NAME"; };
  cublas.GetStatusString = [](cublasStatus_t) { return "text"; };
  EXPECT_EQ(FromCublas(cublas, CUBLAS_STATUS_ALLOC_FAILED, "Create(&h)").code(),
            Code::kResourceExhausted);
  EXPECT_EQ(FromCublas(cublas, CUBLAS_STATUS_NOT_INITIALIZED, "Create(&h)").code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(FromCublas(cublas, CUBLAS_STATUS_NOT_SUPPORTED, "GemmEx_64()").code(),
            Code::kUnimplemented);
  EXPECT_EQ(FromCublas(cublas, CUBLAS_STATUS_EXECUTION_FAILED, "GemmEx_64(h)").message(),
            "cublasGemmEx_64 failed with NAME (13) in cublasGemmEx_64(h): text");
}

}  // namespace
}  // namespace rnn_ops::gpu
