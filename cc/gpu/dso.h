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

// Sets *function to a symbol of an open library, or adds the name that it lacks to *missing.
template <typename Function>
void BindSymbol(const Dso& dso, const char* symbol, Function** function, std::string* missing) {
  *function = reinterpret_cast<Function*>(dso.Symbol(symbol));
  if (*function == nullptr) missing->append(" ").append(symbol);
}

// One library as the process has it: opened at the first use, and never destroyed, because kernels
// may run while the process exits. `Api` is its table of functions, with
//   static DsoRequest Request()      how it is found
//   Status Bind(const Dso& dso)      fills the table; FailedPrecondition, naming what is missing
template <typename Api>
struct Library {
  Dso dso;
  Api api;
  Status status;

  static const Library& OfProcess() {
    static const Library* const library = [] {
      auto* opened = new Library;
      opened->status = OpenDso(Api::Request(), &opened->dso);
      if (opened->status.ok()) opened->status = opened->api.Bind(opened->dso);
      return opened;
    }();
    return *library;
  }
};

// The table of the process's library, or why there is none. The outcome of the first call is kept.
template <typename Api>
Status GetLibrary(const Api** api) {
  const Library<Api>& library = Library<Api>::OfProcess();
  *api = &library.api;
  return library.status;
}

}  // namespace gpu
}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_GPU_DSO_H_
