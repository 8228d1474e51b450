// Graphs of a stepper with a plain loop in double next to each node.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/step/written_file.h"

namespace rnn_ops::step::testing {

// A value of the graph: the shape, and the elements of the present call in double.
struct Tensor {
  std::string name;
  bool has_time;
  std::vector<int64_t> dims;
  std::vector<double> values;

  int64_t columns() const { return dims.empty() ? 1 : dims.back(); }
  int64_t row_elements() const {
    int64_t count = 1;
    for (const int64_t size : dims) count *= size;
    return count;
  }
};

class ReferenceGraph {
 public:
  // `windows`: no value has time, and T is that of a window.
  ReferenceGraph(uint64_t seed, int64_t batch, int64_t time, bool windows = false)
      : random_(seed), batch_(batch), time_(time), windows_(windows) {}

  // ---- The graph ----

  Tensor* Input(const std::vector<int64_t>& dims, bool has_time = true) {
    return AddInput(dims, has_time, /*words=*/0);
  }
  // int32 from 0 to words - 1.
  Tensor* Words(const std::vector<int64_t>& dims, int64_t words, bool has_time = true) {
    return AddInput(dims, has_time, words);
  }
  // The steps behind the length of a row are 0, or 0.5 without words. No other word is 0.
  Tensor* Padded(const std::vector<int64_t>& dims, int64_t words) {
    Tensor* const x = AddInput(dims, /*has_time=*/false, words);
    inputs_.back().is_padded = true;
    return x;
  }
  void Output(Tensor* value) { outputs_.push_back(value); }

  Tensor* Dense(Tensor* x, int64_t columns, bool has_bias) {
    const int64_t depth = x->columns();
    const auto kernel = Draw("kernel", {depth, columns}, depth);
    const auto bias = has_bias ? Draw("bias", {columns}) : std::vector<float>(columns);
    return Node("dense", "", {x}, x->has_time, With(x->dims, columns), [=](Tensor* y) {
      for (int64_t r = 0; r < Rows(*x); ++r) {
        for (int64_t n = 0; n < columns; ++n) {
          double sum = bias[n];
          for (int64_t k = 0; k < depth; ++k) {
            sum += x->values[r * depth + k] * kernel[k * columns + n];
          }
          y->values[r * columns + n] = sum;
        }
      }
    });
  }

  // x must be an input of the graph: a rounding error could be another level in int8.
  Tensor* QuantizedDense(Tensor* x, int64_t columns) {
    const int64_t depth = x->columns();
    const auto kernel = DrawInt8("kernel", {depth, columns});
    const auto scales = DrawScales("kernel_scale", columns);
    const auto bias = Draw("bias", {columns});
    return Node("quantized_dense", ", \"epsilon\": 1e-7", {x}, x->has_time, With(x->dims, columns),
                [=](Tensor* y) {
                  for (int64_t r = 0; r < Rows(*x); ++r) {
                    float largest = 0;
                    for (int64_t k = 0; k < depth; ++k) {
                      largest = std::max(largest, std::fabs(F(x->values[r * depth + k])));
                    }
                    const float scale = 127 / (largest + 1e-7f);
                    for (int64_t n = 0; n < columns; ++n) {
                      double sum = 0;
                      for (int64_t k = 0; k < depth; ++k) {
                        sum += std::nearbyint(F(x->values[r * depth + k]) * scale) *
                               kernel[k * columns + n];
                      }
                      y->values[r * columns + n] = sum / (double{scales[n]} * scale) + bias[n];
                    }
                  }
                });
  }

