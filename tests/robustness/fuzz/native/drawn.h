// Helpers of the fuzz targets: problems generated from bytes, memory with exactly the size of a
// tensor, and the failure of a property.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>
#include <sanitizer/asan_interface.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::fuzzing {

inline void Require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what.c_str());
  std::abort();
}

// Checks that the address sanitizer detects a read of an address. Otherwise a target could not
// fail. Only the replay of a corpus (tests/cc/fuzz) may be built without the sanitizer.
inline void RequirePoisoned(const void* address, const std::string& what) {
#if defined(RNN_OPS_FUZZ_REPLAY) && !defined(__SANITIZE_ADDRESS__)
  (void)address, (void)what;
#else
  Require(__asan_address_is_poisoned(address), what);
#endif
}

// Returns whether the status is OK. An error must be InvalidArgument and must have a sentence as
// message.
inline bool Accepted(const Status& status) {
  if (status.ok()) return true;
  Require(status.code() == Code::kInvalidArgument, "a refusal is InvalidArgument");
  Require(!status.message().empty() && status.message().back() == '.', status.message());
  return false;
}

struct Sizes {
  int64_t T, B, I, H, P, L;
};

// The sizes are so small that a call takes microseconds.
inline Sizes DrawSizes(FuzzedDataProvider& bytes) {
  Sizes s = {};
  s.T = bytes.ConsumeIntegralInRange<int64_t>(0, 6);
  s.B = bytes.ConsumeIntegralInRange<int64_t>(0, 9);
  s.I = bytes.ConsumeIntegralInRange<int64_t>(1, 9);
  s.H = bytes.ConsumeIntegralInRange<int64_t>(1, 19);
  s.P = bytes.ConsumeIntegralInRange<int64_t>(0, s.H);
  s.L = bytes.ConsumeIntegralInRange<int64_t>(1, 3);
  return s;
}

inline RnnAttrs DrawAttrs(FuzzedDataProvider& bytes) {
  RnnAttrs attrs;
  attrs.mode = static_cast<RnnMode>(bytes.ConsumeIntegralInRange<int>(0, 3));
  attrs.input_mode = static_cast<InputMode>(bytes.ConsumeIntegralInRange<int>(0, 2));
  attrs.direction = static_cast<Direction>(bytes.ConsumeIntegralInRange<int>(1, 2));
  attrs.time_major = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) attrs.dropout = bytes.ConsumeProbability<float>();
  return attrs;
}

// The shapes of all inputs of a gradient op. The inputs of the forward op come first.
class Shapes {
 public:
  Shapes(const OpSpec& forward, const OpSpec& backward)
      : forward_(forward), backward_(backward), all_(backward.inputs.count) {}

  PartialShape& operator[](std::string_view name) {
    int k = 0;
    while (backward_.inputs[k].name() != name) ++k;
    return all_[k];
  }
  std::vector<PartialShape>& all() { return all_; }
  const OpSpec& forward() const { return forward_; }
  const OpSpec& backward() const { return backward_; }

  Status InferForward(const RnnAttrs& attrs, CallShapes* result) const {
    return InferShapes(forward_, attrs, {all_.begin(), all_.begin() + forward_.inputs.count},
                       result);
  }
  Status InferBackward(const RnnAttrs& attrs, CallShapes* result) const {
    return InferShapes(backward_, attrs, all_, result);
  }

 private:
  const OpSpec& forward_;
  const OpSpec& backward_;
  std::vector<PartialShape> all_;
};

// A product for the target itself, which must not overflow.
inline int64_t Times(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product) || product < 0 ? INT64_MAX : product;
}

inline PartialShape Ordered(const RnnAttrs& attrs, int64_t a, int64_t b, int64_t c) {
  return PartialShape::Of(attrs.time_major ? std::vector<int64_t>{a, b, c}
                                           : std::vector<int64_t>{b, a, c});
}

// The shapes of a call with these sizes, without reserve_space.
inline Shapes StackShapes(const RnnAttrs& attrs, const Sizes& s) {
  Shapes shapes(kCudnnRnnV3, kCudnnRnnBackpropV3);
  const int64_t D = static_cast<int64_t>(attrs.direction);
  const int64_t S = attrs.num_proj > 0 ? attrs.num_proj : s.H;
  shapes["input"] = Ordered(attrs, s.T, s.B, s.I);
  const PartialShape h = Ordered(attrs, Times(s.L, D), s.B, S),
                     c = Ordered(attrs, Times(s.L, D), s.B, s.H);
  const PartialShape y = Ordered(attrs, s.T, s.B, Times(D, S));
  shapes["input_h"] = shapes["output_h"] = shapes["output_h_backprop"] = h;
  shapes["input_c"] = shapes["output_c"] = shapes["output_c_backprop"] = c;
  shapes["output"] = shapes["output_backprop"] = y;
  shapes["sequence_lengths"] = PartialShape::Of({s.B});
  shapes["params"] = PartialShape::Of({kUnknownDim});
  shapes["host_reserved"] = PartialShape::Of({});
  CallShapes found;
  if (shapes.InferForward(attrs, &found).ok()) {
    shapes["params"] = PartialShape::Of({found.dims.params_size});
  }
  return shapes;
}

