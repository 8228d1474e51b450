#include "cc/step/json.h"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rnn_ops::step {
namespace {

// Deeper values end with an error instead of the stack.
constexpr int kDeepest = 32;

// The locale of numbers in JSON, whatever the program's is. Never freed.
locale_t CLocale() {
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", locale_t(0));
  return locale;
}

// The bytes of the character that a byte of UTF-8 begins, or 0.
size_t BytesOfCharacter(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;  // a later byte, or more bytes than needed
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

bool IsUtf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const auto byte = [&](size_t k) { return static_cast<unsigned char>(text[at + k]); };
    const size_t bytes = BytesOfCharacter(byte(0));
    if (bytes == 0 || at + bytes > text.size()) return false;
    for (size_t k = 1; k < bytes; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return false;
    }
    // More bytes than needed, surrogates, and what is above U+10FFFF.
    if (byte(0) == 0xe0 && byte(1) < 0xa0) return false;
    if (byte(0) == 0xed && byte(1) > 0x9f) return false;
    if (byte(0) == 0xf0 && byte(1) < 0x90) return false;
    if (byte(0) == 0xf4 && byte(1) > 0x8f) return false;
    at += bytes;
  }
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Status ParseAll(Json* value) {
    if (!IsUtf8(text_)) return InvalidArgument("its text is not UTF-8");
    RNN_OPS_RETURN_IF_ERROR(Parse(value, 0));
    SkipSpaces();
    return at_ == text_.size() ? Status() : Unexpected("the end");
  }

 private:
  Status Parse(Json* value, int depth) {
    if (depth > kDeepest) return InvalidArgument("more than ", kDeepest, " nested values");
    SkipSpaces();
    switch (Peek()) {
      case '{':
        return ParseObject(value, depth);
      case '[':
        return ParseArray(value, depth);
      case '"': {
        std::string string;
        RNN_OPS_RETURN_IF_ERROR(ParseString(&string));
        *value = Json(std::move(string));
        return Status();
      }
      case 't':
        *value = Json(true);
        return ParseWord("true");
      case 'f':
        *value = Json(false);
        return ParseWord("false");
      case 'n':
        return ParseWord("null");
      default: {
        double number = 0;
        RNN_OPS_RETURN_IF_ERROR(ParseNumber(&number));
        *value = Json(number);
        return Status();
      }
    }
  }

  Status ParseObject(Json* value, int depth) {
    Json::Fields fields;
    ++at_;
    SkipSpaces();
    bool more = Peek() != '}';
    while (more) {
      SkipSpaces();
      if (Peek() != '"') return Unexpected("the name of a field");
      auto& [name, field] = fields.emplace_back();
      RNN_OPS_RETURN_IF_ERROR(ParseString(&name));
      SkipSpaces();
      if (!Take(':')) return Unexpected("':'");
      RNN_OPS_RETURN_IF_ERROR(Parse(&field, depth + 1));
      SkipSpaces();
      more = Take(',');
    }
    if (!Take('}')) return Unexpected("',' or '}'");
    const auto name_of = [](const auto& field) -> const std::string& { return field.first; };
    std::sort(fields.begin(), fields.end(),
              [&](const auto& a, const auto& b) { return name_of(a) < name_of(b); });
    const auto twice =
        std::adjacent_find(fields.begin(), fields.end(),
                           [&](const auto& a, const auto& b) { return name_of(a) == name_of(b); });
    if (twice != fields.end()) {
      return InvalidArgument("the field '", twice->first, "' is there twice");
    }
    *value = Json(std::move(fields));
    return Status();
  }

  Status ParseArray(Json* value, int depth) {
    Json::Items items;
    ++at_;
    SkipSpaces();
    bool more = Peek() != ']';
    while (more) {
      RNN_OPS_RETURN_IF_ERROR(Parse(&items.emplace_back(), depth + 1));
      SkipSpaces();
      more = Take(',');
    }
    if (!Take(']')) return Unexpected("',' or ']'");
    *value = Json(std::move(items));
    return Status();
  }