  Tensor* Conv(Tensor* x, int64_t width, int64_t columns, int64_t groups, int64_t dilation) {
    const int64_t channels = x->columns(), in = channels / groups, out = columns / groups;
    const int64_t memory = (width - 1) * dilation;
    const auto kernel = Draw("kernel", {width, in, columns}, width * in);
    const auto bias = Draw("bias", {columns});
    const std::string fields =
        ", \"groups\": " + std::to_string(groups) + ", \"dilation\": " + std::to_string(dilation);
    std::vector<double> past(batch_ * memory * channels);
    return Node(
        "conv", fields, {x}, true, {columns},
        [=](Tensor* y) mutable {
          for (int64_t b = 0; b < batch_; ++b) {
            std::vector<double> steps(past.begin() + b * memory * channels,
                                      past.begin() + (b + 1) * memory * channels);
            steps.insert(steps.end(), x->values.begin() + b * time_ * channels,
                         x->values.begin() + (b + 1) * time_ * channels);
            for (int64_t t = 0; t < time_; ++t) {
              for (int64_t n = 0; n < columns; ++n) {
                double sum = bias[n];
                for (int64_t k = 0; k < width; ++k) {
                  for (int64_t i = 0; i < in; ++i) {
                    sum += steps[(t + k * dilation) * channels + n / out * in + i] *
                           kernel[(k * in + i) * columns + n];
                  }
                }
                y->values[(b * time_ + t) * columns + n] = sum;
              }
            }
            std::copy(steps.end() - memory * channels, steps.end(),
                      past.begin() + b * memory * channels);
          }
        },
        memory > 0 ? 1 : 0);
  }

  // relu is leaky and limited. `name` may also be softmax or log_softmax.
  Tensor* Activation(Tensor* x, const std::string& name) {
    std::string fields = ", \"activation\": \"" + name + "\"";
    if (name == "relu") fields += ", \"alpha\": 0.25, \"largest\": 3";
    if (name == "elu") fields += ", \"alpha\": 0.75";
    return Node("activation", fields, {x}, x->has_time, x->dims, [=](Tensor* y) {
      y->values = x->values;
      if (name == "softmax" || name == "log_softmax") {
        for (int64_t r = 0; r < Rows(*x); ++r) {
          double* const row = y->values.data() + r * x->columns();
          const double largest = *std::max_element(row, row + x->columns());
          double sum = 0;
          for (int64_t c = 0; c < x->columns(); ++c) sum += std::exp(row[c] - largest);
          for (int64_t c = 0; c < x->columns(); ++c) {
            row[c] -= largest + std::log(sum);
            if (name == "softmax") row[c] = std::exp(row[c]);
          }
        }
        return;
      }
      for (double& value : y->values) value = Activate(name, value);
    });
  }

  Tensor* Scale(Tensor* x) {
    const int64_t columns = x->columns();
    const auto scale = Draw("scale", {columns}), offset = Draw("offset", {columns});
    return Node("scale", "", {x}, x->has_time, x->dims, [=](Tensor* y) {
      for (size_t i = 0; i < x->values.size(); ++i) {
        y->values[i] = x->values[i] * scale[i % columns] + offset[i % columns];
      }
    });
  }

  Tensor* Norm(Tensor* x, bool centered) {
    const int64_t columns = x->columns();
    const auto scale = Draw("scale", {columns}), offset = Draw("offset", {columns});
    const std::string fields =
        std::string(", \"epsilon\": 0.125, \"centered\": ") + (centered ? "true" : "false");
    return Node("norm", fields, {x}, x->has_time, x->dims, [=](Tensor* y) {
      for (int64_t r = 0; r < Rows(*x); ++r) {
        const double* const row = x->values.data() + r * columns;
        double mean = 0, variance = 0;
        for (int64_t c = 0; c < columns && centered; ++c) mean += row[c] / columns;
        for (int64_t c = 0; c < columns; ++c) variance += std::pow(row[c] - mean, 2) / columns;
        for (int64_t c = 0; c < columns; ++c) {
          y->values[r * columns + c] =
              (row[c] - mean) / std::sqrt(variance + 0.125) * scale[c] + offset[c];
        }
      }
    });
  }

