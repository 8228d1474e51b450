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

Input Decoded(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  Input bytes;
  uint32_t bits = 0;
  int count = 0;
  for (char digit : base64.substr(0, base64.find('='))) {
    const size_t value = digits.find(digit);
    if (value == std::string::npos) Fail("not base64: " + base64);
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<uint8_t>(bits >> (count -= 8)));
  }
  return bytes;
}

// A line is an input.
std::vector<Input> ReadCorpus(const char* path) {
  std::ifstream file(path);
  if (!file) Fail(std::string("cannot read ") + path);
  std::vector<Input> inputs;
  for (std::string line; std::getline(file, line);) inputs.push_back(Decoded(line));
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
