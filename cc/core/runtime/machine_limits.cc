#include "cc/core/runtime/machine_limits.h"

#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace rnn_ops {
namespace {

// A hierarchy of control groups, as the file system shows the hierarchy.
struct Hierarchy {
  std::string mount_point;  // the path where its top is mounted
  std::string top;          // the group at the mount point
  bool version2;
};

bool HasWord(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string each; std::getline(words, each, ',');) {
    if (each == word) return true;
  }
  return false;
}

// A field of mountinfo without its octal escapes, such as \040 for a space.
std::string Unescaped(const std::string& field) {
  std::string text;
  for (size_t k = 0; k < field.size(); ++k) {
    const bool escaped = field[k] == '\\' && k + 3 < field.size();
    if (escaped) {
      text += static_cast<char>(std::strtol(field.substr(k + 1, 3).c_str(), nullptr, 8));
      k += 3;
    } else {
      text += field[k];
    }
  }
  return text;
}

// Finds the hierarchy with `controller`; the mount point is "" if there is none. The format of
// /proc/[pid]/mountinfo is described in proc(5).
Hierarchy FindHierarchy(const std::string& root, const std::string& controller) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  Hierarchy found = {"", "", true};
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string word, top, mount_point, type, source, options;
    fields >> word >> word >> word >> top >> mount_point;
    top = Unescaped(top);
    mount_point = Unescaped(mount_point);
    while (fields >> word && word != "-") {
    }
    fields >> type >> source >> options;
    if (type == "cgroup" && HasWord(options, controller)) return {mount_point, top, false};
    // A controller is in one hierarchy only. It is in version 2 if no version 1 hierarchy has it.
    if (type == "cgroup2") found = {mount_point, top, true};
  }
  return found;
}

// The group of this process in a hierarchy, such as /a/b; "" if unknown.
std::string GroupOfProcess(const std::string& root, const Hierarchy& hierarchy,
                           const std::string& controller) {
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // Format: number:controllers:path. In version 2 the number is 0 and there are no controllers.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool matches =
        hierarchy.version2 ? controllers.empty() : HasWord(controllers, controller);
    if (matches) return line.substr(second + 1);
  }
  return "";
}

// The folders of the group of this process and of all visible groups above.
std::vector<std::string> GroupFolders(const std::string& root, const Hierarchy& hierarchy,
                                      const std::string& controller) {
  if (hierarchy.mount_point.empty()) return {};
  std::string group = GroupOfProcess(root, hierarchy, controller);
  const std::string top = hierarchy.top == "/" ? "" : hierarchy.top;
  // In a container the path may begin above the mount point, or name an invisible group.
  const bool below = group.compare(0, top.size(), top) == 0 &&
                     (group.size() == top.size() || group[top.size()] == '/');
  if (below) group.erase(0, top.size());
  const std::string base = root + hierarchy.mount_point;
  std::vector<std::string> folders;
  for (size_t slash = group.rfind('/'); slash != std::string::npos && group.size() > 1;
       slash = group.rfind('/')) {
    folders.push_back(base + group);
    group.erase(slash);
  }
  folders.push_back(base);
  return folders;
}

// The whitespace-separated words of a file.
std::vector<std::string> Words(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  return words;
}

// The number at `index`; 0 if that word is missing or is not a positive number ("max", -1).
double Positive(const std::vector<std::string>& words, size_t index) {
  if (index >= words.size()) return 0;
  char* end = nullptr;
  const double value = std::strtod(words[index].c_str(), &end);
  return *end == '\0' && value > 0 ? value : 0;
}

double CpusOf(const std::string& folder, bool version2) {
  double quota, period;
  if (version2) {
    const std::vector<std::string> words = Words(folder + "/cpu.max");  // "QUOTA PERIOD"
    quota = Positive(words, 0);
    period = Positive(words, 1);
  } else {
    quota = Positive(Words(folder + "/cpu.cfs_quota_us"), 0);
    period = Positive(Words(folder + "/cpu.cfs_period_us"), 0);
  }
  return quota > 0 && period > 0 ? quota / period : CgroupLimits().cpus;
}

// The number in a file, or the largest int64 if the file has no number.
int64_t BytesIn(const std::string& file) {
  const double bytes = Positive(Words(file), 0);
  constexpr double kLargest = 9e18;  // version 1 writes a number near 2^63 if there is no limit
  return bytes > 0 && bytes < kLargest ? static_cast<int64_t>(bytes) : CgroupLimits().memory_bytes;
}

int64_t MemoryOf(const std::string& folder, bool version2) {
  if (!version2) return BytesIn(folder + "/memory.limit_in_bytes");
  // Above memory.high the kernel slows down the processes of a group until they free memory.
  return std::min(BytesIn(folder + "/memory.max"), BytesIn(folder + "/memory.high"));
}

// The CPUs that any thread of this process may run on. The calling thread may be pinned to one CPU.
int CpusOfAffinity() {
  cpu_set_t all;
  CPU_ZERO(&all);
  // WHY opendir: std::filesystem needs a newer libstdc++ than TensorFlow needs.
  if (DIR* tasks = opendir("/proc/self/task")) {
    while (const dirent* task = readdir(tasks)) {
      const pid_t thread = std::atoi(task->d_name);
      if (thread <= 0) continue;  // "." and ".."
      cpu_set_t set;              // up to 1024 CPUs; the call fails on larger machines
      if (sched_getaffinity(thread, sizeof(set), &set) == 0) CPU_OR(&all, &all, &set);
    }
    closedir(tasks);
  }
  const int online = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return CPU_COUNT(&all) > 0 ? CPU_COUNT(&all) : online;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const std::string& root) {
  CgroupLimits limits;
  const Hierarchy cpu = FindHierarchy(root, "cpu");
  for (const std::string& folder : GroupFolders(root, cpu, "cpu")) {
    limits.cpus = std::min(limits.cpus, CpusOf(folder, cpu.version2));
  }
  const Hierarchy memory = FindHierarchy(root, "memory");
  for (const std::string& folder : GroupFolders(root, memory, "memory")) {
    limits.memory_bytes = std::min(limits.memory_bytes, MemoryOf(folder, memory.version2));
  }
  return limits;
}

int UsableCpus(double quota, int affinity) {
  return quota < affinity ? std::max(1, static_cast<int>(quota)) : affinity;
}

int AvailableCpus() {
  static const int cpus = [] { return UsableCpus(ReadCgroupLimits().cpus, CpusOfAffinity()); }();
  return cpus;
}

int64_t AvailableMemory() {
  static const int64_t memory = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES);
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t physical = pages > 0 && page > 0 ? pages * page : 0;
    return std::min(physical, ReadCgroupLimits().memory_bytes);
  }();
  return memory;
}

}  // namespace rnn_ops
