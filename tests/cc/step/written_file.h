// Writes files for a stepper.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace rnn_ops::step::testing {

struct Weights {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
  bool int8 = false;  // the type in the file
};

inline std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// A container with a header of this text.
inline std::string WithHeader(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string file(sizeof(length), '\0');
  std::memcpy(file.data(), &length, sizeof(length));
  return file + header + data;
}

// The file of a graph, in JSON, and its weights.
inline std::string WriteFile(const std::string& graph, const std::vector<Weights>& weights,
                             const std::string& version = "1") {
  std::string header =
      "{\"__metadata__\": {\"format\": \"tf_rnn_ops.step\", \"version\": " + Quoted(version) +
      ", \"graph\": " + Quoted(graph) + "}";
  std::string data;
  for (const Weights& w : weights) {
    const size_t begin = data.size();
    if (w.int8) {
      for (const float value : w.values) data += static_cast<char>(value);
    } else {
      data.append(reinterpret_cast<const char*>(w.values.data()), w.values.size() * sizeof(float));
    }
    header +=
        ", " + Quoted(w.name) + ": {\"dtype\": \"" + (w.int8 ? "I8" : "F32") + "\", \"shape\": [";
    for (size_t k = 0; k < w.shape.size(); ++k) {
      header += (k == 0 ? "" : ", ") + std::to_string(w.shape[k]);
    }
    header += "], \"data_offsets\": [" + std::to_string(begin) + ", " +
              std::to_string(data.size()) + "]}";
  }
  return WithHeader(header + "}", data);
}

}  // namespace rnn_ops::step::testing
