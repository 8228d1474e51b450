// The gradient of LayerRNN on a GPU: for each step, from the last to the first, one kernel and one
// product for dh, and a second pair where the cell has a second product. Then the products and sums
// of all steps.
#include <algorithm>
#include <cstdint>

#include "cc/gpu/kernels/kernel_args.h"
#include "cc/gpu/steps/gradient_sums.h"
#include "cc/gpu/steps/layer.h"
#include "cc/gpu/steps/persistent_steps.h"

namespace rnn_ops::gpu {
namespace {

class BackwardSteps {
 public:
  BackwardSteps(const ProductCall& call, const LayerBackwardArgs& args)
      : call_(call),
        args_(args),
        p_(args.problem),
        n_(args.problem),
        math_(MathDtype(args.problem.dtype)) {
    const LayerReserve reserve(p_);
    char* const start = static_cast<char*>(const_cast<void*>(args.reserve));
    gates_.data = start + reserve.gates_at;
    if (n_.has_c) c_.data = start + reserve.c_at;
    step_.call = CallOf(p_, args.in, start);
    step_.dh_n = args.dh_n;
    step_.dc_n = args.dc_n;
    step_.products = static_cast<int>(p_.recurrent_masked ? n_.gates_of_h() : 1);
  }

  Status Run() {
    RNN_OPS_RETURN_IF_ERROR(Allocate());
    elementwise::LayerEnd end = {};
    end.step = step_;
    end.step.t = -1;
    if (persistent_.Runs()) {
      RNN_OPS_RETURN_IF_ERROR(PersistentRun());
      end.step.call.masks = nullptr;  // the kernel has multiplied dh by the masks
    } else {
      for (int64_t t = n_.T - 1; t >= 0; --t) RNN_OPS_RETURN_IF_ERROR(Step(t));
    }
    end.dh0 = args_.dh0;
    end.dc0 = n_.has_c ? args_.dc0 : nullptr;
    RNN_OPS_RETURN_IF_ERROR(Launch(Kernel::layer_end_f32, std::max(n_.S, n_.H), end));
    if (n_.T == 0) return Status();
    RNN_OPS_RETURN_IF_ERROR(Inputs());
    RNN_OPS_RETURN_IF_ERROR(Recurrent());
    return Sums();
  }

