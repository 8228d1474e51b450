// Tests how libraries are found and bound.
#include "cc/gpu/libraries/cudnn_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cc/gpu/fake_cudnn.h"

namespace rnn_ops::gpu {
namespace {

using ::testing::HasSubstr;

constexpr char kStandIn[] = "tests/cc/gpu/libfakecudnn.so";
constexpr char kVariable[] = "RNN_OPS_TEST_LIBRARY";

DsoRequest Request() {
  DsoRequest request;
  request.what = "the library of this test";
  request.env = kVariable;
  request.names = {"libnowhere.so.7", "libnowhere.so.6"};
  request.pip_folders = {"nvidia/nowhere/lib"};
  request.remedy = "Install the package nowhere.";
  return request;
}

class DsoTest : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv(kVariable); }
  void TearDown() override { unsetenv(kVariable); }
};

TEST_F(DsoTest, AMissingLibraryIsNamedWithAllThatWasTried) {
  Dso dso;
  const Status status = OpenDso(Request(), &dso);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(dso.handle, nullptr);
  for (const char* part :
       {"Cannot open the library of this test", "libnowhere.so.7", "libnowhere.so.6",
        "/nvidia/nowhere/lib/libnowhere.so.7", "Install the package nowhere.", kVariable}) {
    EXPECT_THAT(status.message(), HasSubstr(part));
  }
  EXPECT_EQ(dso.tried.size(), 4u);
}

TEST_F(DsoTest, ALoadedLibraryIsTakenFirst) {
  DsoRequest request = Request();
  request.names = {"libnowhere.so.7", "libc.so.6"};
  Dso dso;
  ASSERT_TRUE(OpenDso(request, &dso).ok());
  EXPECT_EQ(dso.name, "libc.so.6");
  EXPECT_THAT(dso.tried, ::testing::ElementsAre("libc.so.6: already loaded"));
  EXPECT_NE(dso.Symbol("malloc"), nullptr);
  EXPECT_EQ(dso.Symbol("no_such_function"), nullptr);
}

TEST_F(DsoTest, TheVariableNamesTheOneFile) {
  DsoRequest request = Request();
  request.names = {"libc.so.6"};
  setenv(kVariable, kStandIn, 1);
  Dso dso;
  ASSERT_TRUE(OpenDso(request, &dso).ok());
  EXPECT_EQ(dso.name, kStandIn);
  setenv(kVariable, "/no/such/file.so", 1);
  const Status status = OpenDso(request, &dso);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("/no/such/file.so"));
  EXPECT_THAT(status.message(), ::testing::Not(HasSubstr("libc.so.6")));
}

// This program is in tests/cc/gpu, in the same way as the library is in site-packages/tf_rnn_ops.
TEST_F(DsoTest, ThePipPackageBesideOursIsTakenLast) {
  DsoRequest request = Request();
  request.names = {"libfakecudnn.so"};
  request.pip_folders = {"nowhere", "gpu"};
  Dso dso;
  const Status status = OpenDso(request, &dso);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_THAT(dso.name, ::testing::EndsWith("/gpu/libfakecudnn.so"));
  EXPECT_EQ(dso.tried.size(), 3u);
}

TEST_F(DsoTest, AnEmptyVariableIsNone) {
  DsoRequest request = Request();
  request.names = {"libc.so.6"};
  setenv(kVariable, "", 1);
  Dso dso;
  EXPECT_TRUE(OpenDso(request, &dso).ok());
}

class CudnnApiTest : public ::testing::Test {
 protected:
  static Status Bind(const char* file, CudnnApi* api) {
    DsoRequest request = CudnnApi::Request();
    request.env = nullptr;
    request.names = {file};
    Dso dso;
    RNN_OPS_RETURN_IF_ERROR(OpenDso(request, &dso));
    return api->Bind(dso);
  }
};

TEST_F(CudnnApiTest, TheStandInIsBoundWhole) {
  CudnnApi api;
  const Status status = Bind(kStandIn, &api);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(api.GetVersion(), 99900u);
  cudnnHandle_t handle = nullptr;
  ASSERT_EQ(api.Create(&handle), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(api.Destroy(handle), CUDNN_STATUS_SUCCESS);
  EXPECT_NE(api.Create, fake::FakeCudnn().Create) << "bound to this program's own functions";
}

TEST_F(CudnnApiTest, AnotherLibraryIsRefused) {
  CudnnApi api;
  const Status status = Bind("libc.so.6", &api);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("cuDNN 9 is needed, but libc.so.6"));
}

TEST_F(CudnnApiTest, TheRequestNamesThePackageAndTheVariable) {
  const DsoRequest request = CudnnApi::Request();
  EXPECT_STREQ(request.env, "TF_RNN_OPS_CUDNN");
  EXPECT_THAT(request.remedy, HasSubstr("pip install nvidia-cudnn-cu12"));
}

TEST_F(CudnnApiTest, CodesOfStatuses) {
  const CudnnApi api = fake::FakeCudnn();
  const std::pair<cudnnStatus_t, Code> expected[] = {
      {CUDNN_STATUS_SUCCESS, Code::kOk},
      {CUDNN_STATUS_NOT_INITIALIZED, Code::kFailedPrecondition},
      {CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, Code::kFailedPrecondition},
      {CUDNN_STATUS_BAD_PARAM, Code::kInternal},
      {CUDNN_STATUS_NOT_SUPPORTED, Code::kUnimplemented},
      {static_cast<cudnnStatus_t>(3002), Code::kUnimplemented},
      {CUDNN_STATUS_INTERNAL_ERROR, Code::kInternal},
      {CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, Code::kResourceExhausted},
      {CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, Code::kResourceExhausted},
      {CUDNN_STATUS_EXECUTION_FAILED, Code::kInternal},
  };
  for (const auto& [status, code] : expected) {
    EXPECT_EQ(FromCudnn(api, status, "Call(x)").code(), code) << status;
  }
}

TEST_F(CudnnApiTest, TheTextHasFunctionStatusExpressionAndDetail) {
  const CudnnApi api = fake::FakeCudnn();
  ASSERT_EQ(api.SetStream(nullptr, nullptr), CUDNN_STATUS_BAD_PARAM);  // stores its reason
  EXPECT_EQ(FromCudnn(api, CUDNN_STATUS_BAD_PARAM, "SetStream(handle, stream)").message(),
            "cudnnSetStream failed with CUDNN_STATUS_BAD_PARAM (2000) in "
            "cudnnSetStream(handle, stream): not met: handle != nullptr");
}

}  // namespace
}  // namespace rnn_ops::gpu
