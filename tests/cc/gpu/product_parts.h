// A cuBLAS, a driver and the kernels on a FakeCuda, for the executors that multiply.
#pragma once

#include "cc/gpu/launch/product_call.h"
#include "tests/cc/gpu/fake_cuda.h"

namespace rnn_ops::gpu::fake {

// Everything that an executor keeps between calls.
struct ProductParts {
  // `max_spins`: of the persistent kernels.
  explicit ProductParts(FakeCuda* cuda, unsigned max_spins = 1u << 24)
      : modules(&cuda->driver()), persistent(&cuda->driver(), max_spins), handles(&cuda->cublas()) {
    libraries.driver = &cuda->driver();
    libraries.modules = &modules;
    libraries.persistent = &persistent;
    libraries.cublas = &cuda->cublas();
    libraries.handles = &handles;
  }
  KernelModules modules;
  PersistentKernels persistent;
  CublasHandles handles;
  ProductLibraries libraries;
};

}  // namespace rnn_ops::gpu::fake
