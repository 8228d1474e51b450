// Checks of the pieces of the passes, each separately, against simple loops over elements. All
// values are small integers, whose sums are exact in every type, so results are compared for
// equality.
#pragma once

#include <cstdint>

// Calls fail(message) for the first failures. Returns the number of compared values.
extern "C" int64_t tf_rnn_ops_check_pieces(void (*fail)(const char* message));
