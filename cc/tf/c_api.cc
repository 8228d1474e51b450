// The functions that Python calls through ctypes, listed in exports.lds. Strings live as long as
// the library.
#include "cc/cpu/dispatch/dispatch.h"

extern "C" {

__attribute__((visibility("default"))) const char* tf_rnn_ops_cpu_isa() {
  return rnn_ops::cpu::Dispatch().isa.c_str();
}

// The reason for the choice of the kernels; empty if they are simply the best for this machine.
__attribute__((visibility("default"))) const char* tf_rnn_ops_cpu_isa_reason() {
  return rnn_ops::cpu::Dispatch().why.c_str();
}

}  // extern "C"