  Tensor* Embedding(Tensor* x, int64_t words, int64_t columns, bool int8) {
    const auto table = int8 ? DrawInt8("table", {words, columns}) : Draw("table", {words, columns});
    const auto scale = int8 ? DrawScales("scale", words) : std::vector<float>(words, 1.0f);
    std::vector<int64_t> dims = x->dims;
    dims.push_back(columns);
    return Node("embedding", "", {x}, x->has_time, dims, [=](Tensor* y) {
      for (size_t i = 0; i < x->values.size(); ++i) {
        const auto word = static_cast<int64_t>(x->values[i]);
        for (int64_t c = 0; c < columns; ++c) {
          y->values[i * columns + c] = double{table[word * columns + c]} / scale[word];
        }
      }
    });
  }

  Tensor* Cast(Tensor* x, int64_t words) {
    const std::string fields = ", \"smallest\": 0, \"largest\": " + std::to_string(words - 1);
    return Node("cast", fields, {x}, x->has_time, x->dims,
                [=](Tensor* y) { y->values = x->values; });
  }

  Tensor* Combine(const std::vector<Tensor*>& x, const std::string& function) {
    const std::string fields = ", \"function\": \"" + function + "\"";
    return Node("combine", fields, x, x[0]->has_time, x[0]->dims, [=](Tensor* y) {
      for (size_t i = 0; i < y->values.size(); ++i) {
        double result = x[0]->values[i];
        for (size_t k = 1; k < x.size(); ++k) {
          const double value = x[k]->values[i];
          result = function == "subtract"   ? result - value
                   : function == "multiply" ? result * value
                   : function == "maximum"  ? std::max(result, value)
                   : function == "minimum"  ? std::min(result, value)
                                            : result + value;
        }
        if (function == "average") result /= static_cast<double>(x.size());
        y->values[i] = result;
      }
    });
  }

  Tensor* Concatenate(const std::vector<Tensor*>& x) {
    int64_t columns = 0;
    for (const Tensor* part : x) columns += part->columns();
    return Node("concatenate", "", x, x[0]->has_time, With(x[0]->dims, columns), [=](Tensor* y) {
      y->values.clear();
      for (int64_t r = 0; r < Rows(*x[0]); ++r) {
        for (const Tensor* part : x) {
          const auto begin = part->values.begin() + r * part->columns();
          y->values.insert(y->values.end(), begin, begin + part->columns());
        }
      }
    });
  }

  Tensor* Reshape(Tensor* x, const std::vector<int64_t>& dims) {
    return Node("reshape", ", \"dims\": " + List(dims), {x}, x->has_time, dims,
                [=](Tensor* y) { y->values = x->values; });
  }

  Tensor* LastStep(Tensor* x, Tensor* lengths = nullptr) {
    const std::vector<int64_t> dims(x->dims.begin() + (x->has_time ? 0 : 1), x->dims.end());
    const int64_t time = x->has_time ? time_ : x->dims[0];
    return NodeWithLengths("last_step", "", x, lengths, dims, [=](Tensor* y) {
      const int64_t row = y->row_elements();
      for (int64_t b = 0; b < batch_; ++b) {
        for (int64_t i = 0; i < row; ++i) {
          const int64_t last = LengthOf(lengths, b, time) - 1;
          y->values[b * row + i] = last < 0 ? 0 : x->values[(b * time + last) * row + i];
        }
      }
    });
  }

  // ---- Nodes of windows ----

  Tensor* Lengths(Tensor* padded, bool words) {
    const std::string fields = words ? ", \"words\": true" : ", \"words\": false, \"value\": 0.5";
    return Node("lengths", fields, {padded}, false, {}, [=](Tensor* y) {
      const int64_t time = padded->dims[0], row = padded->row_elements() / time;
      for (int64_t b = 0; b < batch_; ++b) {
        y->values[b] = 0;
        for (int64_t t = 0; t < time; ++t) {
          for (int64_t i = 0; i < row; ++i) {
            const double x = padded->values[(b * time + t) * row + i];
            if (x != (words ? 0 : 0.5)) y->values[b] = static_cast<double>(t + 1);
          }
        }
      }
    });
  }

  Tensor* Mask(Tensor* x, Tensor* lengths, bool hold) {
    return OfSteps("mask", std::string(", \"hold\": ") + (hold ? "true" : "false"), x, lengths,
                   x->dims[0], [=](int64_t b, int64_t t) {
                     const int64_t length = LengthOf(lengths, b, x->dims[0]);
                     return t < length ? t : hold ? length - 1 : -1;
                   });
  }