  Status ParseString(std::string* value) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return Status();
      if (static_cast<unsigned char>(c) < 0x20) return InvalidArgument("a control character");
      if (c != '\\') {
        *value += c;
        continue;
      }
      if (at_ == text_.size()) break;
      RNN_OPS_RETURN_IF_ERROR(ParseEscape(text_[at_++], value));
    }
    return Unexpected("the end of a string");
  }

  Status ParseEscape(char c, std::string* value) {
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    if (c == 'u') {
      uint32_t unit = 0;
      RNN_OPS_RETURN_IF_ERROR(ParseUnit(&unit));
      if (unit >= 0xd800 && unit < 0xdc00 && text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        uint32_t low = 0;
        RNN_OPS_RETURN_IF_ERROR(ParseUnit(&low));
        if (low < 0xdc00 || low > 0xdfff) return InvalidArgument("half of a surrogate pair");
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
      }
      if (unit >= 0xd800 && unit <= 0xdfff) return InvalidArgument("half of a surrogate pair");
      // C's strings, which have the names, end with it.
      if (unit == 0) return InvalidArgument("the character U+0000");
      AppendUtf8(unit, value);
      return Status();
    }
    const size_t k = kNames.find(c);
    if (k == std::string_view::npos) return InvalidArgument("an unknown escape");
    *value += kValues[k];
    return Status();
  }

  // Four hexadecimal digits.
  Status ParseUnit(uint32_t* unit) {
    *unit = 0;
    for (int k = 0; k < 4; ++k, ++at_) {
      const char c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Unexpected("a hexadecimal digit");
      *unit = *unit * 16 + static_cast<uint32_t>(digit);
    }
    return Status();
  }

  static void AppendUtf8(uint32_t c, std::string* to) {
    const auto append = [to](uint32_t byte) { *to += static_cast<char>(byte); };
    if (c < 0x80) return append(c);
    if (c < 0x800) {
      append(0xc0 | c >> 6);
    } else if (c < 0x10000) {
      append(0xe0 | c >> 12);
      append(0x80 | (c >> 6 & 0x3f));
    } else {
      append(0xf0 | c >> 18);
      append(0x80 | (c >> 12 & 0x3f));
      append(0x80 | (c >> 6 & 0x3f));
    }
    append(0x80 | (c & 0x3f));
  }

  Status ParseNumber(double* value) {
    const size_t first = at_;
    Take('-');
    const bool has_zero = Take('0');  // which no other digit may follow
    bool valid = has_zero || SkipDigits();
    if (valid && Take('.')) valid = SkipDigits();
    if (valid && (Take('e') || Take('E'))) {
      if (!Take('+')) Take('-');
      valid = SkipDigits();
    }
    if (!valid) {
      at_ = first;
      return Unexpected("a value");
    }
    const std::string digits(text_.substr(first, at_ - first));
    *value = strtod_l(digits.c_str(), nullptr, CLocale());
    return std::isfinite(*value) ? Status()
                                 : InvalidArgument("the number ", digits, " is too large");
  }

  // Whether there is at least one.
  bool SkipDigits() {
    const size_t first = at_;
    while (Peek() >= '0' && Peek() <= '9') ++at_;
    return at_ > first;
  }

  Status ParseWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return Unexpected("a value");
    at_ += word.size();
    return Status();
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool Take(char c) {
    if (Peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void SkipSpaces() {
    while (at_ < text_.size() &&
           std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  Status Unexpected(const char* expected) const {
    return InvalidArgument("there must be ", expected, " at character ", at_);
  }

  const std::string_view text_;
  size_t at_ = 0;
};

template <typename T>
Status ReadItems(const Json& json, const std::string& what, const char* kind,
                 std::vector<T>* values) {
  if (json.kind() != Json::Kind::kArray) return InvalidArgument(what, " must be a list of ", kind);
  values->clear();
  for (const Json& item : json.items()) {
    values->emplace_back();
    RNN_OPS_RETURN_IF_ERROR(Read(item, "an element of " + what, &values->back()));
  }
  return Status();
}

}  // namespace

const Json* Json::Find(const std::string& name) const {
  if (kind() != Kind::kObject) return nullptr;
  const auto field =
      std::lower_bound(fields().begin(), fields().end(), name,
                       [](const auto& one, const std::string& name) { return one.first < name; });
  return field == fields().end() || field->first != name ? nullptr : &field->second;
}

Status ParseJson(std::string_view text, Json* value) {
  *value = Json();
  return Parser(text).ParseAll(value);
}

Status Read(const Json& json, const std::string& what, bool* value) {
  if (json.kind() != Json::Kind::kBool) return InvalidArgument(what, " must be true or false");
  *value = json.boolean();
  return Status();
}

Status Read(const Json& json, const std::string& what, int64_t* value) {
  // Doubles hold every whole number up to here.
  constexpr double kLargest = 9007199254740992.0;
  const double number = json.kind() == Json::Kind::kNumber ? json.number() : 0.5;
  if (std::floor(number) != number || std::fabs(number) > kLargest) {
    return InvalidArgument(what, " must be a whole number");
  }
  *value = static_cast<int64_t>(number);
  return Status();
}

Status Read(const Json& json, const std::string& what, float* value) {
  // A larger number is none of float32.
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (json.kind() != Json::Kind::kNumber || std::fabs(json.number()) > kLargest) {
    return InvalidArgument(what, " must be a number of float32");
  }
  *value = static_cast<float>(json.number());
  return Status();
}

Status Read(const Json& json, const std::string& what, std::string* value) {
  if (json.kind() != Json::Kind::kString) return InvalidArgument(what, " must be a string");
  *value = json.string();
  return Status();
}

Status Read(const Json& json, const std::string& what, std::vector<int64_t>* values) {
  return ReadItems(json, what, "whole numbers", values);
}

Status Read(const Json& json, const std::string& what, std::vector<std::string>* values) {
  return ReadItems(json, what, "strings", values);
}

}  // namespace rnn_ops::step
