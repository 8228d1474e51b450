// Functions that the mock driver of tests/gpu/mock gets from TensorFlow's list of names in other
// builds. The functions are weak, so that a function of the mock itself replaces them.
#define REST(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return 0; }

REST(cuStreamSynchronize)
REST(cuModuleUnload)
