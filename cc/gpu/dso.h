// Opens NVIDIA's libraries at run time, under the names by which their other users opened them.
#ifndef TF_RNN_OPS_CC_GPU_DSO_H_
#define TF_RNN_OPS_CC_GPU_DSO_H_

#include <string>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops {
namespace gpu {

// How one library is found.
struct DsoRequest {
  const char* what = nullptr;            // for the text of errors: "cuDNN 9"
  const char* env = nullptr;             // a variable that names the one file to open, or null
  std::vector<const char*> names;        // sonames, best first
  std::vector<const char*> pip_folders;  // where its pip packages have it, under site-packages
  const char* remedy = nullptr;          // how to get it, as a sentence
};

// An open library. It is never closed: what it has started may run until the process ends.
struct Dso {
  void* handle = nullptr;
  std::string name;                // the name that it was opened by
  std::vector<std::string> tried;  // each name tried, and what became of it

  // Null when the library lacks it.
  void* Symbol(const char* symbol) const;
};

// Takes a copy that the process has already loaded, wherever that came from, before it loads one:
// two copies of cuDNN in one process is the failure to avoid. Fills dso->tried in any case.
// FailedPrecondition, with all that was tried, when there is none.
Status OpenDso(const DsoRequest& request, Dso* dso);

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DSO_H_