inline int64_t GatesOf(RnnMode mode) { return FactsOf(mode).gates; }

// The mode of LayerRNN, which supports all cells.
inline RnnMode DrawMode(FuzzedDataProvider& bytes) {
  constexpr int kCells = static_cast<int>(std::size(kCellFacts));
  return static_cast<RnnMode>(bytes.ConsumeIntegralInRange<int>(0, kCells - 1));
}

inline Activation DrawActivation(FuzzedDataProvider& bytes) {
  return static_cast<Activation>(bytes.ConsumeIntegralInRange<int>(0, 5));
}

// The attributes of LayerRNN. They may have activations and zoneout that the mode does not support.
inline RnnAttrs DrawLayerAttrs(FuzzedDataProvider& bytes) {
  RnnAttrs attrs;
  attrs.mode = DrawMode(bytes);
  attrs.time_major = bytes.ConsumeBool();
  if (bytes.ConsumeBool()) {
    attrs.activation = DrawActivation(bytes);
    attrs.recurrent_activation = DrawActivation(bytes);
  }
  if (attrs.mode == RnnMode::kLstm && bytes.ConsumeBool()) {
    attrs.cell_clip = 0.5f;
    attrs.proj_clip = 0.25f;
  } else if (bytes.ConsumeBool()) {
    attrs.zoneout_h = bytes.ConsumeProbability<float>();
    if (bytes.ConsumeBool()) attrs.zoneout_c = bytes.ConsumeProbability<float>();
  }
  return attrs;
}

inline Shapes LayerShapes(const RnnAttrs& attrs, const Sizes& s, FuzzedDataProvider& bytes) {
  Shapes shapes(kLayerRnn, kLayerRnnBackprop);
  const int64_t G = GatesOf(attrs.mode);
  const bool lstm = attrs.mode == RnnMode::kLstm, zones_out = attrs.has_zoneout();
  const bool projected = lstm && !zones_out && bytes.ConsumeBool();
  const int64_t S = projected ? s.P : s.H;
  const PartialShape none = PartialShape::Of({0}), state = PartialShape::Of({s.B, S});
  const PartialShape y = Ordered(attrs, s.T, s.B, S);
  auto given = [&](PartialShape shape) { return bytes.ConsumeBool() ? shape : none; };
  shapes["input"] = Ordered(attrs, s.T, s.B, s.I);
  shapes["input_h"] = state;
  shapes["input_c"] = PartialShape::Of({s.B, s.H});
  shapes["kernel"] = PartialShape::Of({s.I, Times(G, s.H)});
  shapes["recurrent_kernel"] = PartialShape::Of({S, Times(G, s.H)});
  shapes["projection"] = projected ? PartialShape::Of({s.H, s.P}) : none;
  shapes["peepholes"] = lstm && !zones_out ? given(PartialShape::Of({3, s.H})) : none;
  shapes["bias"] = given(attrs.mode == RnnMode::kGru ? PartialShape::Of({2, Times(G, s.H)})
                                                     : PartialShape::Of({Times(G, s.H)}));
  shapes["sequence_lengths"] = given(PartialShape::Of({s.B}));
  shapes["input_mask"] = given(PartialShape::Of({G, s.B, s.I}));
  shapes["recurrent_mask"] = given(PartialShape::Of({G, s.B, S}));
  shapes["seed"] = zones_out ? given(PartialShape::Of({2})) : none;
  const bool plain =
      lstm && !zones_out && !projected && IsAbsent(shapes["peepholes"]) && attrs.cell_clip == 0;
  shapes["layer_norm"] = plain ? given(PartialShape::Of({kLayerNormRows, s.H})) : none;
  shapes["output"] = shapes["output_backprop"] = y;
  shapes["output_h"] = shapes["output_h_backprop"] = state;
  shapes["output_c"] = shapes["output_c_backprop"] = shapes["input_c"];
  return shapes;
}

// The attributes of QuantizedLayerRNN, which has no clips and no zoneout.
inline RnnAttrs DrawQuantizedAttrs(FuzzedDataProvider& bytes) {
  RnnAttrs attrs = DrawLayerAttrs(bytes);
  attrs.cell_clip = attrs.proj_clip = attrs.zoneout_h = attrs.zoneout_c = 0;
  attrs.is_training = false;
  return attrs;
}

