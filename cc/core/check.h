// Preconditions that callers inside this project must meet.
#pragma once

// RNN_DCHECK(condition): aborts with the text of the condition if the condition is false. The check
// is compiled with -DRNN_OPS_DCHECK: in sanitizer builds, in fuzz targets and in the sources that a
// C++ test compiles itself. The libraries that a test links or opens are compiled without the
// check, except the emulations (Note [Emulation] in cpu/simd/isa.h). Without the flag the condition
// is not evaluated. Input of users never reaches a check, because validation has rejected bad input
// before.
#ifdef RNN_OPS_DCHECK

#include <cstdio>
#include <cstdlib>

#define RNN_DCHECK(condition)                                                                 \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      std::fprintf(stderr, "%s:%d: RNN_DCHECK failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                           \
    }                                                                                         \
  } while (false)

#else

#define RNN_DCHECK(condition)        \
  do {                               \
    if (false && (condition)) break; \
  } while (false)

#endif
