// The sizes of a whole CudnnRNN or LayerRNN call.
#include <algorithm>

#include "cc/core/op/dim_solver.h"
#include "cc/core/op/param_layout.h"
#include "cc/core/op/shapes.h"

namespace rnn_ops {
namespace {

Status CheckParams(const RnnAttrs& attrs, const RnnConfig& config, const PartialShape& params,
                   int64_t size) {
  if (!params.known_rank || params.dims[0] < 0 || params.dims[0] == size) return Status();
  return InvalidArgument("params must have ", size, " elements for rnn_mode='", Name(config.mode),
                         "', input_mode='", Name(attrs.input_mode), "', direction='",
                         Name(config.direction), "', num_layers = ", config.num_layers,
                         ", num_units = ", config.num_units, ", input_size = ", config.input_size,
                         " and num_proj = ", config.num_proj, ", but its shape is ",
                         ToString(params), ".");
}

}  // namespace

// Validates the problem with the smallest possible value of every unknown size. So a rejected
// problem is invalid for any value, and no product of known sizes overflows. Checks `params` if all
// sizes of its shape are known.
Status FinishRnn(const RnnAttrs& attrs, const PartialShape& params, DimSolver* solver,
                 RnnConfig* config) {
  const DimSolver& s = *solver;
  const int64_t num_dirs = attrs.num_dirs();
  if (s.layers_dirs.known() && s.layers_dirs.value % num_dirs != 0) {
    return InvalidArgument("direction='", Name(attrs.direction), "' needs an even number of ",
                           "layers times directions, but it is ", s.layers_dirs.value,
                           " according to ", s.layers_dirs.source, ".");
  }
  const bool same = attrs.input_mode == InputMode::kSkip;
  const int64_t num_units = s.H.known()           ? s.H.value
                            : same && s.I.known() ? s.I.value
                                                  : std::max<int64_t>(1, attrs.num_proj);
  const int64_t input_size = s.I.known() ? s.I.value : same ? num_units : 1;
  const int64_t num_layers = s.layers_dirs.known() ? s.layers_dirs.value / num_dirs : 1;
  RNN_OPS_RETURN_IF_ERROR(MakeRnnConfig(attrs, num_layers, num_units, input_size,
                                        std::max<int64_t>(0, s.T.value),
                                        std::max<int64_t>(0, s.B.value), config));
  if (attrs.num_proj == 0 && s.P.known()) {
    // A tensor `projection` is a projection even if P == H, unlike the attribute num_proj.
    config->num_proj = s.P.value;
    RNN_OPS_RETURN_IF_ERROR(config->Validate());
  }
  if (!s.H.known() || !s.I.known() || !s.layers_dirs.known()) return Status();
  solver->params_size.value = ParamsSize(*config);
  return CheckParams(attrs, *config, params, solver->params_size.value);
}

}  // namespace rnn_ops
