// Opens NVIDIA's libraries and zlib at run time, under the names that other users of these
// libraries use.
#pragma once

#include <string>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops::gpu {

// Describes how to find one library.
struct DsoRequest {
  const char* what = nullptr;            // the name for error messages, such as "cuDNN 9"
  const char* env = nullptr;             // an environment variable for the file, or null
  std::vector<const char*> names;        // sonames, best first
  std::vector<const char*> pip_folders;  // the folders of its pip packages below site-packages
  const char* remedy = nullptr;          // a sentence that says how to install it
};

// An open library. The library is never closed, because its work may run until the process ends.
struct Dso {
  void* handle = nullptr;
  std::string name;                // the name that was opened
  std::vector<std::string> tried;  // each name that was tried, and the result

  // Null if the library does not have the symbol.
  void* Symbol(const char* symbol) const;
};

// Opens a library. Prefers a copy that the process has already loaded, from any path, because two
// copies of cuDNN in one process do not work. Always fills dso->tried. Returns FailedPrecondition
// with the names that were tried if no library is found.
Status OpenDso(const DsoRequest& request, Dso* dso);

// Sets *function to a symbol of an open library. Appends the name to *missing if the library lacks
// the symbol.
template <typename Function>
void BindSymbol(const Dso& dso, const char* symbol, Function** function, std::string* missing) {
  *function = reinterpret_cast<Function*>(dso.Symbol(symbol));
  if (*function == nullptr) missing->append(" ").append(symbol);
}

// A library that is opened at its first use and never destroyed, because kernels may run while the
// process exits. Each library of ops has its own table. `Api` is a table of functions with
//   static DsoRequest Request()      describes how to find the library
//   Status Bind(const Dso& dso)      fills the table; FailedPrecondition names missing functions
template <typename Api>
struct Library {
  Dso dso;
  Api api;
  Status status;

  static const Library& Shared() {
    static const Library* const library = [] {
      auto* opened = new Library;
      opened->status = OpenDso(Api::Request(), &opened->dso);
      if (opened->status.ok()) opened->status = opened->api.Bind(opened->dso);
      return opened;
    }();
    return *library;
  }
};

// Returns the shared table of the library, or the error of opening it. The result of the first
// call is kept.
template <typename Api>
Status GetLibrary(const Api** api) {
  const Library<Api>& library = Library<Api>::Shared();
  *api = &library.api;
  return library.status;
}

}  // namespace rnn_ops::gpu
