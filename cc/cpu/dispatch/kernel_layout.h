// The layout of everything that crosses the interface of the kernels, as one number: the offsets
// and sizes of all fields except those of CallTensors, the values of all enumerators, the order of
// the tensors. So an object of another build is detected even if all structs have the same sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cc/core/fnv1a.h"
#include "cc/core/op/op_spec.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu {
namespace layout {

struct Field {
  size_t offset, size, align;
};

template <size_t n>
constexpr void AddAll(const Field (&fields)[n], Fnv1a& hash) {
  for (const Field& field : fields) {
    hash.Add(uint64_t{field.offset});
    hash.Add(uint64_t{field.size});
  }
}

constexpr size_t AlignedTo(size_t align, size_t offset) {
  return (offset + align - 1) / align * align;
}

// Whether there is no room for a further field between the fields or behind them, except for
// padding.
template <size_t n>
constexpr bool AreAll(const Field (&fields)[n], size_t struct_size, size_t struct_align) {
  size_t end = fields[0].offset;
  for (const Field& field : fields) {
    if (field.offset != AlignedTo(field.align, end)) return false;
    end = field.offset + field.size;
  }
  return AlignedTo(struct_align, end) == struct_size;
}

// The structs with base classes are not of standard layout. GCC and Clang know the offsets of their
// fields anyway.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

// All fields of Struct in their order, except those of its base class.
#define RNN_OPS_FIELD(field) \
  {offsetof(Struct, field), sizeof(Struct::field), alignof(decltype(Struct::field))}
#define RNN_OPS_FIELDS(Name, ...)                                                    \
  struct Name##Layout {                                                              \
    using Struct = Name;                                                             \
    static constexpr Field kFields[] = {__VA_ARGS__};                                \
    static_assert(AreAll(kFields, sizeof(Name), alignof(Name)), "list every field"); \
  }
#define F RNN_OPS_FIELD

RNN_OPS_FIELDS(RnnAttrs, F(mode), F(activation), F(recurrent_activation), F(input_mode),
               F(direction), F(cell_clip), F(proj_clip), F(zoneout_h), F(zoneout_c),
               F(layer_norm_epsilon), F(dropout), F(seed), F(seed2), F(num_proj), F(is_training),
               F(time_major));
RNN_OPS_FIELDS(RnnConfig, F(num_layers), F(num_units), F(input_size), F(max_time), F(batch));
RNN_OPS_FIELDS(SequenceLengths, F(steps), F(sum));
RNN_OPS_FIELDS(LayerConfig, F(bias_rows), F(has_peepholes), F(has_layer_norm), F(input_masked),
               F(recurrent_masked), F(zoneout_drawn));
RNN_OPS_FIELDS(RnnProblem, F(dtype), F(dropout_key), F(lengths), F(weight_layout),
               F(weights_packed), F(bf16_products), F(int8_weights));
RNN_OPS_FIELDS(BlockLstmConfig, F(use_peephole), F(cell_clip), F(max_time), F(batch), F(input_size),
               F(num_units), F(seq_len));
RNN_OPS_FIELDS(BlockLstmProblem, F(dtype));
RNN_OPS_FIELDS(LinearRecurrenceProblem, F(dtype), F(num_states), F(transposed), F(has_gates),
               F(num_gates), F(num_units), F(max_time), F(batch));
RNN_OPS_FIELDS(ThreadBudget, F(count), F(wake_ns), F(meet_ns));
RNN_OPS_FIELDS(ParallelFor, F(context), F(threads), F(run));
RNN_OPS_FIELDS(ReserveSizes, F(bytes), F(longest_bytes));
RNN_OPS_FIELDS(MemorySizes, F(scratch_bytes), F(reserve));
RNN_OPS_FIELDS(MemoryBlocks, F(scratch), F(reserve));
RNN_OPS_FIELDS(MemorySource, F(context), F(allocate));
RNN_OPS_FIELDS(RnnArgs, F(panels));
RNN_OPS_FIELDS(PackedFormat, F(bytes), F(element));
RNN_OPS_FIELDS(DenseArgs, F(rows), F(depth), F(columns), F(input), F(output), F(packed),
               F(one_row));
RNN_OPS_FIELDS(DenseFormat, F(bytes), F(panels), F(row_bytes));

template <typename Problem>
struct CallLayout {
  using Struct = CallArgs<Problem>;
  static constexpr Field kFields[] = {F(problem), F(parallel), F(memory), F(tensors)};
  static_assert(AreAll(kFields, sizeof(Struct), alignof(Struct)), "list every field");
};

#undef F
#undef RNN_OPS_FIELDS
#undef RNN_OPS_FIELD
#pragma GCC diagnostic pop

template <typename... Layouts>
constexpr void AddFields(Fnv1a& hash) {
  (AddAll(Layouts::kFields, hash), ...);
  (hash.Add(uint64_t{sizeof(typename Layouts::Struct)}), ...);
}

template <typename... Enumerators>
constexpr void AddValues(Fnv1a& hash, Enumerators... enumerators) {
  (hash.Add(static_cast<uint64_t>(enumerators)), ...);
}

constexpr uint64_t Compute() {
  Fnv1a hash;
  AddFields<RnnAttrsLayout, RnnConfigLayout, LayerConfigLayout, SequenceLengthsLayout,
            RnnProblemLayout, BlockLstmConfigLayout, BlockLstmProblemLayout,
            LinearRecurrenceProblemLayout, ThreadBudgetLayout, ParallelForLayout,
            ReserveSizesLayout, MemorySizesLayout, MemoryBlocksLayout, MemorySourceLayout,
            RnnArgsLayout, PackedFormatLayout, DenseArgsLayout, DenseFormatLayout,
            CallLayout<RnnProblem>, CallLayout<BlockLstmProblem>,
            CallLayout<LinearRecurrenceProblem>>(hash);
  for (const CellFacts& facts : kCellFacts) {
    AddValues(hash, facts.mode, facts.gates, facts.bias_rows, facts.has_c);
  }
  AddValues(hash, Activation::kTanh, Activation::kSigmoid, Activation::kHardSigmoid,
            Activation::kHardSigmoidKeras2, Activation::kRelu, Activation::kLinear);
  AddValues(hash, InputMode::kLinear, InputMode::kSkip, InputMode::kAuto);
  AddValues(hash, Direction::kUnidirectional, Direction::kBidirectional);
  AddValues(hash, kFloat32, kFloat64, kFloat16, kBFloat16);
  AddValues(hash, ElementType::kFloat32, ElementType::kFloat64, ElementType::kFloat16,
            ElementType::kBFloat16, ElementType::kInt8, ElementType::kOther);
  AddValues(hash, kDone, kOtherReserve, kStopped, kOtherLengths);
  AddValues(hash, kOpaqueWeights, kKerasWeights);
  AddValues(hash, kPackedArithmetic, kPackedBFloat16Pairs, kPackedInt8Quads, kPackedHalves);
  // The fields of CallTensors are private.
  hash.Add(uint64_t{sizeof(CallTensors)});
  for (const std::string_view name : kArgNames) hash.Add(name);
  return hash.value();
}

}  // namespace layout

constexpr uint64_t kKernelLayout = layout::Compute();

}  // namespace rnn_ops::cpu