  Tensor* Reverse(Tensor* x, Tensor* lengths) {
    return OfSteps("reverse", "", x, lengths, x->dims[0], [=](int64_t b, int64_t t) {
      const int64_t length = LengthOf(lengths, b, x->dims[0]);
      return t < length ? length - 1 - t : t;
    });
  }

  Tensor* Crop(Tensor* x, int64_t begin, int64_t count) {
    const std::string fields =
        ", \"begin\": " + std::to_string(begin) + ", \"count\": " + std::to_string(count);
    return OfSteps("crop", fields, x, nullptr, count,
                   [=](int64_t, int64_t t) { return begin + t; });
  }

  Tensor* Repeat(Tensor* x, int64_t times) {
    return OfSteps("repeat", ", \"times\": " + std::to_string(times), x, nullptr,
                   x->dims[0] * times, [=](int64_t, int64_t t) { return t / times; });
  }

  Tensor* Pool(Tensor* x, Tensor* lengths, const std::string& function, int64_t width,
               int64_t stride, int64_t before, int64_t behind) {
    const int64_t time = x->dims[0], count = (time + before + behind - width) / stride + 1;
    std::vector<int64_t> dims = x->dims;
    dims[0] = count;
    const std::string fields =
        ", \"function\": \"" + function + "\", \"width\": " + std::to_string(width) +
        ", \"stride\": " + std::to_string(stride) + ", \"padding\": " + List({before, behind});
    return NodeWithLengths("pool", fields, x, lengths, dims, [=](Tensor* y) {
      const int64_t row = x->row_elements() / time;
      for (int64_t i = 0; i < batch_ * count * row; ++i) {
        const int64_t b = i / row / count, k = i / row % count, c = i % row;
        double largest = -std::numeric_limits<double>::infinity(), sum = 0, steps = 0;
        for (int64_t t = k * stride - before; t < k * stride - before + width; ++t) {
          if (t < 0 || t >= LengthOf(lengths, b, time)) continue;
          const double value = x->values[(b * time + t) * row + c];
          largest = std::max(largest, value);
          sum += value;
          ++steps;
        }
        y->values[i] = function == "maximum" ? largest : sum / steps;
      }
    });
  }

  Tensor* Permute(Tensor* x, const std::vector<int64_t>& order) {
    std::vector<int64_t> dims;
    for (const int64_t k : order) dims.push_back(x->dims[k]);
    return Node("permute", ", \"order\": " + List(order), {x}, false, dims, [=](Tensor* y) {
      const int64_t count = x->row_elements();
      for (int64_t i = 0; i < batch_ * count; ++i) {
        std::vector<int64_t> index(dims.size());  // in x
        int64_t rest = i % count, at = 0;
        for (size_t k = dims.size(); k-- > 0; rest /= dims[k]) index[order[k]] = rest % dims[k];
        for (size_t k = 0; k < dims.size(); ++k) at = at * x->dims[k] + index[k];
        y->values[i] = x->values[i / count * count + at];
      }
    });
  }

  Tensor* WindowConv(Tensor* x, int64_t width, int64_t columns, int64_t groups, int64_t dilation,
                     int64_t stride, int64_t before, int64_t behind) {
    const int64_t time = x->dims[0], channels = x->columns();
    const int64_t in = channels / groups, out = columns / groups;
    const int64_t count = (time + before + behind - (width - 1) * dilation - 1) / stride + 1;
    const auto kernel = Draw("kernel", {width, in, columns}, width * in);
    const auto bias = Draw("bias", {columns});
    const std::string fields =
        ", \"groups\": " + std::to_string(groups) + ", \"dilation\": " + std::to_string(dilation) +
        ", \"stride\": " + std::to_string(stride) + ", \"padding\": " + List({before, behind});
    return Node("conv", fields, {x}, false, {count, columns}, [=](Tensor* y) {
      for (int64_t i = 0; i < batch_ * count * columns; ++i) {
        const int64_t b = i / columns / count, k = i / columns % count, n = i % columns;
        double sum = bias[n];
        for (int64_t w = 0; w < width; ++w) {
          const int64_t t = k * stride - before + w * dilation;
          for (int64_t c = 0; c < in && t >= 0 && t < time; ++c) {
            sum += x->values[(b * time + t) * channels + n / out * in + c] *
                   kernel[(w * in + c) * columns + n];
          }
        }
        y->values[i] = sum;
      }
    });
  }

