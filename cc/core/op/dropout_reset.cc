#include "cc/core/op/dropout_reset.h"

#include <cctype>
#include <string>

namespace rnn_ops {

Status ParseResetRndGenState(const char* value, bool* resets) {
  std::string word(value == nullptr ? "" : value);
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  *resets = word == "1" || word == "true";
  if (*resets || word.empty() || word == "0" || word == "false") return Status();
  return InvalidArgument("TF_CUDNN_RESET_RND_GEN_STATE must be 0, 1, false or true, but it is '",
                         value, "'.");
}

}  // namespace rnn_ops
