// The archive: the number of kernels, the sizes of each (compressed, and as text with relative
// registers), then the streams of zlib. Numbers are 32 bits, little-endian.
//
// In the text, the number of a register follows the last one of its kind: "%r+1" for the next of
// "%r41". WHY: a third of the text is such numbers, which do not compress otherwise.
#include "cc/gpu/launch/persistent_ptx.h"

#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>

#include "cc/gpu/libraries/dso.h"

namespace rnn_ops::gpu {
namespace {

struct ZlibApi {
  int (*uncompress)(unsigned char* to, unsigned long* to_size, const unsigned char* from,
                    unsigned long size) = nullptr;

  static DsoRequest Request() {
    DsoRequest request;
    request.what = "zlib";
    // TensorFlow contains a copy.
    request.names = {"libz.so.1", "libtensorflow_framework.so.2"};
    request.remedy = "Install zlib, for example with apt-get install zlib1g.";
    return request;
  }
  Status Bind(const Dso& dso) {
    std::string missing;
    BindSymbol(dso, "uncompress", &uncompress, &missing);
    if (missing.empty()) return Status();
    return FailedPrecondition(dso.name, " lacks", missing, ".");
  }
};

const unsigned char* ArchiveAt(size_t at) {
  return reinterpret_cast<const unsigned char*>(elementwise::kPersistentArchive) + at;
}

uint32_t NumberAt(size_t at) {
  const unsigned char* const from = ArchiveAt(at);
  return from[0] | from[1] << 8 | from[2] << 16 | static_cast<uint32_t>(from[3]) << 24;
}

// "%r+1" to "%r42".
std::string WithRegisters(const std::string& text) {
  std::string ptx;
  ptx.reserve(text.size() * 5 / 4);
  std::map<std::string, long> last;
  for (size_t k = 0; k < text.size();) {
    ptx += text[k++];
    if (ptx.back() != '%') continue;
    const size_t kind = k;
    while (k < text.size() && std::islower(static_cast<unsigned char>(text[k]))) ++k;
    ptx.append(text, kind, k - kind);
    if (k == text.size() || (text[k] != '+' && text[k] != '-')) continue;
    long& number = last[text.substr(kind, k - kind)];
    char* end = nullptr;
    number += std::strtol(text.c_str() + k, &end, 10);
    k = static_cast<size_t>(end - text.c_str());
    ptx += std::to_string(number);
  }
  return ptx;
}

}  // namespace

Status PersistentPtx(int number, std::string* ptx) {
  const ZlibApi* zlib = nullptr;
  RNN_OPS_RETURN_IF_ERROR(GetLibrary(&zlib));
  const uint32_t count = NumberAt(0);
  if (static_cast<uint32_t>(number) >= count) {
    return Internal("the archive has ", count, " persistent kernels, but ", number,
                    " is asked for.");
  }
  size_t at = 4 + size_t{8} * count;
  for (int k = 0; k < number; ++k) at += NumberAt(4 + size_t{8} * k);
  const uint32_t compressed = NumberAt(4 + size_t{8} * number);
  unsigned long size = NumberAt(8 + size_t{8} * number);
  std::string text(size, '\0');
  const int result = zlib->uncompress(reinterpret_cast<unsigned char*>(&text[0]), &size,
                                      ArchiveAt(at), compressed);
  if (result != 0 || size != text.size()) {
    return Internal("zlib returned ", result, " for the PTX of persistent kernel ", number, ".");
  }
  *ptx = WithRegisters(text);
  return Status();
}

}  // namespace rnn_ops::gpu