  // ---- Recurrent nodes ----

  // A LayerRNN: lstm, gru, gru_reset_before, rnn_tanh or rnn_relu. In a window its states begin
  // with those given, [B, units], or with zeros, and outputs behind the lengths are zeros.
  Tensor* Rnn(Tensor* x, const std::string& mode, int64_t units,
              const std::vector<Tensor*>& initial = {}, Tensor* lengths = nullptr) {
    const bool is_gru = mode.rfind("gru", 0) == 0, is_lstm = mode == "lstm";
    const int64_t inputs = x->columns(), gates = is_lstm ? 4 : is_gru ? 3 : 1;
    const int64_t row = gates * units;
    const auto w = Draw("kernel", {inputs, row}, inputs);
    const auto r = Draw("recurrent_kernel", {units, row}, 4 * units);
    const bool two_biases = mode == "gru";  // that of x, and that of h
    const auto bias = two_biases ? Draw("bias", {2, row}, 4) : Draw("bias", {row}, 4);
    std::vector<double> h(batch_ * units), c(batch_ * units);
    std::string fields =
        ", \"kind\": \"LayerRNN\", \"attrs\": {\"rnn_mode\": \"" + mode + "\"" + kUsual + "}";
    const auto step = [=](const double* in, double* h, double* c) {
      std::vector<double> a(row), q(row);
      for (int64_t n = 0; n < row; ++n) {
        a[n] = bias[n];
        q[n] = two_biases ? bias[row + n] : 0;
        for (int64_t k = 0; k < inputs; ++k) a[n] += in[k] * w[k * row + n];
        const bool after_reset = mode == "gru_reset_before" && n >= 2 * units;
        for (int64_t k = 0; k < units && !after_reset; ++k) q[n] += h[k] * r[k * row + n];
      }
      const auto s = [&](int64_t n) { return Activate("sigmoid", a[n] + q[n]); };
      const std::vector<double> before(h, h + units);
      for (int64_t u = 0; u < units; ++u) {
        if (is_lstm) {
          c[u] = s(units + u) * c[u] + s(u) * std::tanh(a[2 * units + u] + q[2 * units + u]);
          h[u] = s(3 * units + u) * std::tanh(c[u]);
        } else if (is_gru) {
          double recurrent = s(units + u) * q[2 * units + u];
          if (mode == "gru_reset_before") {
            recurrent = q[2 * units + u];
            for (int64_t k = 0; k < units; ++k) {
              recurrent += s(units + k) * before[k] * r[k * row + 2 * units + u];
            }
          }
          const double z = s(u), n = std::tanh(a[2 * units + u] + recurrent);
          h[u] = z * before[u] + (1 - z) * n;
        } else {
          h[u] = mode == "rnn_relu" ? std::max(a[u] + q[u], 0.0) : std::tanh(a[u] + q[u]);
        }
      }
    };
    const int64_t time = x->has_time ? time_ : x->dims[0];
    std::vector<Tensor*> from = {x};
    from.insert(from.end(), initial.begin(), initial.end());
    if (lengths != nullptr) {
      from.push_back(lengths);
      fields += ", \"lengths\": true";
    }
    return Node(
        "rnn", fields, from, x->has_time,
        x->has_time ? std::vector<int64_t>{units} : std::vector<int64_t>{time, units},
        [=](Tensor* y) mutable {
          if (!x->has_time) {
            h = initial.empty() ? std::vector<double>(batch_ * units) : initial[0]->values;
            c = initial.size() < 2 ? std::vector<double>(batch_ * units) : initial[1]->values;
          }
          for (int64_t i = 0; i < batch_ * time; ++i) {
            if (i % time >= LengthOf(lengths, i / time, time)) {
              std::fill_n(y->values.begin() + i * units, units, 0.0);
              continue;
            }
            double* const state = h.data() + i / time * units;
            step(x->values.data() + i * inputs, state, c.data() + i / time * units);
            std::copy(state, state + units, y->values.begin() + i * units);
          }
        },
        !x->has_time ? 0
        : is_lstm    ? 2
                     : 1);
  }