 private:
  Status Allocate() {
    const int64_t rows = n_.rows();
    RNN_OPS_RETURN_IF_ERROR(
        TimeMajor(call_, p_, "the transposed gradient", args_.dy, n_.S, &dy_.data));
    RNN_OPS_RETURN_IF_ERROR(TimeMajor(call_, p_, "the transposed output", args_.y, n_.S, &y_.data));
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradients of the gates", rows, &dgates_x_));
    dgates_h_ = dgates_x_;
    if (n_.splits_gradients) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradients of the gates", rows, &dgates_h_));
    }
    if (args_.algorithm == LayerAlgorithm::kPersistent) {
      RNN_OPS_RETURN_IF_ERROR(persistent_.Choose(call_, p_, PersistentPass::kBackward));
      if (persistent_.Runs()) step_.products = 1;
    }
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of h", step_.products * n_.B, &dh_));
    step_.dh = dh_.data;
    if (n_.carries_h) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the gradient of h", n_.B * n_.S, math_, &step_.direct));
    }
    if (n_.has_c) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of c", n_.B * n_.H, math_, &step_.dc));
    }
    if (n_.reset_before || p_.num_proj > 0) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the second factor", rows, &m_));
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of the second factor", n_.B, &dm_));
    }
    if (p_.num_proj > 0) {
      RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of the projection", rows, &dproj_));
    }
    if (!p_.has_layer_norm) return Status();
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradients of sums", rows, &dsums_));
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("c", rows, &c_unit_));
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of c", rows, &dc_scaled_));
    return call_.Scratch("means", rows, &stats_);
  }

  elementwise::LayerBackStep StepAt(int64_t t) const {
    elementwise::LayerBackStep step = step_;
    const int64_t row = t * n_.B, next = row + n_.B;
    step.t = t;
    step.gates = gates_.Row(row);
    step.h_prev = t == 0 ? args_.in.h0 : y_.Row(row - n_.B);
    step.c_prev = c_.Row(row);
    step.c = c_.Row(next);
    step.y = y_.Row(row);
    step.dy = dy_.Row(row);
    step.m = m_.Row(row);
    step.dgates_x = dgates_x_.Row(row);
    step.dgates_h = dgates_h_.Row(row);
    step.dprojected = dproj_.Row(row);
    step.dsums = dsums_.Row(row);
    step.c_unit = c_unit_.Row(row);
    step.dc_scaled = dc_scaled_.Row(row);
    step.stats = stats_.Row(row);
    return step;
  }

  Status PersistentRun() const {
    elementwise::PersistentBackward args = {};
    args.step = StepAt(0);
    args.recurrent = args_.in.recurrent_kernel;
    return persistent_.Run(call_, args);
  }

  Status Step(int64_t t) const {
    elementwise::LayerBackStep step = StepAt(t);
    if (p_.num_proj > 0) {
      RNN_OPS_RETURN_IF_ERROR(Launch(Kernel::projection_back_f32, n_.S, step));
      RNN_OPS_RETURN_IF_ERROR(call_.Multiply({n_.B, n_.H, n_.S}, {step.dprojected, n_.S},
                                             Transposed(args_.in.projection, n_.S),
                                             {dm_.data, math_, Result::kSet}));
      step.dm = dm_.data;
    }
    RNN_OPS_RETURN_IF_ERROR(
        Launch(n_.cell.back, n_.by_row ? std::min(n_.H, kMostThreadsOfRow) : n_.H, step));
    if (n_.reset_before) {
      const int64_t candidate = 2 * n_.H;
      RNN_OPS_RETURN_IF_ERROR(call_.Multiply(
          {n_.B, n_.H, n_.H}, {At(step.dgates_x, p_.dtype, candidate), n_.columns()},
          Transposed(At(args_.in.recurrent_kernel, p_.dtype, candidate), n_.columns()),
          {dm_.data, math_, Result::kSet}));
      step.dm = dm_.data;
      RNN_OPS_RETURN_IF_ERROR(Launch(Kernel::reset_before_back_second_f32, n_.H, step));
    }
    return RecurrentGradient(step.dgates_h);
  }

  // dh = dgates R'; with masks for each gate a product of its own.
  Status RecurrentGradient(const void* dgates) const {
    const int64_t gates = n_.gates_of_h(), columns = n_.columns();
    if (p_.recurrent_masked) {
      return call_.Multiply({n_.B, n_.S, n_.H, gates}, {dgates, columns, n_.H},
                            Transposed(args_.in.recurrent_kernel, columns, n_.H),
                            {dh_.data, math_, Result::kSet, n_.S, n_.B * n_.S});
    }
    return call_.Multiply({n_.B, n_.S, gates * n_.H}, {dgates, columns},
                          Transposed(args_.in.recurrent_kernel, columns),
                          {dh_.data, math_, Result::kSet});
  }

  // dx = dgates W' and dW = x' dgates.
  Status Inputs() const {
    void* dx = args_.dx;
    if (SwapsSequences(p_)) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the gradient of the input", n_.rows() * n_.I, p_.dtype, &dx));
    }
    const void* x = nullptr;
    RNN_OPS_RETURN_IF_ERROR(CleanInput(&x));
    WeightGradient dkernel(call_, p_.dtype, args_.dkernel, n_.I * n_.columns());
    RNN_OPS_RETURN_IF_ERROR(dkernel.Begin(/*in_parts=*/p_.input_masked));
    if (p_.input_masked) {
      RNN_OPS_RETURN_IF_ERROR(MaskedInputs(x, dx, &dkernel));
    } else {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Multiply({n_.rows(), n_.I, n_.columns()}, {dgates_x_.data, n_.columns()},
                         Transposed(args_.in.kernel, n_.columns()), {dx, p_.dtype, Result::kSet}));
      RNN_OPS_RETURN_IF_ERROR(dkernel.Add({n_.I, n_.columns(), n_.rows()}, Transposed(x, n_.I),
                                          {dgates_x_.data, n_.columns()}, n_.columns()));
    }
    RNN_OPS_RETURN_IF_ERROR(dkernel.End());
    if (!SwapsSequences(p_)) return Status();
    return SwapLeading(call_, p_.dtype, args_.dx, dx, n_.T, n_.B, n_.I);
  }

  // x time-major, with zeros behind the ends of rows, unless MaskedInputs() writes them.
  // WHY zeros: the gradients of the gates are 0 there, but 0 times NaN is not.
  Status CleanInput(const void** x) const {
    RNN_OPS_RETURN_IF_ERROR(TimeMajor(call_, p_, "the transposed input", args_.in.x, n_.I, x));
    if (args_.in.lengths == nullptr || p_.input_masked) return Status();
    void* clean = const_cast<void*>(*x);  // a transposed copy is ours
    if (!SwapsSequences(p_)) {
      RNN_OPS_RETURN_IF_ERROR(
          call_.Scratch("the masked input", n_.rows() * n_.I, p_.dtype, &clean));
    }
    const MaskedCopy copy = {*x,        clean, n_.rows(),
                             n_.rows(), 0,     StepsFrom(p_, args_.in.lengths, 0)};
    *x = clean;
    return MaskCopies(call_, p_, /*masks=*/nullptr, 1, n_.I, copy);
  }

  // The same with masks for each gate, as many rows at a time as fit.
  Status MaskedInputs(const void* x, void* dx, WeightGradient* dkernel) const {
    const int64_t some_rows = MaskedRows(call_, p_, SizeOf(math_), n_.T);
    void *masked_x = nullptr, *masked_dx = nullptr;
    RNN_OPS_RETURN_IF_ERROR(
        call_.Scratch("the masked input", n_.G * some_rows * n_.I, p_.dtype, &masked_x));
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the gradient of the masked input",
                                          n_.G * some_rows * n_.I, math_, &masked_dx));
    const int64_t columns = n_.columns();
    for (int64_t first = 0; first < n_.rows(); first += some_rows) {
      const int64_t rows = std::min(some_rows, n_.rows() - first);
      const void* const dgates = dgates_x_.Row(first);
      RNN_OPS_RETURN_IF_ERROR(call_.Multiply({rows, n_.I, n_.H, n_.G}, {dgates, columns, n_.H},
                                             Transposed(args_.in.kernel, columns, n_.H),
                                             {masked_dx, math_, Result::kSet, n_.I, rows * n_.I}));
      elementwise::SumMasked sum = {};
      sum.from = masked_dx;
      sum.masks = args_.in.input_mask;
      sum.to = At(dx, p_.dtype, first * n_.I);
      sum.steps = StepsFrom(p_, args_.in.lengths, first);
      sum.rows = rows;
      sum.width = n_.I;
      sum.gates = static_cast<int>(n_.G);
      sum.element = ElementOf(p_.dtype);
      RNN_OPS_RETURN_IF_ERROR(
          call_.Launch(KernelForMath(Kernel::sum_masked_f32, p_.dtype), rows, n_.I, sum));
      const MaskedCopy copy = {At(x, p_.dtype, first * n_.I), masked_x, rows, rows, 0, sum.steps};
      RNN_OPS_RETURN_IF_ERROR(MaskCopies(call_, p_, args_.in.input_mask, n_.G, n_.I, copy));
      RNN_OPS_RETURN_IF_ERROR(dkernel->Add({n_.I, n_.H, rows, n_.G},
                                           Transposed(masked_x, n_.I, rows * n_.I),
                                           {dgates, columns, n_.H}, columns, n_.H));
    }
    return Status();
  }

  // The h before each step, for `gates` gates with their masks, and 0 where a sequence is finished:
  // [gates, T, B, S].
  Status PreviousH(int64_t gates, const void** result) const {
    void* h = nullptr;
    RNN_OPS_RETURN_IF_ERROR(call_.Scratch("the masked h", gates * n_.rows() * n_.S, p_.dtype, &h));
    *result = h;
    const void* const masks = p_.recurrent_masked ? args_.in.recurrent_mask : nullptr;
    const int32_t* const lengths = args_.in.lengths;
    const int64_t rest = n_.rows() - n_.B;
    RNN_OPS_RETURN_IF_ERROR(
        MaskCopies(call_, p_, masks, gates, n_.S,
                   {args_.in.h0, h, n_.B, n_.rows(), 0, StepsFrom(p_, lengths, 0)}));
    return MaskCopies(call_, p_, masks, gates, n_.S,
                      {y_.data, h, rest, n_.rows(), n_.B, StepsFrom(p_, lengths, n_.B)});
  }

  // dR = h_prev' dgates; the columns of GruResetBefore's candidate are m' dgates. dP = m' dh.
  Status Recurrent() const {
    const int64_t gates = n_.gates_of_h(), columns = n_.columns();
    WeightGradient drecurrent(call_, p_.dtype, args_.drecurrent_kernel, n_.S * columns);
    const bool copies_h = p_.recurrent_masked || args_.in.lengths != nullptr;
    RNN_OPS_RETURN_IF_ERROR(drecurrent.Begin(/*in_parts=*/!copies_h && n_.T > 1));
    if (p_.recurrent_masked) {
      const void* h = nullptr;
      RNN_OPS_RETURN_IF_ERROR(PreviousH(gates, &h));
      RNN_OPS_RETURN_IF_ERROR(drecurrent.Add({n_.S, n_.H, n_.rows(), gates},
                                             Transposed(h, n_.S, n_.rows() * n_.S),
                                             {dgates_h_.data, columns, n_.H}, columns, n_.H));
    } else if (args_.in.lengths != nullptr) {
      const void* h = nullptr;
      RNN_OPS_RETURN_IF_ERROR(PreviousH(1, &h));
      RNN_OPS_RETURN_IF_ERROR(drecurrent.Add({n_.S, gates * n_.H, n_.rows()}, Transposed(h, n_.S),
                                             {dgates_h_.data, columns}, columns));
    } else {
      RNN_OPS_RETURN_IF_ERROR(drecurrent.AddSteps({n_.S, gates * n_.H, n_.B}, n_.rows(),
                                                  args_.in.h0, y_.data, {dgates_h_.data, columns}));
    }
    if (n_.reset_before) {
      const int64_t candidate = 2 * n_.H;
      RNN_OPS_RETURN_IF_ERROR(drecurrent.AddAt(candidate, {n_.H, n_.H, n_.rows()},
                                               Transposed(m_.data, n_.H),
                                               {dgates_x_.Row(0, candidate), columns}, columns));
    }
    RNN_OPS_RETURN_IF_ERROR(drecurrent.End());
    if (p_.num_proj == 0) return Status();
    return call_.Multiply({n_.H, n_.S, n_.rows()}, Transposed(m_.data, n_.H), {dproj_.data, n_.S},
                          {args_.dprojection, p_.dtype, Result::kSet});
  }

  Status Sums() const {
    const int64_t columns = n_.columns(), H = n_.H;
    RowSums sums(call_, p_, args_.in.lengths);
    RNN_OPS_RETURN_IF_ERROR(sums.Allocate(columns));
    const void* const of_sums = p_.has_layer_norm ? dsums_.data : dgates_x_.data;
    const bool wide = p_.has_layer_norm;
    if (p_.bias_rows > 0) {
      RNN_OPS_RETURN_IF_ERROR(sums.Add({args_.dbias, columns, of_sums, wide, columns}));
    }
    if (p_.bias_rows > 1) {
      RNN_OPS_RETURN_IF_ERROR(
          sums.Add({At(args_.dbias, p_.dtype, columns), columns, dgates_h_.data, false, columns}));
    }
    if (p_.has_peepholes) RNN_OPS_RETURN_IF_ERROR(PeepholeSums(sums));
    if (!p_.has_layer_norm) return Status();
    const auto block = [&](int64_t row) { return At(args_.dlayer_norm, p_.dtype, row * H); };
    const int64_t saved = n_.saved * H;
    const auto of = [&](void* to, const void* b, int stat) {
      return sums.Add({to, columns, dsums_.data, true, columns, b, saved, stats_.Row(0, stat)});
    };
    RNN_OPS_RETURN_IF_ERROR(of(block(kGammaX), gates_.data, elementwise::kMeanX));
    RNN_OPS_RETURN_IF_ERROR(of(block(kGammaH), gates_.Row(0, columns), elementwise::kMeanH));
    for (int64_t row : {kBetaX, kBetaH}) {
      RNN_OPS_RETURN_IF_ERROR(sums.Add({block(row), columns, dsums_.data, true, columns}));
    }
    RNN_OPS_RETURN_IF_ERROR(
        sums.Add({block(kGammaC), H, dc_scaled_.data, true, H, c_unit_.data, H}));
    return sums.Add({block(kBetaC), H, dc_scaled_.data, true, H});
  }

  // c_prev times the gradients of i and f, and c times that of o.
  Status PeepholeSums(const RowSums& sums) const {
    const int64_t H = n_.H;
    const struct {
      int64_t gate;
      const void* c;
    } parts[] = {{0, c_.data}, {1, c_.data}, {3, c_.Row(n_.B)}};
    for (int64_t k = 0; k < 3; ++k) {
      RNN_OPS_RETURN_IF_ERROR(
          sums.Add({At(args_.dpeepholes, p_.dtype, k * H), H, dgates_x_.Row(0, parts[k].gate * H),
                    false, n_.columns(), parts[k].c, H}));
    }
    return Status();
  }

  template <typename Args>
  Status Launch(Kernel kernel, int64_t columns, const Args& args) const {
    return call_.Launch(KernelForMath(kernel, p_.dtype), n_.B, columns, args);
  }

  const ProductCall& call_;
  const LayerBackwardArgs& args_;
  const LayerProblem& p_;
  const LayerSizes n_;
  const Dtype math_;
  PersistentSteps persistent_;
  elementwise::LayerBackStep step_ = {};  // what all steps share
  // In the reserve space: [T, B, saved*H] and [T + 1, B, H].
  Buffer gates_{nullptr, math_, n_.saved * n_.H};
  Buffer c_{nullptr, math_, n_.H};
  // [T, B, S]
  ConstBuffer dy_{nullptr, p_.dtype, n_.S};
  ConstBuffer y_{nullptr, p_.dtype, n_.S};
  // [T, B, G*H]; the same memory if the gradients of both products are equal
  Buffer dgates_x_{nullptr, p_.dtype, n_.columns()};
  Buffer dgates_h_{nullptr, p_.dtype, n_.columns()};
  Buffer dh_{nullptr, math_, n_.S};        // [products, B, S]
  Buffer m_{nullptr, p_.dtype, n_.H};      // the second factor, [T, B, H]
  Buffer dm_{nullptr, math_, n_.H};        // [B, H]
  Buffer dproj_{nullptr, p_.dtype, n_.S};  // [T, B, P]
  // For layer normalization, [T, B, ...].
  Buffer dsums_{nullptr, math_, n_.columns()};
  Buffer c_unit_{nullptr, math_, n_.H};
  Buffer dc_scaled_{nullptr, math_, n_.H};
  Buffer stats_{nullptr, math_, elementwise::kStats};
};

}  // namespace

