// Warnings for users, in one log for all parts of a library.
#pragma once

#include <cstdio>
#include <string>

namespace rnn_ops {

using WarningSink = void (*)(const std::string& text);

inline WarningSink warning_sink = [](const std::string& text) {
  std::fprintf(stderr, "%s\n", text.c_str());
};

// Sends later warnings to `sink` instead of stderr. Call it before other threads may warn.
inline void SetWarningSink(WarningSink sink) { warning_sink = sink; }

inline void Warn(const std::string& text) { warning_sink("tf_rnn_ops: " + text); }

}  // namespace rnn_ops
