#include "tests/cc/cpu/kernel_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cc/core/runtime/float_environment.h"
#include "cc/cpu/call/op_run.h"
#include "gtest/gtest.h"
#include "tests/cc/cpu/narrow_bits.h"
#include "tests/cc/cpu/problem_line.h"

namespace rnn_ops::cpu::testing {
namespace {

template <typename T>
void Write(const Vec& from, unsigned char* to) {
  for (double v : from) {
    const T value = static_cast<T>(v);
    std::memcpy(to, &value, sizeof(T));
    to += sizeof(T);
  }
}

void ToBytes(Dtype dtype, const Vec& from, unsigned char* to) {
  if (dtype == kFloat64) return Write<double>(from, to);
  if (dtype == kFloat32) return Write<float>(from, to);
  for (double v : from) {
    const uint16_t bits = dtype == kFloat16 ? HalfBits(v) : BFloat16Bits(v);
    std::memcpy(to, &bits, 2);
    to += 2;
  }
}

double FromBytes(Dtype dtype, const unsigned char* from) {
  double d;
  float f;
  uint16_t bits;
  switch (dtype) {
    case kFloat64:
      return std::memcpy(&d, from, 8), d;
    case kFloat32:
      return std::memcpy(&f, from, 4), f;
    default:
      std::memcpy(&bits, from, 2);
      return dtype == kFloat16 ? HalfValue(bits) : BFloat16Value(bits);
  }
}

// int8 weights are the only tensors of another type than the problem's.
void ToInt8(const Vec& from, unsigned char* to) {
  std::transform(from.begin(), from.end(), to,
                 [](double v) { return static_cast<unsigned char>(static_cast<int8_t>(v)); });
}

int64_t Bytes(Dtype dtype) { return dtype == kFloat64 ? 8 : dtype == kFloat32 ? 4 : 2; }

// Generates the random values of a problem, tensor by tensor.
class Draw {
 public:
  Draw(Dtype dtype, uint64_t seed) : dtype_(dtype), seed_(seed) {}

  Vec Uniform(const char* tensor, double scale, int64_t n) const {
    Vec v(n);
    for (int64_t k = 0; k < n; ++k) {
      const double unit = static_cast<double>(ProblemWord(seed_, tensor, k) >> 11) * 0x1p-53;
      v[k] = RoundTo(dtype_, scale * (2 * unit - 1));
    }
    return v;
  }

  // All values of int8.
  Vec Integers(const char* tensor, int64_t n) const {
    Vec v(n);
    for (int64_t k = 0; k < n; ++k) {
      v[k] = static_cast<double>(ProblemWord(seed_, tensor, k) >> 56) - 128;
    }
    return v;
  }

  // The scales of columns of int8, such that no weight is larger than `weight`.
  Vec Scales(const char* tensor, double weight, int64_t n) const {
    Vec v(n);
    for (int64_t k = 0; k < n; ++k) {
      const double unit = static_cast<double>(ProblemWord(seed_, tensor, k) >> 11) * 0x1p-53;
      v[k] = RoundTo(dtype_, weight / 256 * (1 + unit));
    }
    return v;
  }

  // Like a mask of dropout. The factors of kept elements do not depend on the rate, and each factor
  // is exact in every dtype.
  Vec Mask(const char* tensor, double rate, int64_t n) const {
    constexpr double kFactors[] = {0, 0, 0.75, 1, 1.5};
    Vec v(n);
    for (int64_t k = 0; k < n; ++k) {
      const uint64_t word = ProblemWord(seed_, tensor, k);
      const bool kept = static_cast<double>(word >> 11) * 0x1p-53 >= rate;
      v[k] = rate == 0 ? kFactors[word % 5] : kept ? RoundTo(dtype_, 1 / (1 - rate)) : 0;
    }
    return v;
  }

