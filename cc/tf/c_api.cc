// The functions that Python calls through ctypes, listed in exports.lds. Strings live as long as
// the library.
#include "cc/cpu/dispatch.h"
#include "cc/gpu/layer/switch.h"

extern "C" {

__attribute__((visibility("default"))) const char* tf_rnn_ops_cpu_isa() {
  return rnn_ops::cpu::Dispatch().isa.c_str();
}

// The reason for the choice of the kernels; empty if they are simply the best for this machine.
__attribute__((visibility("default"))) const char* tf_rnn_ops_cpu_isa_reason() {
  return rnn_ops::cpu::Dispatch().why.c_str();
}

// 1 if LayerRNN has kernels for GPUs, otherwise 0.
__attribute__((visibility("default"))) int tf_rnn_ops_gpu_layers() {
  return rnn_ops::gpu::LayersSwitchedOn() ? 1 : 0;
}

}  // extern "C"