Status BackwardLayer(const ProductCall& call, const LayerBackwardArgs& args) {
  return BackwardSteps(call, args).Run();
}

Status RunLayerBackward(const ProductLibraries& libraries, const LayerBackwardArgs& args,
                        DeviceAllocator* allocator, void* stream) {
  const LayerProblem& p = args.problem;
  const LayerSizes n(p);
  ProductCall call(libraries, p.dtype, p.allow_tf32, allocator, stream);
  RNN_OPS_RETURN_IF_ERROR(call.Enter());
  if (n.rows() > 0) RNN_OPS_RETURN_IF_ERROR(call.PrepareProducts());
  if (n.B > 0) RNN_OPS_RETURN_IF_ERROR(BackwardLayer(call, args));
  if (n.rows() > 0) return Status();
  RNN_OPS_RETURN_IF_ERROR(call.Zero(args.dkernel, n.I * n.columns()));
  RNN_OPS_RETURN_IF_ERROR(call.Zero(args.drecurrent_kernel, n.S * n.columns()));
  RNN_OPS_RETURN_IF_ERROR(call.Zero(args.dbias, p.bias_rows * n.columns()));
  RNN_OPS_RETURN_IF_ERROR(call.Zero(args.dprojection, n.H * p.num_proj));
  RNN_OPS_RETURN_IF_ERROR(call.Zero(args.dpeepholes, p.has_peepholes ? 3 * n.H : 0));
  return call.Zero(args.dlayer_norm, p.has_layer_norm ? kLayerNormRows * n.H : 0);
}

}  // namespace rnn_ops::gpu
