// A pretend libcublas.so.12: matrix products on the host, summed in double. As cuBLAS, it takes
// column-major matrices.
#include <algorithm>
#include <cmath>

#include "mock.h"

namespace {

enum DataType { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBFloat16 = 14 };  // cudaDataType
enum Status { kSuccess = 0, kInvalidValue = 7, kNotSupported = 15 };         // cublasStatus_t
constexpr int kCompute64F = 70;
constexpr int kNoTranspose = 0;

float BitsToFloat(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double HalfToDouble(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

// Rounds to nearest even: nearbyint does, in units of the last place.
uint16_t DoubleToHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);
  // A mantissa that rounds up to 2048 carries into the exponent, as it should.
  const auto mantissa = static_cast<uint16_t>(std::nearbyint(std::ldexp(size, -unit)));
  if (unit == -24) return sign | mantissa;
  return static_cast<uint16_t>(sign + ((unit + 24) << 10) + mantissa);
}

uint16_t DoubleToBFloat16(double value) {
  const auto single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  if (std::isnan(single)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double Read(const void* data, int type, int64_t index) {
  switch (type) {
    case kFloat32:
      return static_cast<const float*>(data)[index];
    case kFloat64:
      return static_cast<const double*>(data)[index];
    case kFloat16:
      return HalfToDouble(static_cast<const uint16_t*>(data)[index]);
    default:
      return BitsToFloat(uint32_t{static_cast<const uint16_t*>(data)[index]} << 16);
  }
}

void Write(void* data, int type, int64_t index, double value) {
  switch (type) {
    case kFloat32:
      static_cast<float*>(data)[index] = static_cast<float>(value);
      break;
    case kFloat64:
      static_cast<double*>(data)[index] = value;
      break;
    case kFloat16:
      static_cast<uint16_t*>(data)[index] = DoubleToHalf(value);
      break;
    default:
      static_cast<uint16_t*>(data)[index] = DoubleToBFloat16(value);
  }
}

bool Known(int type) {
  return type == kFloat32 || type == kFloat64 || type == kFloat16 || type == kBFloat16;
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

MOCK_API const char* cublasGetStatusString(int) { return "an error of the pretend cuBLAS"; }

MOCK_API int cublasGemmEx(void*, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                          const void* a, int a_type, int lda, const void* b, int b_type, int ldb,
                          const void* beta, void* c, int c_type, int ldc, int compute, int) {
  if (!Known(a_type) || a_type != b_type || !Known(c_type)) return kNotSupported;
  const bool a_rows = trans_a == kNoTranspose;
  const bool b_rows = trans_b == kNoTranspose;
  if (m < 0 || n < 0 || k < 0 || lda < (a_rows ? m : k) || ldb < (b_rows ? k : n) || ldc < m) {
    return kInvalidValue;
  }
  const int scale_type = compute == kCompute64F ? kFloat64 : kFloat32;
  const double scale = Read(alpha, scale_type, 0);
  const double keep = Read(beta, scale_type, 0);
  for (int64_t column = 0; column < n; ++column) {
    for (int64_t row = 0; row < m; ++row) {
      double sum = 0;
      for (int64_t inner = 0; inner < k; ++inner) {
        sum += Read(a, a_type, a_rows ? row + inner * lda : inner + row * lda) *
               Read(b, b_type, b_rows ? inner + column * ldb : column + inner * ldb);
      }
      const int64_t at = row + column * ldc;
      // With beta 0 the old value is not read: it may be anything.
      Write(c, c_type, at, scale * sum + (keep != 0 ? keep * Read(c, c_type, at) : 0));
    }
  }
  return mock::Log("cublasGemmEx", kSuccess);
}
