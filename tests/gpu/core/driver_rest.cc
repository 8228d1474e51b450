// Functions that the mock driver of tests/gpu/mock otherwise gets from TensorFlow's list of names.
// They are weak, so that a function of the driver itself has priority.
#define REST(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return 0; }

REST(cuStreamSynchronize)
REST(cuModuleUnload)
