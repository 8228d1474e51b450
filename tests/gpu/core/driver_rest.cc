// What the pretend driver of tests/gpu/mock takes from TensorFlow's list of names elsewhere. Weak,
// so that it gives way to a function of the driver's own.
#define REST(name) \
  extern "C" __attribute__((visibility("default"), weak)) int name() { return 0; }

REST(cuDevicePrimaryCtxRelease_v2)
REST(cuStreamSynchronize)
REST(cuModuleUnload)
REST(cuEventRecord)
REST(cuEventSynchronize)
REST(cuEventDestroy_v2)
