#include "cc/gpu/launch/product_call.h"

namespace rnn_ops::gpu {
namespace {

// The sizes that NVIDIA recommends for cublasSetWorkspace().
constexpr int64_t kWorkspaceBytes = int64_t{8} << 20;
constexpr int64_t kHopperWorkspaceBytes = int64_t{32} << 20;
constexpr int kHopper = 9;  // the major part of the compute capability
constexpr int kAmpere = 8;

cudaDataType ToCuda(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return CUDA_R_64F;
    case Dtype::kFloat16:
      return CUDA_R_16F;
    case Dtype::kBFloat16:
      return CUDA_R_16BF;
    case Dtype::kFloat32:
      break;
  }
  return CUDA_R_32F;
}

cublasOperation_t Operation(const Factor& factor) {
  return factor.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

}  // namespace

Status OpenProductLibraries(ProductLibraries* libraries) {
  RNN_OPS_RETURN_IF_ERROR(GetModules(&libraries->driver, &libraries->modules));
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&libraries->cublas));
  // Never destroyed, because kernels may run while the process exits.
  static CublasHandles* const handles = new CublasHandles(libraries->cublas);
  static PersistentKernels* const persistent = new PersistentKernels(libraries->driver);
  libraries->handles = handles;
  libraries->persistent = persistent;
  return Status();
}

Status ProductCall::Enter() {
  const DriverApi& driver = *libraries_.driver;
  CUdevice device = 0;
  RNN_OPS_RETURN_IF_ERROR(scope_.Enter(driver, place_.stream));
  place_.context = scope_.context();
  RNN_OPS_RETURN_IF_CUDA_ERROR(driver, CtxGetDevice(&device));
  RNN_OPS_RETURN_IF_CUDA_ERROR(
      driver, DeviceGetAttribute(&compute_capability_major_,
                                 CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
  if (dtype_ != Dtype::kBFloat16 || compute_capability_major_ >= kAmpere) return Status();
  return Unimplemented("bfloat16 needs a GPU of compute capability 8.0 or later, but this one has ",
                       compute_capability_major_, ".x. Use float32 or float16.");
}

Status ProductCall::PrepareProducts() {
  const CublasApi& cublas = *libraries_.cublas;
  const int64_t bytes =
      compute_capability_major_ >= kHopper ? kHopperWorkspaceBytes : kWorkspaceBytes;
  void* workspace = nullptr;
  RNN_OPS_RETURN_IF_ERROR(AllocateScratch(allocator_, "cuBLAS's workspace", bytes, &workspace));
  uint64_t context = 0;
  RNN_OPS_RETURN_IF_ERROR(GetContextId(*libraries_.driver, place_.context, &context));
  RNN_OPS_RETURN_IF_ERROR(libraries_.handles->Acquire(context, &handle_));
  // The stream first: SetStream resets the workspace.
  RNN_OPS_RETURN_IF_CUBLAS_ERROR(cublas, SetStream(handle_.get(), place_.stream));
  RNN_OPS_RETURN_IF_CUBLAS_ERROR(
      cublas, SetWorkspace(handle_.get(), workspace, static_cast<size_t>(bytes)));
  // The parts of a sum that several blocks compute must not be rounded to 16 bits.
  RNN_OPS_RETURN_IF_CUBLAS_ERROR(
      cublas, SetMathMode(handle_.get(), CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
  return Status();
}

// cuBLAS is column-major and sees every matrix transposed, so it computes c' = b' a'.
Status ProductCall::Multiply(const ProductSizes& sizes, const Factor& a, const Factor& b,
                             const Result& c) const {
  const bool is_double = dtype_ == Dtype::kFloat64;
  const bool tf32 = dtype_ == Dtype::kFloat32 && allow_tf32_;
  const cublasComputeType_t compute = is_double ? CUBLAS_COMPUTE_64F
                                      : tf32    ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                : CUBLAS_COMPUTE_32F;
  // The factors have the type of the arithmetic.
  const double one_d = 1.0, beta_d = c.update == Result::kAdd ? 1.0 : 0.0;
  const float one_f = 1.0f, beta_f = static_cast<float>(beta_d);
  const void* const one = is_double ? static_cast<const void*>(&one_d) : &one_f;
  const void* const beta = is_double ? static_cast<const void*>(&beta_d) : &beta_f;
  const cudaDataType type = ToCuda(dtype_);
  const int64_t c_row = c.row_size > 0 ? c.row_size : sizes.columns;
  if (sizes.count > 1) {
    RNN_OPS_RETURN_IF_CUBLAS_ERROR(
        *libraries_.cublas,
        GemmStridedBatchedEx_64(handle_.get(), Operation(b), Operation(a), sizes.columns,
                                sizes.rows, sizes.inner, one, b.data, type, b.row_size, b.stride,
                                a.data, type, a.row_size, a.stride, beta, c.data, ToCuda(c.dtype),
                                c_row, c.stride, sizes.count, compute, CUBLAS_GEMM_DEFAULT));
    return Status();
  }
  RNN_OPS_RETURN_IF_CUBLAS_ERROR(
      *libraries_.cublas,
      GemmEx_64(handle_.get(), Operation(b), Operation(a), sizes.columns, sizes.rows, sizes.inner,
                one, b.data, type, b.row_size, a.data, type, a.row_size, beta, c.data,
                ToCuda(c.dtype), c_row, compute, CUBLAS_GEMM_DEFAULT));
  return Status();
}

}  // namespace rnn_ops::gpu
