// The PTX of the persistent kernels, which the library holds compressed.
#pragma once

#include <string>

#include "cc/core/status.h"

namespace rnn_ops::gpu {

namespace elementwise {
// The archive that tools/generate_ptx.py makes, see persistent_ptx.cc. The libraries of ops share
// it: it is in _tf_rnn_ops_baseline.so.
__attribute__((visibility("default"))) extern const char kPersistentArchive[];
}  // namespace elementwise

// The PTX of the kernel with this number in persistent_list.h. Returns FailedPrecondition if zlib
// is not installed.
Status PersistentPtx(int number, std::string* ptx);

}  // namespace rnn_ops::gpu