  // Nodes without a reference.

  Tensor* QuantizedRnn(Tensor* x, const std::string& mode, int64_t units) {
    const int64_t row = (mode == "lstm" ? 4 : mode == "gru" ? 3 : 1) * units;
    DrawInt8("kernel", {x->columns(), row});
    DrawInt8("recurrent_kernel", {units, row});
    for (const char* name : {"kernel_scale", "recurrent_kernel_scale"}) {
      for (float& scale : Add(name, {row}).values) scale = 1e-3f;
    }
    return Node(
        "rnn",
        ", \"kind\": \"QuantizedLayerRNN\", \"attrs\": {\"rnn_mode\": \"" + mode + "\"" + kUsual +
            "}",
        {x}, true, {units}, [](Tensor*) {}, mode == "lstm" ? 2 : 1);
  }

  // Two layers of an LSTM.
  Tensor* Stack(Tensor* x, int64_t units) {
    Draw("params", {4 * units * (x->columns() + 3 * units) + 16 * units}, 4 * units);
    return Node(
        "rnn",
        ", \"kind\": \"CudnnRNNV3\", \"num_layers\": 2, \"num_units\": " + std::to_string(units) +
            ", \"attrs\": {\"rnn_mode\": \"lstm\", \"input_mode\": \"linear_input\", "
            "\"direction\": \"unidirectional\", \"num_proj\": 0" +
            kUsual + "}",
        {x}, true, {units}, [](Tensor*) {}, 2);
  }

  // ---- The file and its calls ----

  std::string File() const {
    std::string outputs;
    for (size_t k = 0; k < outputs_.size(); ++k) {
      outputs += (k == 0 ? "" : ", ") + std::string("{\"name\": \"output_") + std::to_string(k) +
                 "\", \"value\": \"" + outputs_[k]->name + "\"}";
    }
    const std::string window = "\"window\": " + std::to_string(time_) + ", ";
    return WriteFile("{" + (windows_ ? window : "") + "\"inputs\": [" + inputs_json_ +
                         "], \"nodes\": [" + nodes_json_ + "], \"outputs\": [" + outputs + "]}",
                     weights_, windows_ ? "2" : "1");
  }

  // Draws the inputs of the next call, and runs the reference.
  void Step() {
    for (GraphInput& input : inputs_) {
      std::uniform_int_distribution<int32_t> word(input.is_padded ? 1 : 0,
                                                  static_cast<int32_t>(input.words) - 1);
      const int64_t time = input.is_padded ? input.tensor->dims[0] : 1;
      const int64_t row = input.tensor->row_elements() / time;
      std::uniform_int_distribution<int64_t> length(0, time);
      int64_t behind = 0;
      for (size_t i = 0; i < input.floats.size(); ++i) {
        const int64_t t = static_cast<int64_t>(i) / row % time;
        if (static_cast<int64_t>(i) % (row * time) == 0) behind = length(random_);
        if (input.is_padded && t >= behind) {
          input.integers[i] = 0;
          input.floats[i] = 0.5f;
          input.tensor->values[i] = input.words > 0 ? 0 : 0.5;
          continue;
        }
        if (input.words > 0) {
          input.integers[i] = word(random_);
          input.tensor->values[i] = input.integers[i];
        } else {
          input.floats[i] = normal_(random_);
          input.tensor->values[i] = input.floats[i];
        }
      }
    }
    for (const auto& node : nodes_) node();
  }

