// Runs the executor of the block LSTM on a FakeCuda, and computes reference results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cc/core/op/dtype.h"
#include "cc/core/status.h"
#include "cc/gpu/steps/layer.h"
#include "tests/cc/cpu/kernel_reference.h"
#include "tests/cc/gpu/fake_cuda.h"
#include "tests/cc/gpu/product_parts.h"

namespace rnn_ops::gpu::fake {

using BlockValues = cpu::reference::BlockLstmValues;

std::string Describe(const BlockLstmProblem& problem);

double RoundTo(Dtype dtype, double value);

// Inputs and gradients of outputs, representable in the problem's dtype. Steps beyond seq_len_max
// are NaN, because no code may read them.
BlockValues MakeBlockInputs(const BlockLstmProblem& problem, uint64_t seed);

// The reference in float64, from the equations.
BlockValues BlockReference(const BlockLstmProblem& problem, const BlockValues& inputs);
// Runs forward, and then backward on the results of forward. The memory of the outputs is NaN
// before. Reads and writes `values`. Stops at an error.
Status RunBlockLstm(const ProductLibraries& libraries, const BlockLstmProblem& problem,
                    DeviceAllocator* forward, DeviceAllocator* backward, void* stream,
                    BlockValues* values);

}  // namespace rnn_ops::gpu::fake