// One of the types of QuantizedLayerRNN.
inline Dtype QuantizedType(Dtype drawn) { return drawn == kFloat64 ? kFloat32 : drawn; }

// The inputs of QuantizedLayerRNN in their order.
inline std::vector<PartialShape> QuantizedShapes(const RnnAttrs& attrs, const Sizes& s,
                                                 FuzzedDataProvider& bytes) {
  Shapes layer = LayerShapes(attrs, s, bytes);
  const PartialShape none = PartialShape::Of({0});
  std::vector<PartialShape> shapes;
  for (const TensorSpec& input : kQuantizedLayerRnn.inputs) {
    switch (input.arg) {
      case Arg::kernel_scale:
      case Arg::recurrent_kernel_scale:
        shapes.push_back(PartialShape::Of({Times(GatesOf(attrs.mode), s.H)}));
        break;
      case Arg::projection_scale:
        shapes.push_back(IsAbsent(layer["projection"]) ? none : PartialShape::Of({s.P}));
        break;
      case Arg::packed:
        shapes.push_back(none);
        break;
      default:
        shapes.push_back(layer[input.name()]);
    }
  }
  return shapes;
}

inline Shapes BlockShapes(const Sizes& s) {
  Shapes shapes(kBlockLstm, kBlockLstmGrad);
  const PartialShape state = PartialShape::Of({s.B, s.H}),
                     steps = PartialShape::Of({s.T, s.B, s.H});
  for (PartialShape& shape : shapes.all()) shape = steps;
  shapes["seq_len_max"] = PartialShape::Of({});
  shapes["x"] = PartialShape::Of({s.T, s.B, s.I});
  shapes["cs_prev"] = shapes["h_prev"] = state;
  shapes["w"] = PartialShape::Of({s.I + s.H, Times(4, s.H)});
  shapes["wci"] = shapes["wcf"] = shapes["wco"] = PartialShape::Of({s.H});
  shapes["b"] = PartialShape::Of({Times(4, s.H)});
  return shapes;
}

// One of the two types of LinearRecurrence.
inline Dtype LinearType(Dtype drawn) { return drawn == kFloat64 ? kFloat64 : kFloat32; }

// The attributes of LinearRecurrence, with one of its modes.
inline RnnAttrs DrawLinearAttrs(FuzzedDataProvider& bytes) {
  RnnAttrs attrs;
  attrs.mode = bytes.PickValueInArray({RnnMode::kTanh, RnnMode::kLstm, RnnMode::kGru});
  return attrs;
}

// The inputs of LinearRecurrence in their order.
inline std::vector<PartialShape> LinearShapes(const RnnAttrs& attrs, const Sizes& s,
                                              FuzzedDataProvider& bytes) {
  const int64_t columns = Times(GatesOf(attrs.mode), s.H);
  std::vector<PartialShape> shapes;
  for (const TensorSpec& input : kLinearRecurrence.inputs) {
    const int64_t width = input.dims[2] == Dim::kGatesH ? columns : s.H;
    if (input.name() == "recurrent_kernel") {
      shapes.push_back(PartialShape::Of({s.H, columns}));
    } else if (input.given == Given::kOptional && bytes.ConsumeBool()) {
      shapes.push_back(PartialShape::Of({0}));
    } else {
      shapes.push_back(PartialShape::Of({s.T, s.B, width}));
    }
  }
  return shapes;
}

// Changes a dimension, or adds or removes one. any() returns a new dimension.
template <typename Draw>
void EditShape(FuzzedDataProvider& bytes, PartialShape* shape, Draw any) {
  const int kind = bytes.ConsumeIntegralInRange<int>(0, 5);
  if (kind == 0) {
    shape->dims.push_back(any());
  } else if (kind == 1 && !shape->dims.empty()) {
    shape->dims.pop_back();
  } else if (!shape->dims.empty()) {
    shape->dims[bytes.ConsumeIntegralInRange<size_t>(0, shape->dims.size() - 1)] = any();
  }
}

inline int64_t Elements(const PartialShape& shape) {
  int64_t elements = 1;
  for (int64_t dim : shape.dims) elements *= dim;
  return elements;
}

// Memory of exactly `bytes` bytes with the alignment that the kernels need. The address sanitizer
// detects every access beyond its end.
class Memory {
 public:
  explicit Memory(int64_t bytes, unsigned char fill = 0xA5) : bytes_(bytes) {
    Require(bytes >= 0 && posix_memalign(&data_, 64, bytes) == 0, "memory");
    std::fill_n(static_cast<unsigned char*>(data_), bytes, fill);
  }
  Memory(const Memory&) = delete;
  ~Memory() { std::free(data_); }

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_;
};

