// The main function of a fuzz target without libFuzzer: runs the inputs of a committed corpus, and
// random inputs with a fixed seed if the corpus is empty. An input that fails ends the process.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

int current = 0;

// Says which input failed. A signal handler may not call fprintf, but the process is lost anyway.
void SayWhich(int signal) {
  std::fprintf(stderr, "input %d ended with signal %d\n", current, signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(1);
}

// For each input its size in two bytes, low byte first, and its bytes.
std::vector<Input> ReadCorpus(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Fail(std::string("cannot read ") + path);
  std::vector<Input> inputs;
  for (uint8_t size[2]; file.read(reinterpret_cast<char*>(size), 2);) {
    Input& input = inputs.emplace_back(size[0] | size[1] << 8);
    file.read(reinterpret_cast<char*>(input.data()), static_cast<std::streamsize>(input.size()));
    if (!file) Fail(std::string("cut off: ") + path);
  }
  return inputs;
}

std::vector<Input> RandomInputs() {
  std::mt19937 random(1);
  std::vector<Input> inputs(200);
  for (Input& input : inputs) {
    input.resize(random() % 400);
    for (uint8_t& byte : input) byte = static_cast<uint8_t>(random());
  }
  return inputs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: PROGRAM CORPUS");
  // The kernels of every machine, unless the environment names others.
  setenv("TF_RNN_OPS_CPU_ISA", "baseline", /*overwrite=*/0);
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, SayWhich);
  LLVMFuzzerInitialize(&argc, &argv);
  std::vector<Input> inputs = ReadCorpus(argv[1]);
  const bool empty = inputs.empty();
  if (empty) inputs = RandomInputs();
  for (const Input& input : inputs) {
    ++current;
    LLVMFuzzerTestOneInput(input.data(), input.size());
  }
  std::printf("%zu %s inputs\n", inputs.size(), empty ? "random" : "committed");
  return 0;
}
