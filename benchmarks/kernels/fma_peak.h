// The rate of the arithmetic units of one core, to hold measurements against.
#pragma once

#include <cstdint>

// Best float32 GFLOP/s of one core with vectors of that many bytes (16: multiply and add apart, as
// the baseline has no fused one). The CPU must have the instructions.
double FmaPeak(int32_t vector_bytes);
