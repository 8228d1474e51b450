#include "cc/gpu/call_args.h"

#include <gtest/gtest.h>

#include "cc/core/op/op_spec.h"

namespace rnn_ops::gpu {
namespace {

// Represents the memory of the tensors: each tensor has its own byte.
struct Memory {
  char inputs[kMaxTensors];
  char outputs[kMaxTensors];

  CallTensors Of(const OpSpec& op) {
    CallTensors tensors;
    for (int k = 0; k < op.inputs.count; ++k) {
      tensors.SetInput(op.inputs[k].arg, &inputs[k], ElementType::kFloat32, 1);
    }
    for (int k = 0; k < op.num_outputs(); ++k) {
      tensors.SetOutput(op.output(k).arg, &outputs[k], ElementType::kFloat32, 1);
    }
    return tensors;
  }
};

TEST(CallArgs, OfAnRnn) {
  Memory memory;
  RnnForwardArgs forward;
  SetForward(memory.Of(kCudnnRnnV3), &forward);
  int at = 0;
  for (const void* in : {forward.x, forward.h0, forward.c0, forward.params}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {forward.y, forward.h_n, forward.c_n}) EXPECT_EQ(out, &memory.outputs[at++]);
  RnnBackwardArgs back;
  SetBackward(memory.Of(kCudnnRnnBackpropV1), &back);
  at = 0;
  for (const void* in : {back.x, back.h0, back.c0, back.params, back.y}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 7;  // after output_h and output_c
  for (const void* in : {back.dy, back.dh_n, back.dc_n}) EXPECT_EQ(in, &memory.inputs[at++]);
  at = 0;
  for (void* out : {back.dx, back.dh0, back.dc0, back.dparams}) {
    EXPECT_EQ(out, &memory.outputs[at++]);
  }
}

TEST(CallArgs, OfABlockLstm) {
  Memory memory;
  BlockLstmForwardArgs a = {};
  SetBlockLstmForward(memory.Of(kBlockLstm), &a);
  int at = 1;
  for (const void* in : {a.x, a.cs_prev, a.h_prev, a.w, a.wci, a.wcf, a.wco, a.b}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {a.i, a.cs, a.f, a.o, a.ci, a.co, a.h}) EXPECT_EQ(out, &memory.outputs[at++]);
  BlockLstmBackwardArgs g = {};
  SetBlockLstmBackward(memory.Of(kBlockLstmGrad), &g);
  at = 1;
  for (const void* in : {g.x, g.cs_prev, g.h_prev, g.w, g.wci, g.wcf, g.wco, g.b, g.i, g.cs, g.f,
                         g.o, g.ci, g.co, g.h, g.cs_grad, g.h_grad}) {
    EXPECT_EQ(in, &memory.inputs[at++]);
  }
  at = 0;
  for (void* out : {g.x_grad, g.cs_prev_grad, g.h_prev_grad, g.w_grad, g.wci_grad, g.wcf_grad,
                    g.wco_grad, g.b_grad}) {
    EXPECT_EQ(out, &memory.outputs[at++]);
  }
}

}  // namespace
}  // namespace rnn_ops::gpu
