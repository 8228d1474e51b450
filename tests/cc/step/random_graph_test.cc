// Random graphs of all nodes, next to a plain loop in double.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/step/rnn_step.h"
#include "gtest/gtest.h"
#include "tests/cc/step/reference_graph.h"

namespace rnn_ops::step {
namespace {

using testing::ReferenceGraph;
using testing::Tensor;

constexpr int kCalls = 3;
constexpr int64_t kWords = 50;

// Draws graphs. Small sizes are as likely as large and odd ones.
class Drawing {
 public:
  explicit Drawing(uint64_t seed)
      : random_(seed),
        windows_(OneOf({0, 1}) == 1),
        graph_(seed, OneOf({1, 1, 2, 3, 5}), OneOf({1, 1, 2, 4, 17}), windows_) {
    const int inputs = static_cast<int>(OneOf({1, 1, 2}));
    for (int k = 0; k < inputs; ++k) values_.push_back(GivenFloats());
    given_ = values_;
    if (windows_ && OneOf({0, 1}) == 1) {
      const int64_t words = OneOf({0, kWords});
      Tensor* const padded = words > 0 ? graph_.Padded({graph_.time()}, words)
                                       : graph_.Padded({graph_.time(), Size()}, 0);
      lengths_ = graph_.Lengths(padded, words > 0);
      values_.push_back(words > 0 ? graph_.Embedding(padded, words, Size(), false) : padded);
    }
    if (OneOf({0, 0, 1}) == 1) {
      Tensor* const words = graph_.Words({}, kWords, !windows_);
      values_.push_back(graph_.Embedding(words, kWords, Size(), OneOf({0, 1}) == 1));
      if (OneOf({0, 1}) == 1) {
        values_.push_back(graph_.Reshape(graph_.Cast(words, kWords), {1}));
      }
    }
    const int64_t nodes = OneOf({1, 2, 4, 8, 12});
    for (int64_t k = 0; k < nodes; ++k) {
      values_.push_back(Node());
      if (OneOf({0, 0, 1}) == 1) graph_.Output(values_.back());
    }
    graph_.Output(values_.back());
    if (OneOf({0, 0, 0, 1}) == 1) graph_.Output(Any());  // also an input, or twice the same
  }

  ReferenceGraph& graph() { return graph_; }

 private:
  int64_t OneOf(const std::vector<int64_t>& choices) { return choices[random_() % choices.size()]; }
  int64_t Size() { return OneOf({1, 2, 3, 4, 7, 8, 15, 16, 17, 33, 64, 100}); }
  Tensor* GivenFloats() {
    if (!windows_) return graph_.Input({Size()}, OneOf({0, 1, 1, 1}));
    return OneOf({0, 1, 1, 1}) == 1 ? graph_.Input({graph_.time(), Size()}, false)
                                    : graph_.Input({Size()}, false);
  }
  Tensor* Any() { return values_[random_() % values_.size()]; }
  std::string Name(const std::vector<std::string>& names) {
    return names[random_() % names.size()];
  }
  // A value as [B, T, C] or [B, C].
  Tensor* Flat() {
    Tensor* const x = Any();
    return x->dims.size() == 1 ? x : graph_.Reshape(x, {x->row_elements()});
  }
  Tensor* WithTime() {
    for (int k = 0; k < 20; ++k) {
      Tensor* const x = Flat();
      if (x->has_time) return x;
    }
    return nullptr;
  }

  Tensor* Node() {
    Tensor* const x = Any();
    if (!x->has_time && OneOf({0, 1}) == 1) return WindowNode(x);
    switch (random_() % 13) {
      case 0:
        return graph_.Dense(x, Size(), OneOf({0, 1}) == 1);
      case 1:
        return graph_.QuantizedDense(given_[random_() % given_.size()], Size());
      case 2:
      case 3:
        return Conv();
      case 4:
      case 5:
        return graph_.Activation(
            x, Name({"relu", "tanh", "sigmoid", "hard_sigmoid", "softplus", "softsign", "elu",
                     "selu", "silu", "hard_silu", "gelu", "mish", "softmax", "log_softmax"}));
      case 6:
        // Its results would grow without bounds.
        return graph_.Activation(graph_.Activation(x, "tanh"), "exponential");
      case 7:
        return graph_.Scale(x);
      case 8:
        return graph_.Norm(x, OneOf({0, 1}) == 1);
      case 9:
        return graph_.Combine({x, graph_.Scale(x), x},
                              Name({"add", "average", "subtract", "maximum", "minimum"}));
      case 10: {
        Tensor* const bounded = graph_.Activation(x, "tanh");
        return OneOf({0, 1}) == 1 ? graph_.Concatenate({x, bounded, x})
                                  : graph_.Combine({x, bounded}, "multiply");
      }
      case 11:
        return x->has_time ? graph_.LastStep(x) : graph_.Reshape(x, {1, x->row_elements()});
      default:
        return Rnn();
    }
  }

  // A value as [B, T, C].
  Tensor* Sequence(Tensor* x) {
    if (x->dims.size() == 2) return x;
    if (x->dims.size() == 1 && OneOf({0, 1}) == 1) {
      return graph_.Repeat(graph_.Reshape(x, {1, x->row_elements()}), OneOf({1, 3, 17}));
    }
    const int64_t rows = x->row_elements() % 2 == 0 ? 2 : 1;
    return graph_.Reshape(x, {rows, x->row_elements() / rows});
  }

