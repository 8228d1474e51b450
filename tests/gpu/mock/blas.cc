// A mock of libcublas.so.12: matrix products on the host, summed in double. The matrices are
// column-major, as in cuBLAS.
#include "cc/core/op/dtype.h"
#include "mock.h"
#include "tests/cc/gpu/fake_memory.h"

namespace {

using ::rnn_ops::Dtype;
using ::rnn_ops::gpu::fake::Read;
using ::rnn_ops::gpu::fake::Write;

enum DataType { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14 };  // cudaDataType
enum Status { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };         // cublasStatus_t
constexpr int kCompute64F = 70;
constexpr int kNoTranspose = 0;

bool Known(int type) {
  return type == kFloat32 || type == kFloat64 || type == kFloat16 || type == kBFloat16;
}

Dtype ToDtype(int type) {
  switch (type) {
    case kFloat64:
      return Dtype::kFloat64;
    case kFloat16:
      return Dtype::kFloat16;
    case kBFloat16:
      return Dtype::kBFloat16;
    default:
      return Dtype::kFloat32;
  }
}

}  // namespace

MOCK_API int cublasCreate_v2(void** handle) {
  *handle = std::malloc(64);
  return mock::Log("cublasCreate", kSuccess);
}

MOCK_API int cublasDestroy_v2(void* handle) {
  std::free(handle);
  return mock::Log("cublasDestroy", kSuccess);
}

MOCK_API int cublasGetVersion_v2(void*, int* version) {
  *version = 120500;
  return kSuccess;
}

MOCK_API const char* cublasGetStatusName(int) { return "CUBLAS_STATUS_MOCK"; }

MOCK_API const char* cublasGetStatusString(int) { return "an error of the mock cuBLAS"; }

namespace {

// One product of matrices of any type, as cublasGemmEx computes it.
int Multiply(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, const void* alpha,
             const void* a, int a_type, int64_t lda, const void* b, int b_type, int64_t ldb,
             const void* beta, void* c, int c_type, int64_t ldc, int compute) {
  if (!Known(a_type) || a_type != b_type || !Known(c_type)) return kNotSupported;
  const bool a_rows = trans_a == kNoTranspose;
  const bool b_rows = trans_b == kNoTranspose;
  if (m < 0 || n < 0 || k < 0 || lda < (a_rows ? m : k) || ldb < (b_rows ? k : n) || ldc < m) {
    return kInvalidValue;
  }
  const Dtype scale_type = compute == kCompute64F ? Dtype::kFloat64 : Dtype::kFloat32;
  const double scale = Read(scale_type, alpha, 0);
  const double keep = Read(scale_type, beta, 0);
  const Dtype in = ToDtype(a_type);
  const Dtype out = ToDtype(c_type);
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      double sum = 0;
      for (int64_t inner = 0; inner < k; ++inner) {
        sum += Read(in, a, a_rows ? row + inner * lda : inner + row * lda) *
               Read(in, b, b_rows ? inner + column * ldb : column + inner * ldb);
      }
      const int64_t at = row + column * ldc;
      // The old value is not read if beta is 0, because it may be undefined.
      Write(out, c, at, scale * sum + (keep != 0 ? keep * Read(out, c, at) : 0));
    }
  }
  return kSuccess;
}

}  // namespace

MOCK_API int cublasGemmEx_64(void*, int trans_a, int trans_b, int64_t m, int64_t n, int64_t k,
                             const void* alpha, const void* a, int a_type, int64_t lda,
                             const void* b, int b_type, int64_t ldb, const void* beta, void* c,
                             int c_type, int64_t ldc, int compute, int) {
  const int result = Multiply(trans_a, trans_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb,
                              beta, c, c_type, ldc, compute);
  return result == kSuccess ? mock::Log("cublasGemmEx_64", kSuccess) : result;
}

MOCK_API int cublasGemmStridedBatchedEx_64(void*, int trans_a, int trans_b, int64_t m, int64_t n,
                                           int64_t k, const void* alpha, const void* a, int a_type,
                                           int64_t lda, long long stride_a, const void* b,
                                           int b_type, int64_t ldb, long long stride_b,
                                           const void* beta, void* c, int c_type, int64_t ldc,
                                           long long stride_c, int64_t count, int compute, int) {
  if (!Known(a_type) || !Known(c_type)) return kNotSupported;
  const int64_t in = rnn_ops::SizeOf(ToDtype(a_type)), out = rnn_ops::SizeOf(ToDtype(c_type));
  for (int64_t i = 0; i < count; ++i) {
    const int result =
        Multiply(trans_a, trans_b, m, n, k, alpha, static_cast<const char*>(a) + i * stride_a * in,
                 a_type, lda, static_cast<const char*>(b) + i * stride_b * in, b_type, ldb, beta,
                 static_cast<char*>(c) + i * stride_c * out, c_type, ldc, compute);
    if (result != kSuccess) return result;
  }
  return mock::Log("cublasGemmStridedBatchedEx_64", kSuccess);
}