  std::vector<const void*> InputPointers() const {
    std::vector<const void*> pointers;
    for (const GraphInput& input : inputs_) {
      pointers.push_back(input.words > 0 ? static_cast<const void*>(input.integers.data())
                                         : input.floats.data());
    }
    return pointers;
  }
  const std::vector<Tensor*>& outputs() const { return outputs_; }
  const std::string& nodes_json() const { return nodes_json_; }
  int64_t batch() const { return batch_; }
  int64_t time() const { return time_; }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr const char* kUsual =
      ", \"activation\": \"tanh\", \"recurrent_activation\": \"sigmoid\", \"cell_clip\": 0, "
      "\"proj_clip\": 0, \"zoneout_h\": 0, \"zoneout_c\": 0, \"layer_norm_epsilon\": 0.001";

  struct GraphInput {
    Tensor* tensor;
    int64_t words;  // 0: float32
    std::vector<float> floats;
    std::vector<int32_t> integers;
    bool is_padded = false;
  };

  static int64_t LengthOf(const Tensor* lengths, int64_t b, int64_t time) {
    return lengths == nullptr ? time : static_cast<int64_t>(lengths->values[b]);
  }

  Tensor* NodeWithLengths(const std::string& op, const std::string& fields, Tensor* x,
                          Tensor* lengths, const std::vector<int64_t>& dims,
                          std::function<void(Tensor*)> reference) {
    if (lengths == nullptr) return Node(op, fields, {x}, false, dims, std::move(reference));
    return Node(op, fields + ", \"lengths\": true", {x, lengths}, false, dims,
                std::move(reference));
  }

  // `from`: the step of x that becomes step t of row b, or -1 for zeros.
  Tensor* OfSteps(const std::string& op, const std::string& fields, Tensor* x, Tensor* lengths,
                  int64_t count, std::function<int64_t(int64_t b, int64_t t)> from) {
    std::vector<int64_t> dims = x->dims;
    dims[0] = count;
    const int64_t row = x->row_elements() / x->dims[0];
    return NodeWithLengths(op, fields, x, lengths, dims, [=](Tensor* y) {
      for (int64_t i = 0; i < batch_ * count * row; ++i) {
        const int64_t b = i / row / count, t = from(b, i / row % count);
        y->values[i] = t < 0 ? 0 : x->values[(b * x->dims[0] + t) * row + i % row];
      }
    });
  }

  static float F(double value) { return static_cast<float>(value); }

  static double Activate(const std::string& name, double x) {
    const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
    const auto hard = [](double v) { return std::clamp(v / 6 + 0.5, 0.0, 1.0); };
    const auto softplus = [](double v) {
      return std::log1p(std::exp(-std::fabs(v))) + std::max(v, 0.0);
    };
    if (name == "relu") return x > 0 ? std::min(x, 3.0) : 0.25 * x;
    if (name == "tanh") return std::tanh(x);
    if (name == "sigmoid") return sigmoid(x);
    if (name == "hard_sigmoid") return hard(x);
    if (name == "exponential") return std::exp(x);
    if (name == "softplus") return softplus(x);
    if (name == "softsign") return x / (1 + std::fabs(x));
    if (name == "elu") return x > 0 ? x : 0.75 * std::expm1(x);
    if (name == "selu") {
      return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
    }
    if (name == "silu") return x * sigmoid(x);
    if (name == "hard_silu") return x * hard(x);
    if (name == "gelu") return 0.5 * x * std::erfc(-x * std::sqrt(0.5));
    if (name == "mish") return x * std::tanh(softplus(x));
    return std::numeric_limits<double>::quiet_NaN();
  }

  static std::string List(const std::vector<int64_t>& sizes) {
    std::string text = "[";
    for (size_t k = 0; k < sizes.size(); ++k) {
      text += (k == 0 ? "" : ", ") + std::to_string(sizes[k]);
    }
    return text + "]";
  }

  static std::vector<int64_t> With(std::vector<int64_t> dims, int64_t columns) {
    dims.back() = columns;
    return dims;
  }

