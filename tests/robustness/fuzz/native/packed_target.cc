// Untrusted packed weights: arbitrary bytes, or valid packed weights with some changed bytes,
// another length or another network. Rejected weights must cause an error message that is a
// sentence. Accepted weights must not be read beyond their end.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "cc/core/op/param_layout.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/call/packed_header.h"
#include "cc/cpu/dispatch/dispatch.h"
#include "cc/cpu/dispatch/kernel_table.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops::fuzzing {
namespace {

using cpu::RnnProblem;

struct Network {
  RnnConfig config;
  RnnProblem problem;
  std::vector<int32_t> lengths;
};

bool Draw(FuzzedDataProvider& bytes, Network* network) {
  const bool keras = bytes.ConsumeBool();
  const bool int8 = keras && bytes.ConsumeBool();
  RnnAttrs attrs = int8    ? DrawQuantizedAttrs(bytes)
                   : keras ? DrawLayerAttrs(bytes)
                           : DrawAttrs(bytes);
  attrs.is_training = false;
  Sizes s = DrawSizes(bytes);
  if (keras) s.L = 1;
  if (attrs.input_mode == InputMode::kSkip) s.I = s.H;
  const bool projects = !keras || (!attrs.has_zoneout() && bytes.ConsumeBool());
  if (attrs.mode == RnnMode::kLstm && projects) attrs.num_proj = s.P;
  if (!Accepted(MakeRnnConfig(attrs, s.L, s.H, s.I, s.T, s.B, &network->config))) return false;
  RnnProblem& p = network->problem;
  const auto dtype = static_cast<Dtype>(bytes.ConsumeIntegralInRange(0, 3));
  p = cpu::MakeRnnProblem(network->config, int8 ? QuantizedType(dtype) : dtype);
  p.int8_weights = int8;
  if (keras) {
    p.weight_layout = cpu::kKerasWeights;
    p.bias_rows = !bytes.ConsumeBool() ? 0 : p.mode == RnnMode::kGru ? 2 : 1;
    if (p.mode == RnnMode::kLstm && !p.has_zoneout() && !int8) {
      p.has_peepholes = bytes.ConsumeBool();
      const bool plain = p.num_proj == 0 && p.cell_clip == 0 && !p.has_peepholes;
      p.has_layer_norm = plain && bytes.ConsumeBool();
    }
  }
  for (int64_t b = 0; b < s.B; ++b) {
    network->lengths.push_back(bytes.ConsumeIntegralInRange<int32_t>(0, static_cast<int32_t>(s.T)));
  }
  p.lengths = {network->lengths.data(),
               std::accumulate(network->lengths.begin(), network->lengths.end(), int64_t{0})};
  return true;
}

// The values of the tensors of a network.
class Numbers {
 public:
  Numbers(FuzzedDataProvider& bytes, Dtype dtype) : bytes_(bytes), dtype_(dtype) {}

  void Input(Arg arg, int64_t elements, CallTensors* tensors) {
    if (elements > 0) tensors->SetInput(arg, New(elements), TypeOf(dtype_), elements);
  }
  // An int8 matrix, of which all bytes are valid, and the scales of its columns.
  void Quantized(Arg matrix, Arg scale, int64_t rows, int64_t columns, CallTensors* tensors) {
    if (rows * columns == 0) return;
    tensors->SetInput(matrix, New(rows * columns, 1, kFloat32), ElementType::kInt8, rows * columns);
    tensors->SetInput(scale, New(columns, SizeOf(kFloat32), kFloat32), ElementType::kFloat32,
                      columns);
  }
  void Output(Arg arg, int64_t elements, CallTensors* tensors) {
    tensors->SetOutput(arg, New(elements), TypeOf(dtype_), elements);
  }

 private:
  void* New(int64_t elements) { return New(elements, SizeOf(dtype_), dtype_); }
  void* New(int64_t elements, int64_t size, Dtype dtype) {
    memory_.push_back(std::make_unique<Memory>(elements * size));
    FillNumbers(bytes_, dtype, memory_.back().get());
    return memory_.back()->data();
  }

