// Packed weights from strangers: any bytes, and true ones with some bytes, the length or the
// network changed. What is refused is refused with a sentence; what is used is never read beyond
// its end.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "cc/core/param_layout.h"
#include "cc/cpu/dispatch.h"
#include "cc/cpu/kernel_table.h"
#include "cc/cpu/packed_header.h"
#include "cc/cpu/rnn_run.h"
#include "tests/robustness/fuzz/native/drawn.h"

namespace rnn_ops {
namespace fuzzing {
namespace {

using cpu::RnnProblem;

struct Network {
  RnnConfig config;
  RnnProblem problem;
  std::vector<int32_t> lengths;
};

bool Draw(FuzzedDataProvider& bytes, Network* network) {
  const bool keras = bytes.ConsumeBool();
  RnnAttrs attrs = keras ? DrawLayerAttrs(bytes) : DrawAttrs(bytes);
  attrs.is_training = false;
  Sizes s = DrawSizes(bytes);
  if (keras) s.L = 1;
  if (attrs.input_mode == InputMode::kSkip) s.I = s.H;
  const bool projects = !keras || (!attrs.has_zoneout() && bytes.ConsumeBool());
  if (attrs.mode == RnnMode::kLstm && projects) attrs.num_proj = s.P;
  if (!Accepted(MakeRnnConfig(attrs, s.L, s.H, s.I, s.T, s.B, &network->config))) return false;
  RnnProblem& p = network->problem;
  p = cpu::MakeRnnProblem(network->config, static_cast<Dtype>(bytes.ConsumeIntegralInRange(0, 3)));
  if (keras) {
    p.weight_layout = cpu::kKerasWeights;
    p.bias_rows = !bytes.ConsumeBool() ? 0 : p.mode == RnnMode::kGru ? 2 : 1;
    if (p.mode == RnnMode::kLstm && !p.has_zoneout()) {
      p.has_peepholes = bytes.ConsumeBool();
      const bool plain = p.num_proj == 0 && p.cell_clip == 0 && !p.has_peepholes;
      p.has_layer_norm = plain && bytes.ConsumeBool();
    }
  }
  for (int64_t b = 0; b < s.B; ++b) {
    network->lengths.push_back(bytes.ConsumeIntegralInRange<int32_t>(0, static_cast<int32_t>(s.T)));
  }
  p.lengths = network->lengths.data();
  return true;
}

std::unique_ptr<Memory> Numbers(FuzzedDataProvider& bytes, const RnnProblem& p, int64_t elements) {
  auto memory = std::make_unique<Memory>(elements * SizeOf(p.dtype));
  FillNumbers(bytes, p.dtype, memory.get());
  return memory;
}

// The packed weights of the network, as PackLayerRNN and PackCudnnRNNParams make them.
std::vector<unsigned char> Pack(FuzzedDataProvider& bytes, const Network& network) {
  const RnnProblem& p = network.problem;
  const int64_t gates = GatesOf(network.config.mode) * p.num_units;
  const auto params = Numbers(bytes, p, ParamsSize(network.config));
  const auto kernel = Numbers(bytes, p, p.input_size * gates);
  const auto recurrent = Numbers(bytes, p, network.config.hidden_size() * gates);
  const auto projection = Numbers(bytes, p, p.num_units * p.num_proj);
  const auto bias = Numbers(bytes, p, p.bias_rows * gates);
  const cpu::RnnPackSizes sizes = cpu::Kernels().rnn_pack_sizes(&p);
  const Memory scratch(sizes.scratch_bytes), panels(sizes.packed_bytes);
  cpu::RnnPackArgs args = {};
  args.problem = p;
  args.parallel = OneAfterTheOther(bytes.ConsumeIntegralInRange<int>(1, 3));
  args.scratch = scratch.data();
  args.params = params->data();
  args.layer.kernel = kernel->data(), args.layer.recurrent_kernel = recurrent->data();
  args.layer.bias = bias->data(), args.layer.projection = projection->data();
  args.packed = panels.data();
  Require(cpu::Kernels().rnn_pack(&args) == 0, "weights are packed");
  std::vector<unsigned char> packed(cpu::kPackedHeaderBytes + sizes.packed_bytes);
  WritePackedHeader(MakePackedHeader(p, cpu::Kernels().vector_bytes, sizes.element), packed.data());
  std::copy_n(static_cast<const unsigned char*>(panels.data()), sizes.packed_bytes,
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

// A forward call on the panels, which lie at the end of memory of exactly their size.
void RunOn(FuzzedDataProvider& bytes, const Network& network,
           const std::vector<unsigned char>& packed) {
  RnnProblem p = network.problem;
  p.weights_packed = 1;
  const RnnConfig& c = network.config;
  const int64_t states = c.num_pseudo_layers() * c.batch, rows = c.max_time * c.batch;
  const auto x = Numbers(bytes, p, rows * c.input_size);
  const auto h0 = Numbers(bytes, p, states * c.hidden_size());
  const auto c0 = Numbers(bytes, p, states * c.num_units);
  const auto y = Numbers(bytes, p, rows * c.output_size());
  const auto h_n = Numbers(bytes, p, states * c.hidden_size());
  const auto c_n = Numbers(bytes, p, states * c.num_units);
  const Memory panels(static_cast<int64_t>(packed.size()) - cpu::kPackedHeaderBytes);
  std::memcpy(panels.data(), packed.data() + cpu::kPackedHeaderBytes, panels.bytes());
  cpu::RnnForwardArgs args = {};
  args.problem = p;
  args.parallel = OneAfterTheOther(bytes.ConsumeIntegralInRange<int>(1, 3));
  args.x = x->data(), args.h0 = h0->data(), args.c0 = c0->data();
  args.y = y->data(), args.h_n = h_n->data(), args.c_n = c_n->data();
  args.packed = panels.data();
  const auto peepholes = Numbers(bytes, p, 3 * p.num_units);
  const auto layer_norm = Numbers(bytes, p, kLayerNormRows * p.num_units);
  if (p.has_peepholes) args.layer.peepholes = peepholes->data();
  if (p.has_layer_norm) args.layer.layer_norm = layer_norm->data();
  const Memory scratch(cpu::RnnForwardSizes(args).scratch_bytes);
  args.scratch = scratch.data();
  Require(cpu::RunRnnForward(args).ok(), "inference runs on packed weights");
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
  // As a tensor has it: aligned, and nothing behind it.
  const Memory tensor(static_cast<int64_t>(packed.size()));
  std::copy(packed.begin(), packed.end(), static_cast<unsigned char*>(tensor.data()));
  bool usable = false;
  const Status status =
      cpu::TakePacked(network.problem, PartialShape::Of({tensor.bytes()}), tensor.data(), &usable);
  Require(Accepted(status) || !usable, "what is refused is not used");
  Require(usable || !as_packed, "what was packed is used");
  if (usable) RunOn(bytes, network, packed);
}

}  // namespace
}  // namespace fuzzing
}  // namespace rnn_ops

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider bytes(data, size);
  rnn_ops::fuzzing::Run(bytes);
  return 0;
}
