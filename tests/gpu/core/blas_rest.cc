// Functions that the mock cuBLAS of tests/gpu/mock otherwise gets from TensorFlow's list of names.
// They are weak, so that a function of the library itself has priority.
#define REST(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return 0; }

REST(cublasSetMathMode)
REST(cublasSetStream_v2)
REST(cublasSetWorkspace_v2)
