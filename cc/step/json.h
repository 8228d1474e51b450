// Reads JSON, the text in the header of a model's file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops::step {

// A value of JSON.
struct Json {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0.0;
  std::string string;
  std::vector<Json> items;             // of an array
  std::map<std::string, Json> fields;  // of an object

  // The field of an object, or null.
  const Json* Find(const std::string& name) const;
};

// Reads `text`, which holds one value. Objects must not name a field twice.
Status ParseJson(std::string_view text, Json* value);

// The value as a type. `what` names it in the message of an error.
Status Read(const Json& json, const std::string& what, bool* value);
Status Read(const Json& json, const std::string& what, int64_t* value);
Status Read(const Json& json, const std::string& what, float* value);
Status Read(const Json& json, const std::string& what, std::string* value);
Status Read(const Json& json, const std::string& what, std::vector<int64_t>* values);
Status Read(const Json& json, const std::string& what, std::vector<std::string>* values);

// Reads the field of an object; an error if it is absent.
template <typename T>
Status ReadField(const Json& object, const std::string& name, T* value) {
  const Json* const field = object.Find(name);
  if (field == nullptr) return InvalidArgument("the field '", name, "' is missing");
  return Read(*field, "the field '" + name + "'", value);
}

}  // namespace rnn_ops::step