  FuzzedDataProvider& bytes_;
  const Dtype dtype_;
  std::vector<std::unique_ptr<Memory>> memory_;
};

CallTensors Weights(const Network& network, Numbers* numbers) {
  const RnnProblem& p = network.problem;
  CallTensors t;
  if (p.weight_layout == cpu::kOpaqueWeights) {
    numbers->Input(Arg::params, ParamsSize(network.config), &t);
    return t;
  }
  const int64_t gates = GatesOf(network.config.mode) * p.num_units;
  const int64_t hidden = network.config.hidden_size();
  if (p.int8_weights) {
    numbers->Quantized(Arg::kernel, Arg::kernel_scale, p.input_size, gates, &t);
    numbers->Quantized(Arg::recurrent_kernel, Arg::recurrent_kernel_scale, hidden, gates, &t);
    numbers->Quantized(Arg::projection, Arg::projection_scale, p.num_units, p.num_proj, &t);
  } else {
    numbers->Input(Arg::kernel, p.input_size * gates, &t);
    numbers->Input(Arg::recurrent_kernel, hidden * gates, &t);
    numbers->Input(Arg::projection, p.num_units * p.num_proj, &t);
  }
  numbers->Input(Arg::bias, p.bias_rows * gates, &t);
  return t;
}

// The packed weights of the network, as PackLayerRNN, PackQuantizedLayerRNN and PackCudnnRNNParams
// make them.
std::vector<unsigned char> Pack(FuzzedDataProvider& bytes, const Network& network) {
  const RnnProblem& p = network.problem;
  Numbers numbers(bytes, p.dtype);
  const CallTensors weights = Weights(network, &numbers);
  const cpu::PackedFormat format = cpu::Kernels().rnn_packed_format(&p);
  const Memory panels(format.bytes);
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 3), p.dtype);
  Require(cpu::RunRnnPack(p, weights, panels.data(), &host).ok(), "weights are packed");
  std::vector<unsigned char> packed(cpu::kPackedHeaderBytes + format.bytes);
  WritePackedHeader(MakePackedHeader(p, cpu::Kernels().vector_bytes, format.element),
                    packed.data());
  std::copy_n(static_cast<const unsigned char*>(panels.data()), format.bytes,
              packed.data() + cpu::kPackedHeaderBytes);
  return packed;
}

void Mutate(FuzzedDataProvider& bytes, std::vector<unsigned char>* packed) {
  for (int edits = bytes.ConsumeIntegralInRange<int>(0, 4); edits > 0; --edits) {
    const size_t end = bytes.ConsumeBool() ? cpu::kPackedHeaderBytes : packed->size();
    const size_t at = bytes.ConsumeIntegralInRange<size_t>(0, end - 1);
    if (at < packed->size()) (*packed)[at] ^= bytes.ConsumeIntegral<uint8_t>();
  }
  if (bytes.ConsumeIntegralInRange<int>(0, 3) == 0) {
    packed->resize(bytes.ConsumeIntegralInRange<size_t>(1, packed->size() + 70));
  }
}

// Runs a forward call with `packed`. Returns its status, and whether the call used the panels.
Status RunOn(FuzzedDataProvider& bytes, const Network& network, const Memory& packed,
             bool* took_packed) {
  const RnnProblem& p = network.problem;
  const RnnConfig& c = network.config;
  const int64_t states = c.num_pseudo_layers() * c.batch, rows = c.max_time * c.batch;
  Numbers numbers(bytes, p.dtype);
  CallTensors t = Weights(network, &numbers);
  numbers.Input(Arg::input, rows * c.input_size, &t);
  numbers.Input(Arg::input_h, states * c.hidden_size(), &t);
  numbers.Output(Arg::output, rows * c.output_size(), &t);
  numbers.Output(Arg::output_h, states * c.hidden_size(), &t);
  if (p.mode == RnnMode::kLstm) {
    numbers.Input(Arg::input_c, states * c.num_units, &t);
    numbers.Output(Arg::output_c, states * c.num_units, &t);
  }
  if (p.has_peepholes) numbers.Input(Arg::peepholes, 3 * p.num_units, &t);
  if (p.has_layer_norm) numbers.Input(Arg::layer_norm, kLayerNormRows * p.num_units, &t);
  t.SetInput(Arg::packed, packed.data(), ElementType::kOther, packed.bytes());
  FuzzHost host(bytes.ConsumeIntegralInRange<int>(1, 3), p.dtype);
  host.SetPacked(&packed);
  const Status status = cpu::RunRnnForward(p, t, &host);
  *took_packed = host.took_packed();
  return status;
}

void Run(FuzzedDataProvider& bytes) {
  Network network;
  if (!Draw(bytes, &network)) return;
  std::vector<unsigned char> packed;
  bool as_packed = false;
  if (bytes.ConsumeIntegralInRange<int>(0, 4) == 0) {
    packed = bytes.ConsumeBytes<unsigned char>(bytes.ConsumeIntegralInRange<size_t>(0, 300));
  } else {
    Network other;
    const bool same = bytes.ConsumeBool();
    if (!same && !Draw(bytes, &other)) return;
    packed = Pack(bytes, same ? network : other);
    const std::vector<unsigned char> before = packed;
    Mutate(bytes, &packed);
    as_packed = same && packed == before;
  }
  // A copy with the properties of a tensor: aligned, and without memory behind it.
  const Memory tensor(static_cast<int64_t>(packed.size()));
  std::copy(packed.begin(), packed.end(), static_cast<unsigned char*>(tensor.data()));
  bool took_packed = false;
  const bool accepted = Accepted(RunOn(bytes, network, tensor, &took_packed));
  Require(accepted || !took_packed, "what is refused is not used");
  Require(took_packed || !as_packed, "what was packed is used");
}

}  // namespace
}  // namespace rnn_ops::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  rnn_ops::fuzzing::Run(bytes);
  return 0;
}