 private:
  Dtype dtype_;
  uint64_t seed_;
};

// Transposes [a, b, inner] to [b, a, inner].
Vec Transposed(const Vec& v, int64_t a, int64_t b) {
  Vec out(v.size());
  const int64_t inner = a * b == 0 ? 0 : static_cast<int64_t>(v.size()) / (a * b);
  for (int64_t i = 0; i < a; ++i) {
    for (int64_t j = 0; j < b; ++j) {
      for (int64_t k = 0; k < inner; ++k) {
        out[(j * a + i) * inner + k] = v[(i * b + j) * inner + k];
      }
    }
  }
  return out;
}

// Whether the argument belongs to the weights that are packed.
bool IsWeight(Arg arg) {
  return arg == Arg::params || arg == Arg::kernel || arg == Arg::recurrent_kernel ||
         arg == Arg::bias || arg == Arg::projection || arg == Arg::kernel_scale ||
         arg == Arg::recurrent_kernel_scale || arg == Arg::projection_scale;
}

// Whether the argument is a matrix of int8 weights or the scales of one.
bool IsInt8Matrix(Arg arg) {
  return arg == Arg::kernel || arg == Arg::recurrent_kernel || arg == Arg::projection;
}
bool IsScale(Arg arg) {
  return arg == Arg::kernel_scale || arg == Arg::recurrent_kernel_scale ||
         arg == Arg::projection_scale;
}

// Calls a kernel in the same way as an op: the calling thread and its worker threads flush denormal
// numbers. The setting applies only to the call, so that comparisons see denormal numbers.
template <typename Kernel, typename Args>
int32_t Call(Kernel kernel, const Args& args) {
  const ScopedFloatEnvironment environment;
  return kernel(&args);
}

}  // namespace

using R = RnnValues;
const Fields<R> kRnnInputs = {
    {Arg::input, &R::x},
    {Arg::input_h, &R::h0},
    {Arg::input_c, &R::c0},
    {Arg::params, &R::params},
    {Arg::kernel, &R::kernel},
    {Arg::recurrent_kernel, &R::recurrent_kernel},
    {Arg::bias, &R::bias},
    {Arg::projection, &R::projection},
    {Arg::kernel_scale, &R::kernel_scale},
    {Arg::recurrent_kernel_scale, &R::recurrent_kernel_scale},
    {Arg::projection_scale, &R::projection_scale},
    {Arg::peepholes, &R::peepholes},
    {Arg::layer_norm, &R::layer_norm},
    {Arg::input_mask, &R::input_mask},
    {Arg::recurrent_mask, &R::recurrent_mask},
};
const Fields<R> kRnnGradientInputs = {
    {Arg::output_backprop, &R::dy},
    {Arg::output_h_backprop, &R::dh_n},
    {Arg::output_c_backprop, &R::dc_n},
};
const Fields<R> kRnnOutputs = {
    {Arg::output, &R::y},
    {Arg::output_h, &R::h_n},
    {Arg::output_c, &R::c_n},
};
const Fields<R> kRnnGradients = {
    {Arg::input, &R::dx, "d"},
    {Arg::input_h, &R::dh0, "d"},
    {Arg::input_c, &R::dc0, "d"},
    {Arg::params, &R::dparams, "d"},
    {Arg::kernel, &R::dkernel, "d"},
    {Arg::recurrent_kernel, &R::drecurrent_kernel, "d"},
    {Arg::bias, &R::dbias, "d"},
    {Arg::projection, &R::dprojection, "d"},
    {Arg::peepholes, &R::dpeepholes, "d"},
    {Arg::layer_norm, &R::dlayer_norm, "d"},
};
using V = BlockLstmValues;
const Fields<V> kBlockInputs = {
    {Arg::x, &V::x},     {Arg::cs_prev, &V::cs_prev}, {Arg::h_prev, &V::h_prev}, {Arg::w, &V::w},
    {Arg::wci, &V::wci}, {Arg::wcf, &V::wcf},         {Arg::wco, &V::wco},       {Arg::b, &V::b},
};
const Fields<V> kBlockGradientInputs = {
    {Arg::cs_grad, &V::cs_grad},
    {Arg::h_grad, &V::h_grad},
};
const Fields<V> kBlockOutputs = {
    {Arg::i, &V::i},   {Arg::cs, &V::cs}, {Arg::f, &V::f}, {Arg::o, &V::o},
    {Arg::ci, &V::ci}, {Arg::co, &V::co}, {Arg::h, &V::h},
};
const Fields<V> kBlockGradients = {
    {Arg::x, &V::x_grad, "d"},           {Arg::cs_prev, &V::cs_prev_grad, "d"},
    {Arg::h_prev, &V::h_prev_grad, "d"}, {Arg::w, &V::w_grad, "d"},
    {Arg::wci, &V::wci_grad, "d"},       {Arg::wcf, &V::wcf_grad, "d"},
    {Arg::wco, &V::wco_grad, "d"},       {Arg::b, &V::b_grad, "d"},
};
using L = LinearValues;
const Fields<L> kLinearInputs = {
    {Arg::input, &L::input},
    {Arg::cell_input, &L::cell_input},
    {Arg::recurrent_kernel, &L::recurrent_kernel},
    {Arg::h_by_gates, &L::h_by_gates},
    {Arg::c_by_gates, &L::c_by_gates},
    {Arg::h_by_h, &L::h_by_h},
    {Arg::h_by_c, &L::h_by_c},
    {Arg::c_by_h, &L::c_by_h},
    {Arg::c_by_c, &L::c_by_c},
};
const Fields<L> kLinearOutputs = {
    {Arg::output, &L::output},
    {Arg::cell_output, &L::cell_output},
};

double RoundTo(Dtype dtype, double v) {
  switch (dtype) {
    case kFloat32:
      return static_cast<float>(v);
    case kFloat16:
      return HalfValue(HalfBits(v));
    case kBFloat16:
      return BFloat16Value(BFloat16Bits(v));
    default:
      return v;
  }
}

double Epsilon(Dtype dtype) {
  constexpr int kFractionBits[] = {23, 52, 10, 7};
  return std::ldexp(1.0, -kFractionBits[dtype]);
}

const char* DtypeName(Dtype dtype) {
  constexpr const char* kNames[] = {"float32", "float64", "float16", "bfloat16"};
  return kNames[dtype];
}

MemorySource GuardedMemory::Get() {
  return {this, [](void* context, const MemorySizes& sizes, MemoryBlocks* blocks) {
            auto& memory = *static_cast<GuardedMemory*>(context);
            EXPECT_EQ(memory.scratch_, nullptr) << "memory is asked for once";
            memory.scratch_ = std::make_unique<GuardedBuffer>(sizes.scratch_bytes, memory.fill_);
            blocks->scratch = memory.scratch_->data();
            GuardedBuffer* reserve = memory.reserve_;
            if (reserve == nullptr) {
              memory.new_reserve_ =
                  std::make_unique<GuardedBuffer>(sizes.reserve.bytes, memory.fill_);
              reserve = memory.new_reserve_.get();
            }
            blocks->reserve = reserve->data();
            return true;
          }};
}

TeamOfThreads::TeamOfThreads(int32_t num_threads) {
  // Only the thread that calls Team::For schedules work, so the vector needs no lock.
  team_ = std::make_unique<Team>(
      num_threads, [this](std::function<void()> help) { helpers_.emplace_back(std::move(help)); });
}

TeamOfThreads::~TeamOfThreads() {
  team_.reset();
  for (std::thread& helper : helpers_) helper.join();
}

ParallelFor TeamOfThreads::Get() {
  ParallelFor parallel = ParallelForOf(team_.get());
  // The costs of threads are 0 or 1, so that small problems are split too.
  parallel.threads.wake_ns = 1;
  parallel.threads.meet_ns = 0;
  return parallel;
}

std::string Describe(const RnnCase& c) { return LineOf(c.problem, c.lengths); }
std::string Describe(const BlockLstmProblem& p) { return LineOf(p); }

// Converts between time-major and batch-major. `time_major`: the present layout of the values.
RnnValues OtherLayout(const RnnCase& c, bool time_major, const RnnValues& values) {
  const RnnProblem& p = c.problem;
  RnnValues out = values;
  auto swap = [&](Vec RnnValues::* vec, int64_t n) {
    out.*vec =
        time_major ? Transposed(values.*vec, n, p.batch) : Transposed(values.*vec, p.batch, n);
  };
  for (auto vec : {&RnnValues::x, &RnnValues::y, &RnnValues::dy, &RnnValues::dx}) {
    swap(vec, p.max_time);
  }
  for (auto vec : {&RnnValues::h0, &RnnValues::c0, &RnnValues::h_n, &RnnValues::c_n,
                   &RnnValues::dh0, &RnnValues::dc0, &RnnValues::dh_n, &RnnValues::dc_n}) {
    swap(vec, p.num_pseudo_layers());
  }
  return out;
}

template <typename Values>
ElementType Run<Values>::TypeOfInput(Arg arg) const {
  if (int8_weights_ && IsInt8Matrix(arg)) return ElementType::kInt8;
  if (int8_weights_ && IsScale(arg)) return ElementType::kFloat32;
  return TypeOf(dtype_);
}

template <typename Values>
void Run<Values>::Provide(const Fields<Values>& fields) {
  for (const auto& field : fields) {
    const Vec& from = values.*field.vec;
    const bool int8 = TypeOfInput(field.arg) == ElementType::kInt8;
    const Dtype dtype = TypeOfInput(field.arg) == ElementType::kFloat32 ? kFloat32 : dtype_;
    auto buffer = std::make_unique<GuardedBuffer>(from.size() * (int8 ? 1 : Bytes(dtype)), 0);
    int8 ? ToInt8(from, buffer->data()) : ToBytes(dtype, from, buffer->data());
    auto bytes = buffer->Copy();
    tensors_.push_back({field.vec, field.name(), std::move(buffer), std::move(bytes), true});
  }
}

// The sizes are the sizes of the fields in `values`.
template <typename Values>
void Run<Values>::ProvideOutputs(const Fields<Values>& fields) {
  for (const auto& field : fields) {
    auto buffer =
        std::make_unique<GuardedBuffer>((values.*field.vec).size() * Bytes(dtype_), options_.fill);
    tensors_.push_back({field.vec, field.name(), std::move(buffer), {}, false});
  }
}

template <typename Values>
void* Run<Values>::At(Vec Values::* vec) {
  // The last buffer of the field, because a second backward pass has new outputs.
  for (auto t = tensors_.rbegin(); t != tensors_.rend(); ++t) {
    if (t->vec == vec) return t->buffer->data();
  }
  return nullptr;
}

template <typename Values>
void Run<Values>::SetInputs(const Fields<Values>& fields, CallTensors* tensors) {
  for (const auto& field : fields) {
    const int64_t n = static_cast<int64_t>((values.*field.vec).size());
    if (n > 0) tensors->SetInput(field.arg, At(field.vec), TypeOfInput(field.arg), n);
  }
}

// XLA may pass an address for a tensor without elements. TensorFlow passes null.
template <typename Values>
void Run<Values>::SetOutputs(const Fields<Values>& fields, CallTensors* tensors) {
  for (const auto& field : fields) {
    tensors->SetOutput(field.arg, At(field.vec), TypeOf(dtype_),
                       static_cast<int64_t>((values.*field.vec).size()));
  }
}

template <typename Values>
void Run<Values>::Collect(const Fields<Values>& outputs, const std::string& what) {
  for (Tensor& t : tensors_) {
    EXPECT_TRUE(t.buffer->GuardsIntact()) << what << " wrote beyond " << t.name;
    if (t.input) {
      EXPECT_TRUE(t.buffer->Copy() == t.before) << what << " wrote to its input " << t.name;
    }
  }
  for (const auto& field : outputs) {
    const auto* from = static_cast<const unsigned char*>(At(field.vec));
    bool written = true;
    for (double& v : values.*field.vec) {
      v = FromBytes(dtype_, from);
      from += Bytes(dtype_);
      written = written && !std::isnan(v);
    }
    if (options_.fill == 0xFF && !options_.expect_nan) {
      EXPECT_TRUE(written) << what << " left NaN in " << field.name();
    }
  }
  // The outputs of this pass are inputs of the next pass.
  for (Tensor& t : tensors_) {
    t.before = t.buffer->Copy();
    t.input = true;
  }
}

template <typename Values>
template <typename Args>
void Run<Values>::Compute(int32_t (*kernel)(const Args*), Args a) {
  TeamOfThreads team(options_.num_threads);
  GuardedMemory memory(options_.fill);
  a.parallel = team.Get();
  a.memory = memory.Get();
  EXPECT_EQ(Call(kernel, a), kDone);
  EXPECT_TRUE(memory.GuardsIntact()) << "the kernel wrote beyond its scratch";
}

template class Run<RnnValues>;
template class Run<BlockLstmValues>;
template class Run<LinearValues>;

RnnRun::RnnRun(const KernelTable& table, const RnnCase& c, const RnnValues& inputs,
               const RunOptions& options)
    : Run(c.problem.dtype, inputs, options, c.problem.int8_weights), table_(table), case_(c) {
  const reference::RnnElements n = reference::ElementsOf(c.problem);
  values.y.assign(n.y, 0), values.h_n.assign(n.h, 0), values.c_n.assign(n.c, 0);
  values.dx.assign(n.x, 0), values.dh0.assign(n.h, 0), values.dc0.assign(n.c, 0);
  values.dparams.assign(n.params, 0);
  values.dkernel.assign(n.kernel, 0), values.drecurrent_kernel.assign(n.recurrent_kernel, 0);
  values.dbias.assign(n.bias, 0);
  values.dprojection.assign(n.projection, 0), values.dpeepholes.assign(n.peepholes, 0);
  values.dlayer_norm.assign(n.layer_norm, 0);
  Provide(kRnnInputs);
  Provide(kRnnGradientInputs);
}

int32_t RnnRun::Forward() { return Forward(/*packed=*/nullptr); }

int32_t RnnRun::ForwardPacked() {
  CallTensors tensors;
  RnnArgs a = {};
  a.tensors = &tensors;
  a.problem = case_.problem;
  // The shape of the input and its lengths must have no effect.
  a.problem.max_time = a.problem.batch = -1;
  a.problem.lengths = {nullptr, -1};
  GuardedBuffer packed(table_.rnn_packed_format(&a.problem).bytes, options_.fill);
  GuardedMemory memory(options_.fill);
  TeamOfThreads team(options_.num_threads);
  a.parallel = team.Get();
  a.memory = memory.Get();
  for (const auto& field : kRnnInputs) {
    if (IsWeight(field.arg)) SetInputs({field}, &tensors);
  }
  a.panels = packed.data();
  NoteExecuted(table_, CodeOf(table_, a.problem));
  EXPECT_EQ(Call(table_.rnn_pack, a), kDone);
  EXPECT_TRUE(memory.GuardsIntact()) << "packing wrote beyond its scratch";
  EXPECT_TRUE(packed.GuardsIntact()) << "packing wrote beyond its result";
  packed_bytes_ = packed.Copy();
  const int32_t result = Forward(packed.data());
  EXPECT_TRUE(packed.Copy() == packed_bytes_) << "forward wrote to the packed weights";
  return result;
}

int32_t RnnRun::Forward(void* packed) {
  ProvideOutputs(kRnnOutputs);
  CallTensors tensors;
  RnnArgs a = {};
  a.tensors = &tensors;
  RnnProblem& p = a.problem = case_.problem;
  p.lengths = reference::LengthsOf(case_.lengths);
  p.weights_packed = packed != nullptr;
  TeamOfThreads team(options_.num_threads);
  GuardedMemory memory(options_.fill);
  a.parallel = team.Get();
  a.memory = memory.Get();
  SetInputs(kRnnInputs, &tensors);
  SetOutputs(kRnnOutputs, &tensors);
  a.panels = packed;
  for (const auto& field : kRnnInputs) {
    const bool read = field.arg == Arg::bias && p.has_layer_norm;
    if (packed != nullptr && IsWeight(field.arg) && !read) {
      tensors.SetInput(field.arg, nullptr, ElementType::kOther, 0);
    }
  }
  NoteExecuted(table_, CodeOf(table_, p));
  int32_t result;
  if (options_.kept_plan) {
    result = RunKeptPlan(a);
  } else {
    result = Call(table_.rnn_forward, a);
    reserve_ = memory.TakeNewReserve();
  }
  EXPECT_TRUE(memory.GuardsIntact()) << "forward wrote beyond its scratch";
  EXPECT_TRUE(reserve_->GuardsIntact()) << "forward wrote beyond the reserve space";
  Collect(kRnnOutputs, "forward");
  return result;
}

int32_t RnnRun::RunKeptPlan(const RnnArgs& args) {
  std::unique_ptr<GuardedBuffer> plan;
  {
    // Copies of everything that the last run has elsewhere.
    RnnArgs first = args;
    CallTensors tensors = *args.tensors;
    first.tensors = &tensors;
    std::vector<std::unique_ptr<GuardedBuffer>> copies;
    auto copy = [&](const void* data, int64_t bytes) -> void* {
      copies.push_back(std::make_unique<GuardedBuffer>(bytes, options_.fill));
      if (data != nullptr) std::memcpy(copies.back()->data(), data, bytes);
      return copies.back()->data();
    };
    auto bytes_of = [](ElementType type, int64_t elements) {
      return elements * (type == ElementType::kInt8      ? 1
                         : type == ElementType::kFloat64 ? 8
                         : type == ElementType::kFloat32 ? 4
                                                         : 2);
    };
    for (int k = 0; k < kNumArgs; ++k) {
      const Arg arg = static_cast<Arg>(k);
      const CallTensors& t = *args.tensors;
      if (const int64_t n = t.in_elements(arg); n > 0) {
        const int64_t bytes = bytes_of(t.in_type(arg), n);
        tensors.SetInput(arg, copy(t.in(arg), bytes), t.in_type(arg), n);
      }
      if (const int64_t n = t.out_elements(arg); n > 0) {
        const int64_t bytes = bytes_of(t.out_type(arg), n);
        tensors.SetOutput(arg, copy(nullptr, bytes), t.out_type(arg), n);
      }
    }
    const std::vector<int32_t> lengths = case_.lengths;
    first.problem.lengths.steps = lengths.data();
    if (args.panels != nullptr) {
      first.panels = copy(args.panels, table_.rnn_packed_format(&args.problem).bytes);
    }
    first.parallel.threads.count = 1 + options_.num_threads % 8;
    const MemorySizes sizes = table_.rnn_plan_size(&first);
    plan = std::make_unique<GuardedBuffer>(sizes.scratch_bytes, options_.fill);
    reserve_ = std::make_unique<GuardedBuffer>(sizes.reserve.bytes, options_.fill);
    GuardedBuffer reserve(sizes.reserve.bytes, options_.fill);
    table_.rnn_plan_init(&first, plan->data());
    first.parallel.threads = args.parallel.threads;
    EXPECT_EQ(
        Call([&](auto* a) { return table_.rnn_plan_run(a, plan->data(), reserve.data()); }, first),
        kDone);
    EXPECT_TRUE(reserve.GuardsIntact()) << "forward wrote beyond the reserve space";
    for (const auto& buffer : copies) EXPECT_TRUE(buffer->GuardsIntact());
  }
  const int32_t result =
      Call([&](auto* a) { return table_.rnn_plan_run(a, plan->data(), reserve_->data()); }, args);
  EXPECT_TRUE(plan->GuardsIntact()) << "forward wrote beyond its plan";
  return result;
}

void RnnRun::SetOutput(const Vec& y) {
  values.y = y;
  Provide({{Arg::output, &RnnValues::y}});
}

void RnnRun::OverwriteReserve(unsigned char byte) {
  std::memset(reserve_->data(), byte, reserve_->size());
}

std::vector<unsigned char> RnnRun::ReserveBytes() const { return reserve_->Copy(); }

int32_t RnnRun::Backward(const KernelTable& table, const RnnCase& c) {
  ProvideOutputs(kRnnGradients);
  CallTensors tensors;
  RnnArgs a = {};
  a.tensors = &tensors;
  a.problem = c.problem;
  a.problem.lengths = reference::LengthsOf(c.lengths);
  // The backward pass must read the key from the reserve space.
  a.problem.dropout_key[0] = 12345;
  a.problem.dropout_key[1] = 67890;
  TeamOfThreads team(options_.num_threads);
  GuardedMemory memory(options_.fill, reserve_.get());
  a.parallel = team.Get();
  a.memory = memory.Get();
  const std::vector<unsigned char> reserve_before = reserve_->Copy();
  SetInputs(kRnnInputs, &tensors);
  SetInputs(kRnnGradientInputs, &tensors);
  SetInputs(kRnnOutputs, &tensors);
  SetOutputs(kRnnGradients, &tensors);
  NoteExecuted(table, CodeOf(table, a.problem));
  const int32_t result = Call(table.rnn_backward, a);
  EXPECT_TRUE(memory.GuardsIntact()) << "backward wrote beyond its scratch";
  EXPECT_TRUE(reserve_->GuardsIntact() && reserve_->Copy() == reserve_before)
      << "backward wrote to the reserve space";
  if (result == kDone) Collect(kRnnGradients, "backward");
  return result;
}

BlockLstmRun::BlockLstmRun(const KernelTable& table, const BlockLstmProblem& p,
                           const BlockLstmValues& inputs, const RunOptions& options)
    : Run(p.dtype, inputs, options), table_(table), problem_(p) {
  for (const auto& out : kBlockOutputs) {
    (values.*out.vec).assign(p.max_time * p.batch * p.num_units, 0);
  }
  const auto like = [&](Vec V::* out, Vec V::* in) {
    (values.*out).assign((inputs.*in).size(), 0);
  };
  like(&V::x_grad, &V::x), like(&V::w_grad, &V::w), like(&V::b_grad, &V::b);
  like(&V::cs_prev_grad, &V::cs_prev), like(&V::h_prev_grad, &V::h_prev);
  like(&V::wci_grad, &V::wci), like(&V::wcf_grad, &V::wcf), like(&V::wco_grad, &V::wco);
  Provide(kBlockInputs);
  Provide(kBlockGradientInputs);
}

void BlockLstmRun::Forward() {
  ProvideOutputs(kBlockOutputs);
  CallTensors tensors;
  BlockLstmArgs a = {};
  a.tensors = &tensors;
  a.problem = problem_;
  SetInputs(kBlockInputs, &tensors);
  Run::SetOutputs(kBlockOutputs, &tensors);
  Compute(table_.block_lstm_forward, a);
  Collect(kBlockOutputs, "forward");
}

void BlockLstmRun::SetOutputs(const BlockLstmValues& from) {
  for (const auto& field : kBlockOutputs) values.*field.vec = from.*field.vec;
  Provide(kBlockOutputs);
}

void BlockLstmRun::Backward() {
  ProvideOutputs(kBlockGradients);
  CallTensors tensors;
  BlockLstmArgs a = {};
  a.tensors = &tensors;
  a.problem = problem_;
  for (const auto* fields : {&kBlockInputs, &kBlockOutputs, &kBlockGradientInputs}) {
    SetInputs(*fields, &tensors);
  }
  Run::SetOutputs(kBlockGradients, &tensors);
  Compute(table_.block_lstm_backward, a);
  Collect(kBlockGradients, "backward");
}

LinearRun::LinearRun(const KernelTable& table, const LinearRecurrenceProblem& p,
                     const LinearValues& inputs, const RunOptions& options)
    : Run(p.dtype, inputs, options), table_(table), problem_(p) {
  values.output.assign(inputs.input.size(), 0);
  values.cell_output.assign(inputs.cell_input.size(), 0);
  Provide(kLinearInputs);
}

void LinearRun::Compute() {
  ProvideOutputs(kLinearOutputs);
  CallTensors tensors;
  LinearRecurrenceArgs a = {};
  a.tensors = &tensors;
  a.problem = problem_;
  SetInputs(kLinearInputs, &tensors);
  SetOutputs(kLinearOutputs, &tensors);
  Run::Compute(table_.linear_recurrence, a);
  Collect(kLinearOutputs, "recurrence");
}

RnnValues RandomInputs(const RnnCase& c, uint64_t seed) {
  const RnnProblem& p = c.problem;
  const reference::RnnElements n = reference::ElementsOf(p);
  const Draw draw(p.dtype, seed);
  const double weight = 1.5 / std::sqrt(static_cast<double>(std::max(p.input_size, p.num_units)));
  RnnValues v;
  v.params = draw.Uniform("params", weight, n.params);
  const auto matrix = [&](const char* name, int64_t elements) {
    return p.int8_weights ? draw.Integers(name, elements) : draw.Uniform(name, weight, elements);
  };
  v.kernel = matrix("kernel", n.kernel);
  v.recurrent_kernel = matrix("recurrent_kernel", n.recurrent_kernel);
  v.bias = draw.Uniform("bias", weight, n.bias);
  v.projection = matrix("projection", n.projection);
  v.kernel_scale = draw.Scales("kernel_scale", weight, n.kernel_scale);
  v.recurrent_kernel_scale =
      draw.Scales("recurrent_kernel_scale", weight, n.recurrent_kernel_scale);
  v.projection_scale = draw.Scales("projection_scale", weight, n.projection_scale);
  v.peepholes = draw.Uniform("peepholes", 1, n.peepholes);
  v.layer_norm = draw.Uniform("layer_norm", 1, n.layer_norm);
  // If there are masks, the rate of dropout is the rate of the masks.
  v.input_mask = draw.Mask("input_mask", p.dropout, n.input_mask);
  v.recurrent_mask = draw.Mask("recurrent_mask", p.dropout, n.recurrent_mask);
  v.x = draw.Uniform("x", 2, n.x);
  v.h0 = draw.Uniform("h0", 1, n.h), v.dh_n = draw.Uniform("dh_n", 1, n.h);
  v.c0 = draw.Uniform("c0", 1, n.c), v.dc_n = draw.Uniform("dc_n", 1, n.c);
  v.dy = draw.Uniform("dy", 1, n.y);
  return p.time_major ? v : OtherLayout(c, true, v);
}

BlockLstmValues RandomInputs(const BlockLstmProblem& p, uint64_t seed) {
  const Draw draw(p.dtype, seed);
  const int64_t rows = p.max_time * p.batch, I = p.input_size, H = p.num_units;
  const double weight = 1.5 / std::sqrt(static_cast<double>(I + H));
  BlockLstmValues v;
  v.w = draw.Uniform("w", weight, (I + H) * 4 * H);
  v.b = draw.Uniform("b", weight, 4 * H);
  v.wci = draw.Uniform("wci", 1, H);
  v.wcf = draw.Uniform("wcf", 1, H);
  v.wco = draw.Uniform("wco", 1, H);
  v.x = draw.Uniform("x", 2, rows * I);
  v.cs_prev = draw.Uniform("cs_prev", 1, p.batch * H);
  v.h_prev = draw.Uniform("h_prev", 1, p.batch * H);
  v.cs_grad = draw.Uniform("cs_grad", 1, rows * H);
  v.h_grad = draw.Uniform("h_grad", 1, rows * H);
  return v;
}

LinearValues RandomInputs(const LinearRecurrenceProblem& p, bool has_states, uint64_t seed) {
  const Draw draw(p.dtype, seed);
  const int64_t cells = p.max_time * p.batch * p.num_units, H = p.num_units;
  const bool has_c = p.num_states > 1;
  const double weight = 1.5 / std::sqrt(static_cast<double>(H));
  const auto slope = [&](const char* name, bool given, int64_t n) {
    return given ? draw.Uniform(name, 0.5, n) : Vec();
  };
  LinearValues v;
  v.input = draw.Uniform("input", 1, cells);
  if (has_c) v.cell_input = draw.Uniform("cell_input", 1, cells);
  v.recurrent_kernel = draw.Uniform("recurrent_kernel", weight, H * p.num_gates * H);
  v.h_by_gates = slope("h_by_gates", p.has_gates, p.num_gates * cells);
  v.c_by_gates = slope("c_by_gates", p.has_gates && has_c, p.num_gates * cells);
  v.h_by_h = slope("h_by_h", has_states, cells);
  v.h_by_c = slope("h_by_c", has_states && has_c, cells);
  v.c_by_h = slope("c_by_h", has_states && has_c, cells);
  v.c_by_c = slope("c_by_c", has_states && has_c, cells);
  return v;
}

template <typename Values>
double ExpectNear(const Fields<Values>& fields, const Values& got, const Values& want,
                  double tolerance) {
  double largest = 0;
  for (const auto& field : fields) {
    const Vec& a = got.*field.vec;
    const Vec& b = want.*field.vec;
    EXPECT_EQ(a.size(), b.size()) << field.name();
    if (a.size() != b.size()) continue;
    double scale = 1, worst = 0;
    size_t where = 0;
    for (double v : b) scale = std::max(scale, std::abs(v));
    for (size_t i = 0; i < a.size(); ++i) {
      double error = std::abs(a[i] - b[i]);
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      if (error > worst) worst = error, where = i;
    }
    EXPECT_LE(worst, tolerance * scale)
        << field.name() << "[" << where << "] is " << (a.empty() ? 0 : a[where]) << " instead of "
        << (b.empty() ? 0 : b[where]);
    largest = std::max(largest, worst / scale);
  }
  return largest;
}

template <typename Values>
void ExpectSame(const Fields<Values>& fields, const Values& got, const Values& want) {
  for (const auto& field : fields) {
    const Vec& a = got.*field.vec;
    const Vec& b = want.*field.vec;
    ASSERT_EQ(a.size(), b.size()) << field.name();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::memcmp(&a[i], &b[i], sizeof(double)) == 0) continue;
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;  // with any payload
      ADD_FAILURE() << field.name() << "[" << i << "] is " << a[i] << " instead of " << b[i]
                    << ", a difference of " << a[i] - b[i];
      break;
    }
  }
}

template double ExpectNear(const Fields<RnnValues>&, const RnnValues&, const RnnValues&, double);
template double ExpectNear(const Fields<V>&, const V&, const V&, double);
template double ExpectNear(const Fields<LinearValues>&, const LinearValues&, const LinearValues&,
                           double);
template void ExpectSame(const Fields<RnnValues>&, const RnnValues&, const RnnValues&);
template void ExpectSame(const Fields<V>&, const V&, const V&);
template void ExpectSame(const Fields<LinearValues>&, const LinearValues&, const LinearValues&);

}  // namespace rnn_ops::cpu::testing
