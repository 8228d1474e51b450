// What the pretend cuBLAS of tests/gpu/mock takes from TensorFlow's list of names elsewhere. Weak,
// so that it gives way to a function of the library's own.
#define REST(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return 0; }

REST(cublasSetMathMode)
REST(cublasSetStream_v2)
REST(cublasSetWorkspace_v2)
