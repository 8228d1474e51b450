#include "cc/gpu/steps/stack_call.h"

#include <algorithm>

#include "cc/gpu/cudnn/rnn_reserve.h"
#include "cc/gpu/kernels/layer_args.h"
#include "cc/gpu/launch/driver_ops.h"
#include "cc/gpu/steps/layer_sizes.h"
#include "cc/gpu/steps/layer_weights.h"
#include "cc/gpu/steps/stack_gpu.h"

namespace rnn_ops::gpu {
namespace {

constexpr int64_t kAlignment = 256;

LayerProblem ProblemOf(const StackProblem& p, int64_t layer) {
  LayerProblem problem;
  static_cast<RnnConfig&>(problem) = p;
  problem.input_size = p.layer_input_size(layer);
  problem.time_major = true;
  problem.dtype = p.dtype;
  problem.allow_tf32 = p.allow_tf32;
  problem.bias_rows = 2;
  return problem;
}

}  // namespace

StackReserve::StackReserve(const StackProblem& p) : header(kAlignment) {
  const RnnConfig& c = p;
  const int64_t output_bytes = c.max_time * c.batch * c.hidden_size() * SizeOf(p.dtype);
  layer = LayerReserveBytes(ProblemOf(p, 0));
  outputs = header + c.num_pseudo_layers() * layer;
  output = (output_bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes = outputs + (c.num_layers - 1) * c.num_dirs() * output;
}

int64_t StackReserveBytes(const StackProblem& problem) {
  return RoundedReserve(StackReserve(problem).bytes);
}

StackCall::StackCall(const ProductLibraries& libraries, const StackProblem& problem,
                     const RnnGpuCall& call)
    : outputs(problem.num_pseudo_layers()),
      libraries_(libraries),
      p_(problem),
      call_(call),
      layout_(problem),
      layer_memory_(call.scratch),
      products_(libraries, problem.dtype, problem.allow_tf32, call.scratch, call.stream),
      rate_(problem.is_training && problem.num_layers > 1 ? problem.dropout : 0) {}

Status StackCall::Begin() {
  RNN_OPS_RETURN_IF_ERROR(products_.Enter());
  RNN_OPS_RETURN_IF_ERROR(products_.PrepareProducts());
  products_.UseScratch(&layer_memory_);
  const int64_t bytes = p_.batch * static_cast<int64_t>(sizeof(int32_t));
  if (std::all_of(p_.lengths, p_.lengths + p_.batch,
                  [&](int32_t length) { return length == p_.max_time; })) {
    return Status();
  }
  void* lengths = nullptr;
  RNN_OPS_RETURN_IF_ERROR(AllocateScratch(call_.scratch, "the lengths", bytes, &lengths));
  lengths_ = static_cast<const int32_t*>(lengths);
  return DriverOps(libraries_.driver, libraries_.modules)
      .CopyFromHost(call_.stream, lengths, p_.lengths, bytes);
}

Status StackCall::BeginLayer(int64_t layer, int64_t dir, const void* x, const void* params,
                             LayerProblem* problem, LayerInputs* in) {
  layer_memory_.Reset();
  *problem = ProblemOf(p_, layer);
  *in = {};
  const int64_t pseudo = Pseudo(layer, dir), row = pseudo * p_.batch;
  in->h0 = At(h0, p_.dtype, row * p_.hidden_size());
  if (c0 != nullptr) in->c0 = At(c0, p_.dtype, row * p_.num_units);
  in->lengths = lengths_;
  RNN_OPS_RETURN_IF_ERROR(Input(layer, dir, x, &in->x));
  return LayerWeights(products_, p_, layout_.at(layer, dir)).Read(params, problem->input_size, in);
}

// The input of a pseudo-layer, in the order of its steps.
Status StackCall::Input(int64_t layer, int64_t dir, const void* user, const void** x) const {
  const int64_t width = p_.layer_input_size(layer), S = p_.hidden_size();
  const bool is_user = layer == 0;
  *x = is_user ? user : outputs[Pseudo(layer - 1, 0)];
  if (dir == 0 && (is_user ? p_.time_major : p_.num_dirs() == 1 && !drops())) return Status();
  void* made = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      products_.Scratch("the input of a layer", rows() * width, p_.dtype, &made));
  *x = made;
  const SequenceView all = Ours(made, width, dir);
  if (is_user) return Move(User(user, width), all, width);
  for (int64_t from = 0; from < p_.num_dirs(); ++from) {
    RNN_OPS_RETURN_IF_ERROR(MoveAndDrop(Ours(outputs[Pseudo(layer - 1, from)], S, from),
                                        Columns(all, from), S, layer - 1, from * S));
  }
  return Status();
}

Status StackCall::Move(const SequenceView& from, const SequenceView& to, int64_t width,
                       int64_t layer, int64_t column, bool adds) const {
  elementwise::MoveSequence args = {};
  args.from = from.data, args.to = const_cast<void*>(to.data);
  args.lengths = lengths_;
  args.batch = p_.batch, args.max_time = p_.max_time, args.width = width;
  args.from_row = from.row_size, args.to_row = to.row_size;
  args.from_time_major = from.time_major, args.to_time_major = to.time_major;
  args.from_reversed = from.reversed, args.to_reversed = to.reversed;
  args.adds = adds;
  args.element = ElementOf(p_.dtype);
  if (layer != kNone && drops()) {
    args.rate = rate_, args.layer = static_cast<unsigned>(layer), args.first_column = column;
    args.stores_key = stores_key_, args.key = key_;
    args.stored_key = static_cast<unsigned long long*>(header_);
  }
  return products_.Launch(KernelForMath(Kernel::move_sequence_f32, p_.dtype), rows(), width, args);
}

Status StackCall::StatesIn(const void* states, int64_t width, const void** ours) const {
  *ours = states;
  if (!swaps_states()) return Status();
  void* made = nullptr;
  RNN_OPS_RETURN_IF_ERROR(
      Keep("transposed states", p_.num_pseudo_layers() * p_.batch * width, &made));
  *ours = made;
  return SwapLeading(products_, p_.dtype, made, states, p_.batch, p_.num_pseudo_layers(), width);
}

Status StackCall::StatesOut(void* states, int64_t width, void** ours) const {
  *ours = states;
  if (!swaps_states()) return Status();
  return Keep("transposed states", p_.num_pseudo_layers() * p_.batch * width, ours);
}

Status StackCall::FinishStates(void* states, int64_t width, const void* ours) const {
  if (!swaps_states()) return Status();
  return SwapLeading(products_, p_.dtype, states, ours, p_.num_pseudo_layers(), p_.batch, width);
}

Status StackCall::Keep(const char* purpose, int64_t size, void** memory) const {
  return AllocateScratch(call_.scratch, purpose, size * SizeOf(p_.dtype), memory);
}

}  // namespace rnn_ops::gpu
