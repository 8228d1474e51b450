#include "cc/step/model_file.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace rnn_ops::step {
namespace {

constexpr uint64_t kLengthBytes = 8;  // the length of the header, which comes first
// Headers of export() have a kilobyte for each layer.
constexpr uint64_t kLongestHeader = uint64_t{16} << 20;

Status ReadTensor(const Json& entry, std::string_view data, StoredTensor* tensor) {
  std::string type;
  std::vector<int64_t> offsets;
  RNN_OPS_RETURN_IF_ERROR(ReadField(entry, "dtype", &type));
  RNN_OPS_RETURN_IF_ERROR(ReadField(entry, "shape", &tensor->shape));
  RNN_OPS_RETURN_IF_ERROR(ReadField(entry, "data_offsets", &offsets));
  if (type == "F32") {
    tensor->type = ElementType::kFloat32;
  } else if (type == "I8") {
    tensor->type = ElementType::kInt8;
  } else {
    return InvalidArgument("the dtype must be F32 or I8, but it is ", type);
  }
  tensor->elements = CountElements(tensor->shape);
  if (tensor->elements < 0) return InvalidArgument("the shape is not valid");
  const int64_t size = static_cast<int64_t>(data.size());
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] > size ||
      offsets[1] - offsets[0] != tensor->bytes()) {
    return InvalidArgument("its data is not within the file");
  }
  tensor->data = data.data() + offsets[0];
  return Status();
}

// Whether the tensors are all of the data: no holes, none twice.
Status CheckCovered(std::string_view data, const std::map<std::string, StoredTensor>& tensors) {
  std::vector<std::pair<const char*, int64_t>> ranges;
  for (const auto& [name, tensor] : tensors) ranges.emplace_back(tensor.data, tensor.bytes());
  std::sort(ranges.begin(), ranges.end());
  const char* at = data.data();
  for (const auto& [begin, bytes] : ranges) {
    if (begin != at) {
      return InvalidArgument("its tensors ", begin < at ? "overlap" : "leave out bytes",
                             " at byte ", std::min(begin, at) - data.data(), " of their data");
    }
    at += bytes;
  }
  const int64_t size = static_cast<int64_t>(data.size()), total = at - data.data();
  // A longer file was not written by export().
  if (total == size) return Status();
  return InvalidArgument("it has ", size, " bytes of tensors instead of ", total);
}

// The text of a field, or "" if there is none.
Status ReadOptional(const Json& metadata, const char* name, std::string* text) {
  return metadata.Find(name) == nullptr ? Status() : ReadField(metadata, name, text);
}

Status ReadOwnMetadata(const std::string& text, std::map<std::string, std::string>* own) {
  Json json;
  RNN_OPS_RETURN_IF_ERROR(ParseJson(text, &json));
  if (json.kind() != Json::Kind::kObject) {
    return InvalidArgument("the field 'metadata' must be an object of texts");
  }
  for (const auto& [key, value] : json.fields()) {
    RNN_OPS_RETURN_IF_ERROR(Read(value, "the metadata '" + key + "'", &(*own)[key]));
  }
  return Status();
}

// The graph, and what the file tells about itself.
Status ReadMetadata(const Json& metadata, ModelFile* file) {
  std::string text, own;
  RNN_OPS_RETURN_IF_ERROR(ReadField(metadata, "graph", &text));
  RNN_OPS_RETURN_IF_ERROR(ParseJson(text, &file->graph));
  RNN_OPS_RETURN_IF_ERROR(ReadOptional(metadata, "fingerprint", &file->fingerprint));
  RNN_OPS_RETURN_IF_ERROR(ReadOptional(metadata, "metadata", &own));
  return own.empty() ? Status() : ReadOwnMetadata(own, &file->metadata);
}

// Reads the version: 0 and its text if it is none that this library reads.
Status ReadFormat(const Json& metadata, int64_t* version, std::string* other_version) {
  std::string format;
  RNN_OPS_RETURN_IF_ERROR(ReadField(metadata, "format", &format));
  if (format != kFileFormat) return InvalidArgument("its format is '", format, "'");
  RNN_OPS_RETURN_IF_ERROR(ReadField(metadata, "version", other_version));
  *version = 0;
  for (const int64_t known : {kStreamVersion, kWindowVersion}) {
    if (*other_version == std::to_string(known)) *version = known;
  }
  return Status();
}

Status ReadParts(const void* bytes, size_t size, ModelFile* file, std::string* other_version) {
  uint64_t length = 0;
  if (bytes == nullptr || size < kLengthBytes) return InvalidArgument("it has ", size, " bytes");
  std::memcpy(&length, bytes, sizeof(length));
  if (length > size - kLengthBytes) return InvalidArgument("its header is cut off");
  if (length > kLongestHeader) {
    return InvalidArgument("its header has ", length, " bytes, more than ", kLongestHeader);
  }
  const std::string_view all(static_cast<const char*>(bytes), size);
  Json header;
  RNN_OPS_RETURN_IF_ERROR(ParseJson(all.substr(kLengthBytes, length), &header));
  const std::string_view data = all.substr(kLengthBytes + length);
  const Json* const metadata = header.Find("__metadata__");
  if (metadata == nullptr) return InvalidArgument("its header has no metadata");
  RNN_OPS_RETURN_IF_ERROR(ReadFormat(*metadata, &file->version, other_version));
  if (file->version == 0) return Status();
  RNN_OPS_RETURN_IF_ERROR(ReadMetadata(*metadata, file));
  for (const auto& [name, entry] : header.fields()) {
    if (name == "__metadata__") continue;
    StoredTensor& tensor = file->tensors[name];
    const Status status = ReadTensor(entry, data, &tensor);
    if (!status.ok()) return InvalidArgument("tensor '", name, "': ", status.message());
  }
  return CheckCovered(data, file->tensors);
}

}  // namespace

int64_t CountElements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > kMostElements) return -1;
  }
  return count;
}

Status ReadModelFile(const void* bytes, size_t size, ModelFile* file) {
  std::string other_version;
  const Status status = ReadParts(bytes, size, file, &other_version);
  if (status.ok() && file->version == 0) {
    return InvalidArgument("The file has version '", other_version,
                           "' of its format, and this library reads versions '", kStreamVersion,
                           "' and '", kWindowVersion,
                           "': export the model again with this version of tf_rnn_ops, or read the "
                           "file with the version that wrote it.");
  }
  if (status.ok()) return status;
  return InvalidArgument(
      "The file is not one that export() wrote for tf_rnn_ops.stepper: ", status.message(), ".");
}

}  // namespace rnn_ops::step
