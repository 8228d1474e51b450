// Compiles only if cudnn_min.h agrees with NVIDIA's header.
#include <cudnn.h>

#include <type_traits>

#include "cc/gpu/libraries/cudnn_min.h"

#define CHECK_VALUE(name, value) static_assert(name == value, "differs: " #name);
RNN_OPS_CUDNN_STATUSES(CHECK_VALUE)
RNN_OPS_CUDNN_DATA_TYPES(CHECK_VALUE)
RNN_OPS_CUDNN_MATH_TYPES(CHECK_VALUE)
RNN_OPS_CUDNN_RNN_ALGOS(CHECK_VALUE)
RNN_OPS_CUDNN_FORWARD_MODES(CHECK_VALUE)
RNN_OPS_CUDNN_RNN_MODES(CHECK_VALUE)
RNN_OPS_CUDNN_BIAS_MODES(CHECK_VALUE)
RNN_OPS_CUDNN_DIRECTIONS(CHECK_VALUE)
RNN_OPS_CUDNN_INPUT_MODES(CHECK_VALUE)
RNN_OPS_CUDNN_LAYOUTS(CHECK_VALUE)
RNN_OPS_CUDNN_WGRAD_MODES(CHECK_VALUE)
RNN_OPS_CUDNN_AUX_FLAGS(CHECK_VALUE)

#define CHECK_FUNCTION(result, name, parameters)                                     \
  static_assert(std::is_same<result(*) parameters, decltype(&::cudnn##name)>::value, \
                "differs: cudnn" #name);
RNN_OPS_CUDNN_FUNCTIONS(CHECK_FUNCTION)

// A wider enumeration would be passed in another register half.
static_assert(sizeof(cudnnStatus_t) == 4 && sizeof(cudnnRNNAlgo_t) == 4, "another enum size");
