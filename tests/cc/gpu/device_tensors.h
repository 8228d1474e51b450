// The tensors of a call in memory of a FakeCuda.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/cc/cpu/kernel_harness.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops::gpu::fake {

// Each tensor has memory of its size. A tensor without elements is null.
template <typename Values>
class DeviceTensors {
 public:
  using Field = std::vector<double> Values::*;
  DeviceTensors(Dtype dtype, Values* values) : dtype_(dtype), values_(*values) {}

  // The tensor of a field, which is made of its values if there is none.
  void* In(Field field) {
    if (void** const found = Find(field)) return *found;
    void* const made = Out(field, static_cast<int64_t>((values_.*field).size()));
    WriteAll(dtype_, made, values_.*field);
    return made;
  }
  // A new tensor of NaN in place of an earlier one.
  void* Out(Field field, int64_t elements) {
    (values_.*field).resize(elements);
    void* const made = elements == 0 ? nullptr : memory_.Allocate(elements * SizeOf(dtype_));
    if (void** const found = Find(field)) return *found = made;
    tensors_.emplace_back(field, made);
    return made;
  }
  // Sets the values of the fields that have a tensor.
  void Read(const cpu::testing::Fields<Values>& fields) {
    for (const auto& field : fields) {
      void** const found = Find(field.vec);
      if (found == nullptr || *found == nullptr) continue;
      std::vector<double>& to = values_.*field.vec;
      to = ReadAll(dtype_, *found, static_cast<int64_t>(to.size()));
    }
  }
  ExactAllocator* memory() { return &memory_; }

 private:
  void** Find(Field field) {
    for (auto& tensor : tensors_) {
      if (tensor.first == field) return &tensor.second;
    }
    return nullptr;
  }

  const Dtype dtype_;
  Values& values_;
  ExactAllocator memory_;
  std::vector<std::pair<Field, void*>> tensors_;
};

}  // namespace rnn_ops::gpu::fake
