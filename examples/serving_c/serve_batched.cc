// Serves the model of write_model.py to many threads, one request a call and then joined in
// batches.
//
//   serve_batched LIBRARY MODEL_DIR [CLIENTS [REQUESTS]]
//
// Each of CLIENTS threads (16) asks for REQUESTS sequences (200) of 1 to 40 steps, one after the
// other. Prints the requests a second without and with batches, and the largest difference of the
// outputs.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "batcher.h"
#include "tensorflow/c/c_api.h"

namespace {

constexpr int64_t kInput = 3, kOutput = 8, kLongest = 40;

void Check(const TF_Status* status, const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  throw std::runtime_error(std::string(what) + ": " + TF_Message(status));
}

// A SavedModel in a session that runs the graph on the thread that calls.
class Model {
 public:
  Model(const char* library, const char* folder) {
    // The kernels register themselves as the library is loaded: before the session is made.
    library_ = TF_LoadLibrary(library, status_);
    Check(status_, library);
    // The ConfigProto {allow_soft_placement: true, inter_op_parallelism_threads: -1}.
    const uint8_t config[] = {0x38, 0x01, 0x28, 0xff, 0xff, 0xff, 0xff,
                              0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    TF_SetConfig(options_, config, sizeof(config), status_);
    Check(status_, "TF_SetConfig");
    const char* tags[] = {"serve"};
    session_ =
        TF_LoadSessionFromSavedModel(options_, nullptr, folder, tags, 1, graph_, nullptr, status_);
    Check(status_, folder);
    inputs_[0] = Find("serving_default_x");
    inputs_[1] = Find("serving_default_lengths");
    output_ = Find("StatefulPartitionedCall");
  }

  ~Model() {
    if (session_ != nullptr) {
      TF_CloseSession(session_, status_);
      TF_DeleteSession(session_, status_);
    }
    TF_DeleteGraph(graph_);
    TF_DeleteSessionOptions(options_);
    if (library_ != nullptr) TF_DeleteLibraryHandle(library_);
    TF_DeleteStatus(status_);
  }

  // Runs sequences of different lengths in one call: padded to the longest, with their lengths.
  std::vector<Sequence> Run(const std::vector<Sequence>& sequences) {
    const int64_t batch = sequences.size();
    int64_t steps = 0;
    for (const Sequence& one : sequences) {
      steps = std::max<int64_t>(steps, one.size() / kInput);
    }
    const int64_t shape[] = {steps, batch, kInput};
    TF_Tensor* x = TF_AllocateTensor(TF_FLOAT, shape, 3, steps * batch * kInput * sizeof(float));
    TF_Tensor* lengths = TF_AllocateTensor(TF_INT32, &batch, 1, batch * sizeof(int32_t));
    auto* to = static_cast<float*>(TF_TensorData(x));
    std::fill(to, to + steps * batch * kInput, 0.0f);
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = sequences[b].size() / kInput;
      static_cast<int32_t*>(TF_TensorData(lengths))[b] = length;
      for (int64_t t = 0; t < length; ++t) {
        std::memcpy(to + (t * batch + b) * kInput, &sequences[b][t * kInput],
                    kInput * sizeof(float));
      }
    }
    TF_Tensor* const values[] = {x, lengths};
    TF_Tensor* result = nullptr;
    TF_Status* status = TF_NewStatus();  // Its own: calls of several threads run at once.
    TF_SessionRun(session_, nullptr, inputs_, values, 2, &output_, &result, 1, nullptr, 0, nullptr,
                  status);
    TF_DeleteTensor(x);
    TF_DeleteTensor(lengths);
    const std::string error = TF_GetCode(status) == TF_OK ? "" : TF_Message(status);
    TF_DeleteStatus(status);
    if (!error.empty()) throw std::runtime_error("TF_SessionRun: " + error);

    const auto* from = static_cast<const float*>(TF_TensorData(result));
    std::vector<Sequence> outputs;
    for (int64_t b = 0; b < batch; ++b) {
      outputs.emplace_back();
      for (int64_t t = 0; t < static_cast<int64_t>(sequences[b].size()) / kInput; ++t) {
        const float* row = from + (t * batch + b) * kOutput;
        outputs.back().insert(outputs.back().end(), row, row + kOutput);
      }
    }
    TF_DeleteTensor(result);
    return outputs;
  }

 private:
  TF_Output Find(const char* name) {
    const TF_Output output = {TF_GraphOperationByName(graph_, name), 0};
    if (output.oper == nullptr) {
      throw std::runtime_error(std::string(name) + ": the graph has no such operation");
    }
    return output;
  }

  TF_Status* const status_ = TF_NewStatus();
  TF_SessionOptions* const options_ = TF_NewSessionOptions();
  TF_Graph* const graph_ = TF_NewGraph();
  TF_Library* library_ = nullptr;
  TF_Session* session_ = nullptr;
  TF_Output inputs_[2], output_;
};

// The outputs of all requests, and how many a second there were.
struct Served {
  std::vector<std::vector<Sequence>> outputs;
  double rate;
};

Served Serve(int clients, int requests, const std::function<Sequence(Sequence)>& predict) {
  Served served{std::vector<std::vector<Sequence>>(clients), 0};
  std::vector<std::exception_ptr> failed(clients);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int k = 0; k < clients; ++k) {
    threads.emplace_back([&, k] {
      std::mt19937 random(k);
      std::normal_distribution<float> normal;
      try {
        for (int r = 0; r < requests; ++r) {
          Sequence x((1 + random() % kLongest) * kInput);
          for (float& value : x) value = normal(random);
          served.outputs[k].push_back(predict(std::move(x)));
        }
      } catch (...) {
        failed[k] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& one : failed) {
    if (one) std::rethrow_exception(one);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  served.rate = clients * requests / seconds.count();
  return served;
}

float LargestDifference(const Served& a, const Served& b) {
  float largest = 0;
  for (size_t k = 0; k < a.outputs.size(); ++k) {
    for (size_t r = 0; r < a.outputs[k].size(); ++r) {
      const Sequence &one = a.outputs[k][r], &other = b.outputs[k].at(r);
      if (one.size() != other.size()) throw std::runtime_error("the outputs differ in length");
      for (size_t i = 0; i < one.size(); ++i) {
        largest = std::max(largest, std::abs(one[i] - other[i]));
      }
    }
  }
  return largest;
}

int Main(int argc, char** argv) {
  if (argc < 3)
    throw std::runtime_error("usage: serve_batched LIBRARY MODEL_DIR [CLIENTS [REQUESTS]]");
  const int clients = argc > 3 ? std::atoi(argv[3]) : 16;
  const int requests = argc > 4 ? std::atoi(argv[4]) : 200;
  if (clients < 1 || requests < 1)
    throw std::runtime_error("CLIENTS and REQUESTS must be at least 1");
  Model model(argv[1], argv[2]);
  const Served alone = Serve(clients, requests, [&](Sequence x) { return model.Run({x})[0]; });
  Batcher batcher([&](const std::vector<Sequence>& batch) { return model.Run(batch); },
                  /*max_batch=*/16, /*patience=*/std::chrono::microseconds(200));
  const Served joined =
      Serve(clients, requests, [&](Sequence x) { return batcher.Predict(std::move(x)); });
  std::printf("one request a call  %8.0f requests a second\n", alone.rate);
  std::printf("batches of up to 16 %8.0f requests a second\n", joined.rate);
  std::printf("largest difference  %8.1e\n", LargestDifference(alone, joined));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve_batched: %s\n", error.what());
    return 1;
  }
}
