// The file of a model: a safetensors container whose metadata has the graph as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/step/json.h"

namespace rnn_ops::step {

constexpr const char* kFileFormat = "tf_rnn_ops.step";
// The versions of the graph in the file: that of streams, and that of windows.
constexpr int64_t kStreamVersion = 1;
constexpr int64_t kWindowVersion = 2;

// The largest product of sizes that a file may ask for, in elements.
constexpr int64_t kMostElements = int64_t{1} << 40;

// The product of sizes, or -1 if a size is negative or the product is above kMostElements.
int64_t CountElements(const std::vector<int64_t>& shape);

// A tensor of the file. The data may have any alignment, and belong to the caller of Read().
struct StoredTensor {
  ElementType type = ElementType::kOther;  // kFloat32 or kInt8
  std::vector<int64_t> shape;
  int64_t elements = 0;
  const char* data = nullptr;

  int64_t bytes() const { return elements * (type == ElementType::kInt8 ? 1 : 4); }
};

struct ModelFile {
  std::map<std::string, StoredTensor> tensors;
  Json graph;
  int64_t version = kStreamVersion;
  // The texts of the owner, and the fingerprint of the writer.
  std::map<std::string, std::string> metadata;
  std::string fingerprint;
};

// Reads a file. Nothing outside of the `size` bytes is read, whatever they are.
Status ReadModelFile(const void* bytes, size_t size, ModelFile* file);

}  // namespace rnn_ops::step
