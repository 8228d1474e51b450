// Errors and warnings, without exceptions and without TensorFlow.
#pragma once

#include <cstdio>
#include <sstream>
#include <string>
#include <utility>

namespace rnn_ops {

// The values are those of absl::StatusCode and of XLA's FFI, so that a cast converts them.
enum class Code {
  kOk = 0,
  kInvalidArgument = 3,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kUnimplemented = 12,
  kInternal = 13,
};

class Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// Joins the parts of a message as an ostream would print them.
template <typename... Parts>
std::string StrCat(const Parts&... parts) {
  // WHY the mode: the constructor without it is new in GCC 9's library (cc/compat/old_libc.cc).
  std::ostringstream out(std::ios_base::out);
  (out << ... << parts);
  return out.str();
}

template <typename... Parts>
Status InvalidArgument(const Parts&... parts) {
  return Status(Code::kInvalidArgument, StrCat(parts...));
}

template <typename... Parts>
Status FailedPrecondition(const Parts&... parts) {
  return Status(Code::kFailedPrecondition, StrCat(parts...));
}

template <typename... Parts>
Status ResourceExhausted(const Parts&... parts) {
  return Status(Code::kResourceExhausted, StrCat(parts...));
}

template <typename... Parts>
Status Unimplemented(const Parts&... parts) {
  return Status(Code::kUnimplemented, StrCat(parts...));
}

template <typename... Parts>
Status Internal(const Parts&... parts) {
  return Status(Code::kInternal, StrCat(parts...));
}

}  // namespace rnn_ops

// `expr`: a Status or an absl::Status, which the function returns.
#define RNN_OPS_RETURN_IF_ERROR(expr)                  \
  do {                                                 \
    auto rnn_ops_status_ = (expr);                     \
    if (!rnn_ops_status_.ok()) return rnn_ops_status_; \
  } while (false)

namespace rnn_ops {

// Warnings for users, in one log for all parts of a library.

using WarningSink = void (*)(const std::string& text);

inline WarningSink warning_sink = [](const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
};

// Sends later warnings to `sink` instead of stderr. Call it before other threads may warn.
inline void SetWarningSink(WarningSink sink) { warning_sink = sink; }

inline void Warn(const std::string& text) { warning_sink("tf_rnn_ops: " + text); }

}  // namespace rnn_ops