// The bits of a number of a 16-bit type with an absolute value from 0.125 to 1.
inline uint16_t NarrowBits(Dtype dtype, unsigned from) {
  const unsigned mantissa_bits = dtype == kFloat16 ? 10 : 7;
  const unsigned exponent = (dtype == kFloat16 ? 12 : 124) + from % 3;
  const unsigned mantissa = (from * 73) % (1u << mantissa_bits);
  return static_cast<uint16_t>((from & 1) << 15 | exponent << mantissa_bits | mantissa);
}

// Fills memory with numbers of one type. Most numbers are moderate, some have arbitrary bits.
inline void FillNumbers(FuzzedDataProvider& bytes, Dtype dtype, Memory* memory) {
  const uint8_t start = bytes.ConsumeIntegral<uint8_t>();
  auto* const at = static_cast<unsigned char*>(memory->data());
  const int64_t width = dtype == kFloat64 ? 8 : dtype == kFloat32 ? 4 : 2;
  for (int64_t k = 0; k < memory->bytes() / width; ++k) {
    const double v = ((start + 37 * k) % 101) / 50.0 - 1;
    if (dtype == kFloat64) {
      reinterpret_cast<double*>(at)[k] = v;
    } else if (dtype == kFloat32) {
      reinterpret_cast<float*>(at)[k] = static_cast<float>(v);
    } else {
      reinterpret_cast<uint16_t*>(at)[k] = NarrowBits(dtype, static_cast<unsigned>(start + 37 * k));
    }
  }
  const std::vector<uint8_t> wild =
      bytes.ConsumeBytes<uint8_t>(bytes.ConsumeIntegralInRange<size_t>(0, 16));
  for (size_t k = 0; k < wild.size() && memory->bytes() > 0; ++k) {
    at[(start * 131 + k * 17) % memory->bytes()] = wild[k];
  }
}

// Runs the parts of a job one after another, like one of `count` threads while all other threads
// sleep.
inline cpu::ParallelFor OneAfterTheOther(int32_t count) {
  cpu::ParallelFor parallel = {};
  // The costs of threads are 0 or 1, so that small problems are split.
  parallel.threads = {count, 1, 0};
  parallel.run = [](void*, int64_t n, int64_t, void (*fn)(void*, int64_t), void* arg) {
    for (int64_t i = 0; i < n; ++i) fn(arg, i);
  };
  return parallel;
}

// A host that returns memory of exactly the requested size.
class FuzzHost final : public cpu::Host {
 public:
  FuzzHost(int32_t num_threads, Dtype dtype) : num_threads_(num_threads), dtype_(dtype) {}

  cpu::ParallelFor parallel() override { return OneAfterTheOther(num_threads_); }
  Status Scratch(int64_t bytes, void** data) override {
    scratch_ = std::make_unique<Memory>(bytes);
    *data = scratch_->data();
    return Status();
  }
  Status NewReserve(const cpu::ReserveSizes& sizes, void** data) override {
    reserve_ = std::make_unique<Memory>(sizes.bytes);
    *data = reserve_->data();
    return Status();
  }
  PartialShape ShapeOf(Arg) const override {
    return PartialShape::Of({ReserveElements(reserve_->bytes(), SizeOf(dtype_))});
  }
  Status Aligned(Arg input, const void** data) override {
    took_packed_ = input == Arg::packed;
    *data = took_packed_ ? packed_->data() : reserve_->data();
    return Status();
  }

  void SetPacked(const Memory* packed) { packed_ = packed; }
  bool took_packed() const { return took_packed_; }

  // Changes some bytes of the reserve space. Returns false if no byte was changed.
  bool ChangeReserve(FuzzedDataProvider& bytes) {
    bool changed = false;
    for (uint8_t byte : bytes.ConsumeBytes<uint8_t>(bytes.ConsumeIntegralInRange<size_t>(0, 8))) {
      if (reserve_->bytes() == 0) break;
      // Changes often affect only the header.
      const int64_t end =
          bytes.ConsumeBool() ? std::min<int64_t>(48, reserve_->bytes()) : reserve_->bytes();
      static_cast<uint8_t*>(reserve_->data())[bytes.ConsumeIntegralInRange<int64_t>(0, end - 1)] ^=
          byte;
      changed = true;
    }
    return changed;
  }

 private:
  const int32_t num_threads_;
  const Dtype dtype_;
  std::unique_ptr<Memory> scratch_, reserve_;
  const Memory* packed_ = nullptr;
  bool took_packed_ = false;
};

}  // namespace rnn_ops::fuzzing