  int64_t Rows(const Tensor& x) const {
    return static_cast<int64_t>(x.values.size()) / x.columns();
  }

  Tensor* Add(const std::string& name, bool has_time, const std::vector<int64_t>& dims) {
    Tensor& tensor = tensors_.emplace_back(Tensor{name, has_time, dims, {}});
    tensor.values.resize(batch_ * (has_time ? time_ : 1) * tensor.row_elements());
    return &tensor;
  }

  Tensor* AddInput(const std::vector<int64_t>& dims, bool has_time, int64_t words) {
    Tensor* const tensor = Add("x" + std::to_string(inputs_.size()), has_time, dims);
    inputs_json_ += (inputs_.empty() ? "" : ", ") + std::string("{\"name\": \"") + tensor->name +
                    "\", \"dtype\": \"" + (words > 0 ? "int32" : "float32") +
                    "\", \"has_time\": " + (has_time ? "true" : "false") +
                    ", \"dims\": " + List(dims) + "}";
    const size_t count = tensor->values.size();
    inputs_.push_back({tensor, words, std::vector<float>(count), std::vector<int32_t>(count)});
    return tensor;
  }

  // ---- The weights of the next node ----

  Weights& Add(const std::string& name, const std::vector<int64_t>& shape) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const std::string in_file = name + std::to_string(weights_.size());
    weights_json_ += (weights_json_.empty() ? "\"" : ", \"") + name + "\": \"" + in_file + "\"";
    return weights_.emplace_back(Weights{in_file, shape, std::vector<float>(count)});
  }
  // Of the size 1 / sqrt(depth), which keeps the sums of `depth` products small.
  std::vector<float> Draw(const std::string& name, const std::vector<int64_t>& shape,
                          int64_t depth = 1) {
    Weights& weights = Add(name, shape);
    for (float& value : weights.values) {
      value = normal_(random_) / std::sqrt(static_cast<float>(depth));
    }
    return weights.values;
  }
  std::vector<float> DrawInt8(const std::string& name, const std::vector<int64_t>& shape) {
    Weights& weights = Add(name, shape);
    weights.int8 = true;
    for (float& value : weights.values) value = static_cast<float>(random_() % 255) - 127;
    return weights.values;
  }
  std::vector<float> DrawScales(const std::string& name, int64_t count) {
    Weights& weights = Add(name, {count});
    for (float& value : weights.values) value = 100 + 10 * normal_(random_);
    return weights.values;
  }

  Tensor* Node(const std::string& op, const std::string& fields, const std::vector<Tensor*>& inputs,
               bool has_time, const std::vector<int64_t>& dims,
               std::function<void(Tensor*)> reference, int states = 0) {
    const std::string number = std::to_string(nodes_.size());
    Tensor* const y = Add("y" + number, has_time, dims);
    std::string from, state_names;
    for (const Tensor* input : inputs) {
      from += (from.empty() ? "\"" : ", \"") + input->name + "\"";
    }
    for (int k = 0; k < states; ++k) {
      state_names += (k == 0 ? "\"s" : ", \"s") + number + "_" + std::to_string(k) + "\"";
    }
    nodes_json_ += (nodes_.empty() ? "" : ", ") + std::string("{\"op\": \"") + op +
                   "\", \"name\": \"n" + number + "\", \"inputs\": [" + from +
                   "], \"outputs\": [\"" + y->name + "\"], \"states\": [" + state_names +
                   "], \"weights\": {" + weights_json_ + "}" + fields + "}";
    weights_json_.clear();
    nodes_.push_back([reference = std::move(reference), y]() mutable { reference(y); });
    return y;
  }

  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  const int64_t batch_, time_;
  const bool windows_;
  std::deque<Tensor> tensors_;
  std::vector<GraphInput> inputs_;
  std::vector<Tensor*> outputs_;
  std::vector<std::function<void()>> nodes_;
  std::vector<Weights> weights_;
  std::string inputs_json_, nodes_json_, weights_json_;
};

}  // namespace rnn_ops::step::testing
