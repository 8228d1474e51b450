// Preconditions that callers inside this project keep.
#ifndef TF_RNN_OPS_CC_CORE_CHECK_H_
#define TF_RNN_OPS_CC_CORE_CHECK_H_

// RNN_DCHECK(condition): aborts with the condition's text where it does not hold, in sanitizer
// builds, fuzz targets and what the C++ tests compile themselves (-DRNN_OPS_DCHECK), which the
// libraries that they link and open are not. Elsewhere it is not evaluated: users' input never
// reaches a check, it is refused before.
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

#endif  // TF_RNN_OPS_CC_CORE_CHECK_H_
