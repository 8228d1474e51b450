// Times calls of a stepper next to RTNeural, whose models have their sizes at compile time:
//
//   rtneural LIBRARY FOLDER
//
// LIBRARY is the stepper's shared object. FOLDER has a model of each size, made by rtneural.py. A
// line of the output is the cell, its units, the largest difference of the results, and nanoseconds
// a sample: of RTNeural, and of the stepper in calls of one sample and of 32 samples. A time is the
// least of all rounds, in which the three take turns.
#include <RTNeural/RTNeural.h>
#include <dlfcn.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rnn_step.h"

namespace {

constexpr int kSamples = 2048, kSteps = 32, kRounds = 101;

struct Library {
  void* const handle;
  decltype(&rnn_step_new) make = Find<decltype(make)>("rnn_step_new");
  decltype(&rnn_step_call) call = Find<decltype(call)>("rnn_step_call");
  decltype(&rnn_step_free) free = Find<decltype(free)>("rnn_step_free");
  decltype(&rnn_step_error) error = Find<decltype(error)>("rnn_step_error");

  explicit Library(const char* path) : handle(dlopen(path, RTLD_NOW)) {
    if (handle == nullptr) Fail(dlerror());
  }
  [[noreturn]] static void Fail(const char* message) {
    std::fprintf(stderr, "%s\n", message);
    std::exit(1);
  }

 private:
  template <typename Function>
  Function Find(const char* name) {
    return reinterpret_cast<Function>(handle == nullptr ? nullptr : dlsym(handle, name));
  }
};

double Now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// A stream of calls of `steps` samples.
class Stream {
 public:
  Stream(const Library& library, const std::string& path, int steps)
      : library_(library), steps_(steps) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    if (library.make(bytes.data(), bytes.size(), 1, steps, 1, &stepper_) != 0) {
      Library::Fail(library.error());
    }
  }
  ~Stream() { library_.free(stepper_); }

  void Run(const std::vector<float>& x, std::vector<float>* y) {
    for (int i = 0; i < kSamples; i += steps_) {
      const void* const inputs[] = {&x[i]};
      float* const outputs[] = {y->data() + i};
      library_.call(stepper_, inputs, outputs);
    }
  }

 private:
  const Library& library_;
  const int steps_;
  RnnStepper* stepper_ = nullptr;
};

template <typename Layer, int H>
void Compare(const Library& library, const std::string& folder, const std::string& cell) {
  const std::string name = folder + "/" + cell + std::to_string(H);
  RTNeural::ModelT<float, 1, 1, Layer, RTNeural::DenseT<float, H, 1>> model;
  std::ifstream json(name + ".json");
  model.parseJson(json, false);
  model.reset();
  Stream ones(library, name + ".rnn", 1), blocks(library, name + ".rnn", kSteps);
  std::vector<float> x(kSamples), results[3];
  for (int i = 0; i < kSamples; ++i) x[i] = std::sin(static_cast<float>(i) * 0.01f);
  for (auto& result : results) result.resize(kSamples);
  double least[3] = {1e18, 1e18, 1e18}, difference = 0;
  for (int round = 0; round < kRounds; ++round) {
    for (int which = 0; which < 3; ++which) {
      std::vector<float>& y = results[which];
      const double begin = Now();
      if (which == 0) {
        for (int i = 0; i < kSamples; ++i) y[i] = model.forward(&x[i]);
      } else {
        (which == 1 ? ones : blocks).Run(x, &y);
      }
      least[which] = std::min(least[which], (Now() - begin) / kSamples);
    }
    // All three carry their states from round to round.
    for (int i = 0; i < kSamples; ++i) {
      for (int which = 1; which < 3; ++which) {
        difference = std::max<double>(difference, std::abs(results[which][i] - results[0][i]));
      }
    }
  }
  std::printf("%s %d %.1e %.1f %.1f %.1f\n", cell.c_str(), H, difference, least[0], least[1],
              least[2]);
  std::fflush(stdout);
}

template <int... H>
void CompareAll(const Library& library, const std::string& folder) {
  (Compare<RTNeural::LSTMLayerT<float, 1, H>, H>(library, folder, "lstm"), ...);
  (Compare<RTNeural::GRULayerT<float, 1, H>, H>(library, folder, "gru"), ...);
}

}  // namespace

int main(int, char** arguments) {
  const Library library(arguments[1]);
  CompareAll<RNN_UNITS>(library, arguments[2]);
}
