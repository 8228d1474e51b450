#include "cc/gpu/libraries/dso.h"

#include <dlfcn.h>

#include <cstdlib>

namespace rnn_ops::gpu {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

// The site-packages folder in which this library is installed; empty if unknown.
std::string SitePackages() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OpenDso), &info) == 0 || info.dli_fname == nullptr) return "";
  std::string path = info.dli_fname;  // site-packages/tf_rnn_ops/library.so
  for (int level = 0; level < 2; ++level) {
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return "";
    path.resize(slash);
  }
  return path;
}

bool Open(const std::string& name, Dso* dso) {
  dso->handle = dlopen(name.c_str(), kMode);
  if (dso->handle == nullptr) {
    const char* error = dlerror();
    dso->tried.push_back(error == nullptr ? name : error);
    return false;
  }
  dso->name = name;
  dso->tried.push_back(StrCat(name, ": opened"));
  return true;
}

bool OpenFirst(const DsoRequest& request, Dso* dso) {
  const char* path = request.env == nullptr ? nullptr : std::getenv(request.env);
  if (path != nullptr && *path != '\0') return Open(path, dso);
  for (const char* name : request.names) {
    dso->handle = dlopen(name, kMode | RTLD_NOLOAD);
    if (dso->handle != nullptr) {
      dso->name = name;
      dso->tried.push_back(StrCat(name, ": already loaded"));
      return true;
    }
    dlerror();  // clears the error "not loaded"
  }
  for (const char* name : request.names) {
    if (Open(name, dso)) return true;
  }
  const std::string packages = SitePackages();
  if (packages.empty()) return false;
  for (const char* folder : request.pip_folders) {
    for (const char* name : request.names) {
      if (Open(StrCat(packages, "/", folder, "/", name), dso)) return true;
    }
  }
  return false;
}

}  // namespace

void* Dso::Symbol(const char* symbol) const { return dlsym(handle, symbol); }

Status OpenDso(const DsoRequest& request, Dso* dso) {
  *dso = Dso();
  if (OpenFirst(request, dso)) return Status();
  std::string text = StrCat("Cannot open ", request.what, ". Tried: ");
  for (size_t k = 0; k < dso->tried.size(); ++k) text += (k == 0 ? "" : "; ") + dso->tried[k];
  text += StrCat(". ", request.remedy);
  if (request.env != nullptr) text += StrCat(" ", request.env, " may name the file to open.");
  return Status(Code::kFailedPrecondition, text);
}

}  // namespace rnn_ops::gpu
