// Reads JSON, the text in the header of a model's file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cc/core/status.h"

namespace rnn_ops::step {

// A value of JSON. It has 16 bytes, because a file may have millions of them.
class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  using Items = std::vector<Json>;
  using Fields = std::vector<std::pair<std::string, Json>>;  // sorted by name

  Json() = default;
  explicit Json(bool value) : value_(value) {}
  explicit Json(double value) : value_(value) {}
  explicit Json(std::string value) : value_(std::make_unique<std::string>(std::move(value))) {}
  explicit Json(Items items) : value_(std::make_unique<Items>(std::move(items))) {}
  // `fields` are sorted and have different names.
  explicit Json(Fields fields) : value_(std::make_unique<Fields>(std::move(fields))) {}

  Kind kind() const { return static_cast<Kind>(value_.index()); }
  // Each is for values of its kind only.
  bool boolean() const { return std::get<bool>(value_); }
  double number() const { return std::get<double>(value_); }
  const std::string& string() const { return *std::get<std::unique_ptr<std::string>>(value_); }
  const Items& items() const { return *std::get<std::unique_ptr<Items>>(value_); }
  const Fields& fields() const { return *std::get<std::unique_ptr<Fields>>(value_); }

  // The field of an object; null if there is none, or the value is not an object.
  const Json* Find(const std::string& name) const;

 private:
  // In the order of Kind.
  std::variant<std::monostate, bool, double, std::unique_ptr<std::string>, std::unique_ptr<Items>,
               std::unique_ptr<Fields>>
      value_;
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
