#include "cc/cpu/dispatch/variant.h"

#include <dlfcn.h>
#include <link.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>

namespace rnn_ops::cpu {
namespace {

constexpr Isa kIsas[] = {Isa::kBaseline, Isa::kAvx2, Isa::kAvx512};

#if defined(__x86_64__)
bool HasBits(uint64_t value, uint64_t bits) { return (value & bits) == bits; }

// The register states that the operating system saves and restores.
uint64_t ReadXcr0() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}
#endif

// Returns false if the section table, which is at the end of an ELF file, exceeds the file. dlopen
// would map such a truncated file, and the process would crash when it accesses a missing page.
// dlopen reports other errors of a file itself.
bool IsComplete(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return true;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return true;
  file.seekg(0, std::ios::end);
  const uint64_t table_bytes = uint64_t{header.e_shentsize} * header.e_shnum;
  return header.e_shoff + table_bytes <= static_cast<uint64_t>(file.tellg());
}

void Append(const std::string& text, std::string* list) {
  if (text.empty()) return;
  if (!list->empty()) *list += "; ";
  *list += text;
}

std::string FindOwnFolder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&OwnFolder), &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::string path = info.dli_fname;
  // The program was found through PATH, so its kernels are not in the current folder.
  if (path.find('/') == std::string::npos) path = "/proc/self/exe";
  const std::unique_ptr<char, decltype(&std::free)> absolute(realpath(path.c_str(), nullptr),
                                                             &std::free);
  if (absolute != nullptr) path = absolute.get();
  return path.substr(0, path.rfind('/') + 1);
}

// Computed when the library is loaded: the loader may know a path relative to the current folder,
// and the current folder may change before the first call. Never destroyed, because calls may run
// while the process exits.
const std::string& own_folder = *new std::string(FindOwnFolder());

}  // namespace

const char* Name(Isa isa) {
  switch (isa) {
    case Isa::kBaseline:
      return "baseline";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

#if defined(__x86_64__)

Isa DetectIsa() {
  constexpr uint64_t kXcr0Avx = 0x6;      // xmm, ymm
  constexpr uint64_t kXcr0Avx512 = 0xE6;  // also opmask and both parts of zmm
  constexpr uint64_t kOsxsave = 1u << 27;
  constexpr uint64_t kAvxFmaF16c = (1u << 28) | (1u << 12) | (1u << 29);
  constexpr uint64_t kAvx2 = 1u << 5;
  constexpr uint64_t kAvx512 =  // f, dq, cd, bw, vl
      (1u << 16) | (1u << 17) | (1u << 28) | (1u << 30) | (1u << 31);

  uint32_t eax, ebx, ecx, edx;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return Isa::kBaseline;
  // The instruction xgetbv exists only with OSXSAVE.
  if (!HasBits(ecx, kOsxsave | kAvxFmaF16c)) return Isa::kBaseline;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return Isa::kBaseline;
  const uint64_t xcr0 = ReadXcr0();
  if (!HasBits(ebx, kAvx2) || !HasBits(xcr0, kXcr0Avx)) return Isa::kBaseline;
  if (!HasBits(ebx, kAvx512) || !HasBits(xcr0, kXcr0Avx512)) return Isa::kAvx2;
  return Isa::kAvx512;
}

#else

// Other processors have only the baseline. On aarch64 the baseline is NEON.
Isa DetectIsa() { return Isa::kBaseline; }

#endif

std::string CheckTable(const KernelTable* table, Isa isa) {
  if (table == nullptr) return "it returned no table";
  // The version is checked first, because it determines the meaning of all other fields.
  if (table->version != kKernelTableVersion) {
    return "its table has version " + std::to_string(table->version) + " instead of " +
           std::to_string(kKernelTableVersion);
  }
  if (table->struct_size != static_cast<int32_t>(sizeof(KernelTable))) {
    return "its table has " + std::to_string(table->struct_size) + " bytes instead of " +
           std::to_string(sizeof(KernelTable));
  }
  if (table->args_size != static_cast<int32_t>(sizeof(RnnArgs))) {
    return "its arguments have " + std::to_string(table->args_size) + " bytes instead of " +
           std::to_string(sizeof(RnnArgs));
  }
  if (table->isa == nullptr || std::strcmp(table->isa, Name(isa)) != 0) {
    return std::string("it was built for '") + (table->isa == nullptr ? "" : table->isa) + "'";
  }
  const bool complete =
      table->rnn_packed_format && table->rnn_longest_reserve && table->rnn_forward &&
      table->rnn_plan_size && table->rnn_plan_init && table->rnn_plan_run && table->rnn_backward &&
      table->rnn_pack && table->block_lstm_forward && table->block_lstm_backward &&
      table->linear_recurrence && table->dense_format && table->dense_pack && table->dense &&
      table->quantized_dense_format && table->quantized_dense_pack && table->quantize_row &&
      table->quantized_dense;
  return complete ? "" : "its table lacks a function";
}

const KernelTable* OpenVariant(const std::string& path, Isa isa, std::string* problem) {
  if (!IsComplete(path)) {
    *problem = path + ": it is cut off";
    return nullptr;
  }
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    *problem = reason != nullptr ? reason : path + ": cannot be opened";
    return nullptr;
  }
  using GetTable = const KernelTable* (*)();
  const auto get_table = reinterpret_cast<GetTable>(dlsym(library, "tf_rnn_ops_kernel_table"));
  const KernelTable* table = get_table == nullptr ? nullptr : get_table();
  const std::string fault =
      get_table == nullptr ? "it has no symbol tf_rnn_ops_kernel_table" : CheckTable(table, isa);
  if (fault.empty()) return table;
  *problem = path + ": " + fault;
  dlclose(library);
  return nullptr;
}

VariantChoice ChooseVariant(const VariantSearch& search) {
  VariantChoice choice;
  Isa level = search.best;
  if (search.wanted != nullptr && search.wanted[0] != '\0') {
    const std::string setting = std::string("TF_RNN_OPS_CPU_ISA=") + search.wanted;
    const auto* end = std::end(kIsas);
    const auto* found = std::find_if(std::begin(kIsas), end, [&](Isa isa) {
      return std::strcmp(search.wanted, Name(isa)) == 0;
    });
    if (found == end) {
      choice.warn = true;
      choice.report.why = setting + " is not one of baseline, avx2 and avx512";
    } else if (*found > search.best) {
      choice.warn = true;
      choice.report.why = setting + " is more than this machine has";
    } else {
      level = *found;
      if (level != search.best) choice.report.why = setting;
    }
  }
  for (; level != Isa::kBaseline; level = static_cast<Isa>(static_cast<int>(level) - 1)) {
    std::string problem;
    choice.table =
        search.open(search.folder + "_tf_rnn_ops_" + Name(level) + ".so", level, &problem);
    if (choice.table != nullptr) break;
    choice.warn = true;
    Append(problem, &choice.report.why);
  }
  if (choice.table == nullptr) choice.table = search.baseline;
  choice.report.isa = choice.table->isa;
  return choice;
}

const std::string& OwnFolder() { return own_folder; }

}  // namespace rnn_ops::cpu
