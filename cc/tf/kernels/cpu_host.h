// A call on the CPU: TensorFlow's threads and memory for the kernels, and the kernels of RNN ops.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "cc/core/op/dropout.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/call/op_run.h"
#include "cc/tf/kernels/op_call.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tsl/platform/threadpool.h"

namespace rnn_ops::tf_kernels {

// Implements cpu::Host, the environment of a call on the CPU, with TensorFlow.

// A team on TensorFlow's worker pool, and the floating point environment in which all threads of
// the team, including the caller, compute.
class PoolTeam {
 public:
  explicit PoolTeam(tensorflow::OpKernelContext* context);
  Team* get() { return &team_; }

 private:
  PoolTeam(tsl::thread::ThreadPool* pool, std::chrono::microseconds stay);

  ScopedFloatEnvironment environment_;
  Team team_;
};

// Created on the stack for each call.
class CpuHost final : public cpu::Host {
 public:
  explicit CpuHost(const OpCall& call) : call_(call), team_(call.context) {}

  cpu::ParallelFor parallel() override { return cpu::ParallelForOf(team_.get()); }
  // May be called once. Small scratch memory is on the stack.
  // WHY: an allocation takes longer than a step of a tiny network.
  Status Scratch(int64_t bytes, void** data) override;
  Status NewReserve(const cpu::ReserveSizes& sizes, void** data) override;
  PartialShape ShapeOf(Arg input) const override;
  Status Aligned(Arg input, const void** data) override;

 private:
  Status Allocate(tensorflow::DataType dtype, const tensorflow::TensorShape& shape,
                  tensorflow::Tensor* tensor);

  const OpCall& call_;
  PoolTeam team_;
  alignas(64) char little_[16 * 1024];
  std::vector<tensorflow::Tensor> held_;
};

// The CudnnRNN family and LayerRNN on the CPU.

class RnnForwardCpuKernel : public RnnForwardKernel {
 public:
  using RnnForwardKernel::RnnForwardKernel;

 protected:
  absl::Status Run(const RnnCall& call, DropoutKey dropout_key) const override;
};

class RnnBackpropCpuKernel : public RnnBackpropKernel {
 public:
  using RnnBackpropKernel::RnnBackpropKernel;

 protected:
  absl::Status Run(const RnnCall& call) const override;
};

// Sets output 0 of an op that packs weights to a vector that forward calls accept as `packed`. If
// `keep` is true, the result is kept for the next call (Note [Kept weights]). Call it after
// call.BindInputs(); T and B of `config` must be 0.
absl::Status PackRnnWeightsOnCpu(const OpCall& call, const RnnConfig& config, bool keep);

}  // namespace rnn_ops::tf_kernels