  Tensor* WindowNode(Tensor* any) {
    Tensor* const x = Sequence(any);
    const int64_t time = x->dims[0], channels = x->columns();
    Tensor* const lengths = time == graph_.time() && OneOf({0, 1, 1}) == 1 ? lengths_ : nullptr;
    // Steps to the width of a part, and those before and behind the sequence.
    const int64_t width = 1 + static_cast<int64_t>(random_() % std::min<int64_t>(time, 5));
    const int64_t before = OneOf({0, width - 1, width / 2}), stride = OneOf({1, 1, 2, 3});
    const int64_t behind = OneOf({0, width - 1, width / 2});
    switch (random_() % 10) {
      case 0: {
        const int64_t groups = OneOf({1, 1, channels});
        const int64_t dilation = width > 1 && 3 * width <= time ? OneOf({1, 3}) : 1;
        return graph_.WindowConv(x, width, groups == 1 ? Size() : channels * OneOf({1, 2}), groups,
                                 dilation, stride, before, behind);
      }
      case 1:
        // The mean of no step is NaN.
        return graph_.Pool(x, nullptr, Name({"maximum", "average"}), width, stride, before, behind);
      case 2:
        return lengths == nullptr ? graph_.Permute(x, {1, 0})
                                  : graph_.Mask(x, lengths, OneOf({0, 1}) == 1);
      case 3:
        return graph_.Reverse(x, lengths);
      case 4: {
        const int64_t begin = static_cast<int64_t>(random_() % time);
        return graph_.Crop(x, begin, 1 + static_cast<int64_t>(random_() % (time - begin)));
      }
      case 5:
        return graph_.Repeat(x, OneOf({1, 2, 5}));
      case 6: {
        const std::vector<int64_t> dims = {1, time, channels};
        return graph_.Permute(graph_.Reshape(x, dims), {2, 0, 1});
      }
      case 7:
        return graph_.LastStep(x, lengths);
      default: {
        const std::string mode = Name({"lstm", "gru", "gru_reset_before", "rnn_tanh", "rnn_relu"});
        const int64_t units = Size();
        std::vector<Tensor*> initial;
        if (OneOf({0, 0, 1}) == 1) {
          initial.push_back(graph_.Activation(graph_.LastStep(graph_.Rnn(x, mode, units)), "tanh"));
          if (mode == "lstm") initial.push_back(graph_.Scale(initial[0]));
        }
        return graph_.Rnn(x, mode, units, initial, lengths);
      }
    }
  }

  Tensor* Conv() {
    Tensor* const x = WithTime();
    if (x == nullptr) return graph_.Scale(Any());
    const int64_t channels = x->columns(), width = OneOf({1, 2, 3, 9});
    const int64_t dilation = OneOf({1, 1, 1, 4});
    switch (random_() % 3) {
      case 0:
        return graph_.Conv(x, width, channels, /*groups=*/channels, dilation);
      case 1:
        return graph_.Conv(x, width, Size(), /*groups=*/1, dilation);
      default: {
        const int64_t groups = channels % 2 == 0 ? 2 : channels;
        return graph_.Conv(x, width, 3 * groups, groups, dilation);
      }
    }
  }

  Tensor* Rnn() {
    Tensor* const x = WithTime();
    if (x == nullptr) return graph_.Scale(Any());
    return graph_.Rnn(x, Name({"lstm", "gru", "gru_reset_before", "rnn_tanh", "rnn_relu"}), Size());
  }

  std::mt19937_64 random_;
  const bool windows_;
  ReferenceGraph graph_;
  Tensor* lengths_ = nullptr;
  std::vector<Tensor*> values_, given_;
};

// Calls a stepper of the graph, and compares its outputs with those of the reference.
void Check(ReferenceGraph* graph, int threads) {
  const std::string file = graph->File();
  RnnStepper* made = nullptr;
  ASSERT_EQ(rnn_step_new(file.data(), file.size(), graph->batch(), graph->time(), threads, &made),
            RNN_STEP_OK)
      << rnn_step_error();
  const std::unique_ptr<RnnStepper, decltype(&rnn_step_free)> stepper(made, &rnn_step_free);
  for (int call = 0; call < kCalls; ++call) {
    graph->Step();
    const std::vector<const void*> inputs = graph->InputPointers();
    std::vector<std::vector<float>> results;
    std::vector<float*> outputs;
    for (const Tensor* value : graph->outputs()) results.emplace_back(value->values.size(), NAN);
    for (std::vector<float>& result : results) outputs.push_back(result.data());
    ASSERT_EQ(rnn_step_call(stepper.get(), inputs.data(), outputs.data()), RNN_STEP_OK)
        << rnn_step_error();
    for (size_t k = 0; k < results.size(); ++k) {
      const std::vector<double>& want = graph->outputs()[k]->values;
      double largest = 1;
      for (const double value : want) largest = std::max(largest, std::fabs(value));
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(results[k][i], want[i], 1e-4 * largest)
            << "call " << call << " output " << k << " element " << i << " of " << want.size();
      }
    }
  }
}

TEST(RandomGraph, IsAPlainLoopInDouble) {
  constexpr uint64_t kGraphs = 1200;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    Drawing drawing(seed);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ", batch " << drawing.graph().batch() << ", time "
                 << drawing.graph().time() << ", " << drawing.graph().nodes_json());
    Check(&drawing.graph(), /*threads=*/1 + static_cast<int>(seed % 2));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace rnn_ops::step
