// Implements cpu::Host, the environment of a call on the CPU, with TensorFlow.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cc/core/runtime/float_environment.h"
#include "cc/core/runtime/team.h"
#include "cc/core/status.h"
#include "cc/cpu/call/op_run.h"
#include "cc/cpu/call/team_parallel_for.h"
#include "cc/tf/kernels/op_call.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/tensor.h"
#include "tsl/platform/threadpool.h"

namespace rnn_ops::tf_kernels {

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

}  // namespace rnn_ops::tf_kernels
