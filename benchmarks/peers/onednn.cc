// A C interface to one oneDNN recurrent layer, for benchmarks/peers/onednn.py. oneDNN 2 (as in
// Debian) or 3.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dnnl.hpp"

namespace {

using dnnl::memory;
using dnnl::prop_kind;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Type = memory::data_type;
using Args = std::unordered_map<int, memory>;

constexpr auto kDirection = dnnl::rnn_direction::unidirectional_left2right;

// The tensors of the three primitives under one name each; absent where a cell has none.
struct Layer {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive forward, backward;
  Args forward_args, backward_args;
  // Quantizes to int8; empty for other types.
  dnnl::primitive_attr attr;
  // Plain tensors as the user has them, and the library's layouts and types of them for each pass.
  struct Reorder {
    memory from, to;
    dnnl::reorder primitive;
  };
  // The input is converted in each call, and weights when they change.
  std::vector<Reorder> of_input, before_forward, before_backward, after_backward;
  std::unordered_map<int, memory> plain;
  bool training;
  memory::desc diff_c, diff_w_layer, diff_w_iter;
  long workspace_bytes = 0, scratchpad_bytes = 0;

  memory Take(const memory::desc& desc) {
    memory m(desc, engine);
    std::memset(m.get_data_handle(), 0, desc.get_size());
    return m;
  }
  // scales: of x and h, then of the columns of the weights.
  void Quantize(const float* scales, long columns) {
    constexpr int kOfGatesAndUnits = (1 << 3) + (1 << 4);
    attr.set_rnn_data_qparams(scales[0], 128.0f);
    attr.set_rnn_weights_qparams(kOfGatesAndUnits, {scales + 1, scales + 1 + columns});
  }
  Reorder Convert(const memory& from, const memory& to) {
    return {from, to, dnnl::reorder(dnnl::reorder::primitive_desc(from, to, attr))};
  }
  void Run(std::vector<Reorder>& reorders) {
    for (Reorder& r : reorders) r.primitive.execute(stream, r.from, r.to);
  }
};

// Makes the description of a primitive, which is one step from version 3 on. `hint` is the forward
// one, of a backward primitive.
template <typename Primitive, typename... Rest>
typename Primitive::primitive_desc Describe(const Layer& layer, const Rest&... rest) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(layer.engine, rest..., layer.attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(rest...), layer.attr,
                                            layer.engine);
#endif
}
template <typename Primitive, typename Hint, typename... Rest>
typename Primitive::primitive_desc DescribeBackward(const dnnl::engine& engine, const Hint& hint,
                                                    const Rest&... rest) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(engine, rest..., hint);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(rest...), engine, hint);
#endif
}

// The tensors as the user has them.
struct Descs {
  // x [T, B, I], y [T, B, H], h and c [1, 1, B, H], w_layer [1, 1, I, G, H], w_iter [1, 1, H, G,
  // H], bias [1, 1, G, H]; quantized_x is what the primitive takes.
  memory::desc x, y, h, c, w_layer, w_iter, bias, quantized_x;
};

template <typename ForwardPd, typename BackwardPd>
void Build(Layer* layer, bool has_c, const Descs& d, const ForwardPd& forward_pd,
           const BackwardPd* backward_pd) {
  auto data = [&](int arg, const memory::desc& desc) {
    layer->plain[arg] = layer->Take(desc);
    layer->forward_args[arg] = layer->plain[arg];
  };
  data(DNNL_ARG_SRC_LAYER, d.x);
  if (d.quantized_x != d.x) {
    layer->forward_args[DNNL_ARG_SRC_LAYER] = layer->Take(d.quantized_x);
    layer->of_input.push_back(
        layer->Convert(layer->plain[DNNL_ARG_SRC_LAYER], layer->forward_args[DNNL_ARG_SRC_LAYER]));
  }
  data(DNNL_ARG_SRC_ITER, d.h);
  data(DNNL_ARG_DST_LAYER, d.y);
  data(DNNL_ARG_DST_ITER, d.h);
  data(DNNL_ARG_BIAS, d.bias);
  if (has_c) {
    data(DNNL_ARG_SRC_ITER_C, d.c);
    data(DNNL_ARG_DST_ITER_C, d.c);
  }
  layer->plain[DNNL_ARG_WEIGHTS_LAYER] = layer->Take(d.w_layer);
  layer->plain[DNNL_ARG_WEIGHTS_ITER] = layer->Take(d.w_iter);
  auto packed = [&](int arg, const memory::desc& desc, Args* args,
                    std::vector<Layer::Reorder>* reorders) {
    (*args)[arg] = layer->Take(desc);
    reorders->push_back(layer->Convert(layer->plain[arg], (*args)[arg]));
  };
  packed(DNNL_ARG_WEIGHTS_LAYER, forward_pd.weights_layer_desc(), &layer->forward_args,
         &layer->before_forward);
  packed(DNNL_ARG_WEIGHTS_ITER, forward_pd.weights_iter_desc(), &layer->forward_args,
         &layer->before_forward);
  layer->forward = dnnl::primitive(forward_pd);
  layer->scratchpad_bytes = forward_pd.query_s64(dnnl::query::memory_consumption_s64);
  if (backward_pd == nullptr) return;

  layer->workspace_bytes = static_cast<long>(forward_pd.workspace_desc().get_size());
  layer->scratchpad_bytes = std::max<long>(
      layer->scratchpad_bytes, backward_pd->query_s64(dnnl::query::memory_consumption_s64));
  layer->forward_args[DNNL_ARG_WORKSPACE] = layer->Take(forward_pd.workspace_desc());
  layer->backward_args = layer->forward_args;
  packed(DNNL_ARG_WEIGHTS_LAYER, backward_pd->weights_layer_desc(), &layer->backward_args,
         &layer->before_backward);
  packed(DNNL_ARG_WEIGHTS_ITER, backward_pd->weights_iter_desc(), &layer->backward_args,
         &layer->before_backward);
  auto diff = [&](int arg, const memory::desc& desc) {
    layer->backward_args[arg] = layer->Take(desc);
  };
  diff(DNNL_ARG_DIFF_SRC_LAYER, backward_pd->diff_src_layer_desc());
  diff(DNNL_ARG_DIFF_SRC_ITER, backward_pd->diff_src_iter_desc());
  diff(DNNL_ARG_DIFF_DST_LAYER, backward_pd->diff_dst_layer_desc());
  diff(DNNL_ARG_DIFF_DST_ITER, backward_pd->diff_dst_iter_desc());
  diff(DNNL_ARG_DIFF_BIAS, backward_pd->diff_bias_desc());
  if (has_c) {
    diff(DNNL_ARG_DIFF_SRC_ITER_C, layer->diff_c);
    diff(DNNL_ARG_DIFF_DST_ITER_C, layer->diff_c);
  }
  for (int arg : {DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER}) {
    const int diff_arg =
        arg == DNNL_ARG_WEIGHTS_LAYER ? DNNL_ARG_DIFF_WEIGHTS_LAYER : DNNL_ARG_DIFF_WEIGHTS_ITER;
    diff(diff_arg, arg == DNNL_ARG_WEIGHTS_LAYER ? backward_pd->diff_weights_layer_desc()
                                                 : backward_pd->diff_weights_iter_desc());
    layer->plain[diff_arg] =
        layer->Take(arg == DNNL_ARG_WEIGHTS_LAYER ? layer->diff_w_layer : layer->diff_w_iter);
    layer->after_backward.push_back(
        layer->Convert(layer->backward_args[diff_arg], layer->plain[diff_arg]));
  }
  layer->plain[DNNL_ARG_DIFF_SRC_LAYER] = layer->backward_args[DNNL_ARG_DIFF_SRC_LAYER];
  layer->plain[DNNL_ARG_DIFF_DST_LAYER] = layer->backward_args[DNNL_ARG_DIFF_DST_LAYER];
  layer->backward = dnnl::primitive(*backward_pd);
}

}  // namespace

extern "C" {

// cell: 0 LSTM, 1 GRU with the reset gate after the product, 2 tanh. scales: as in Quantize() for
// int8 weights of an LSTM, null for other types. Null on error.
void* rnn_create(int cell, long T, long B, long I, long H, int training, int bfloat16,
                 const float* scales) try {
  const long gates = cell == 0 ? 4 : cell == 1 ? 3 : 1;
  const Type type = bfloat16 ? Type::bf16 : Type::f32;
  const Dims x{T, B, I}, y{T, B, H}, state{1, 1, B, H}, w_layer{1, 1, I, gates, H},
      w_iter{1, 1, H, gates, H}, bias{1, 1, cell == 1 ? 4 : gates, H};
  // Biases, cell states and all gradients are float32 also where the rest is bfloat16.
  const Descs d{{x, type, Tag::tnc},          {y, type, Tag::tnc},
                {state, type, Tag::ldnc},     {state, Type::f32, Tag::ldnc},
                {w_layer, type, Tag::ldigo},  {w_iter, type, Tag::ldigo},
                {bias, Type::f32, Tag::ldgo}, {x, scales ? Type::u8 : type, Tag::tnc}};
  const memory::desc wl(w_layer, scales ? Type::s8 : type, Tag::any),
      wi(w_iter, scales ? Type::s8 : type, Tag::any);
  const memory::desc dx(x, Type::f32, Tag::tnc), dy(y, Type::f32, Tag::tnc),
      ds(state, Type::f32, Tag::ldnc), dwl(w_layer, Type::f32, Tag::any),
      dwi(w_iter, Type::f32, Tag::any);
  const auto kind = training ? prop_kind::forward_training : prop_kind::forward_inference;
  const auto back = prop_kind::backward;
  auto layer = std::make_unique<Layer>();
  layer->training = training != 0;
  layer->diff_c = ds;
  layer->diff_w_layer = {w_layer, Type::f32, Tag::ldigo};
  layer->diff_w_iter = {w_iter, Type::f32, Tag::ldigo};
  const auto& e = layer->engine;
  if (scales) layer->Quantize(scales, gates * H);
  if (cell == 0) {
    using R = dnnl::lstm_backward;
    const auto f = Describe<dnnl::lstm_forward>(*layer, kind, kDirection, d.quantized_x, d.h, d.c,
                                                wl, wi, d.bias, d.y, d.h, d.c);
    if (training) {
      const auto r = DescribeBackward<R>(e, f, back, kDirection, d.x, d.h, d.c, wl, wi, d.bias, d.y,
                                         d.h, d.c, dx, ds, ds, dwl, dwi, d.bias, dy, ds, ds);
      Build(layer.get(), true, d, f, &r);
    } else {
      Build<decltype(f), R::primitive_desc>(layer.get(), true, d, f, nullptr);
    }
  } else if (cell == 1) {
    using R = dnnl::lbr_gru_backward;
    const auto f = Describe<dnnl::lbr_gru_forward>(*layer, kind, kDirection, d.x, d.h, wl, wi,
                                                   d.bias, d.y, d.h);
    if (training) {
      const auto r = DescribeBackward<R>(e, f, back, kDirection, d.x, d.h, wl, wi, d.bias, d.y, d.h,
                                         dx, ds, dwl, dwi, d.bias, dy, ds);
      Build(layer.get(), false, d, f, &r);
    } else {
      Build<decltype(f), R::primitive_desc>(layer.get(), false, d, f, nullptr);
    }
  } else {
    using R = dnnl::vanilla_rnn_backward;
    const auto act = dnnl::algorithm::eltwise_tanh;
    const auto f = Describe<dnnl::vanilla_rnn_forward>(*layer, kind, act, kDirection, d.x, d.h, wl,
                                                       wi, d.bias, d.y, d.h);
    if (training) {
      const auto r = DescribeBackward<R>(e, f, back, act, kDirection, d.x, d.h, wl, wi, d.bias, d.y,
                                         d.h, dx, ds, dwl, dwi, d.bias, dy, ds);
      Build(layer.get(), false, d, f, &r);
    } else {
      Build<decltype(f), R::primitive_desc>(layer.get(), false, d, f, nullptr);
    }
  }
  return layer.release();
} catch (const std::exception& error) {
  std::fprintf(stderr, "oneDNN: %s\n", error.what());
  return nullptr;
}

// Copies float32 values from or into the plain tensor of an argument, converting to its type: 0 x,
// 1 w_layer [I, G, H], 2 w_iter [H, G, H], 3 bias, 4 y, 5 dy, 6 dx.
void rnn_copy(void* handle, int which, float* values, int into) {
  constexpr int kArgs[] = {DNNL_ARG_SRC_LAYER,     DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,
                           DNNL_ARG_BIAS,          DNNL_ARG_DST_LAYER,     DNNL_ARG_DIFF_DST_LAYER,
                           DNNL_ARG_DIFF_SRC_LAYER};
  auto* layer = static_cast<Layer*>(handle);
  memory& tensor = layer->plain.at(kArgs[which]);
#if DNNL_VERSION_MAJOR >= 3
  const Dims dims = tensor.get_desc().get_dims();
#else
  const Dims dims = tensor.get_desc().dims();
#endif
  const Tag tag = dims.size() == 3 ? Tag::abc : dims.size() == 4 ? Tag::abcd : Tag::abcde;
  memory user({dims, Type::f32, tag}, layer->engine, values);
  memory& from = into ? user : tensor;
  memory& to = into ? tensor : user;
  dnnl::reorder(from, to).execute(layer->stream, from, to);
  layer->stream.wait();
}

// What the library keeps between the passes, and what it takes during one.
long rnn_workspace_bytes(void* handle) { return static_cast<Layer*>(handle)->workspace_bytes; }
long rnn_scratchpad_bytes(void* handle) { return static_cast<Layer*>(handle)->scratchpad_bytes; }

// Packs the weights for inference, once: they do not change there.
void rnn_pack(void* handle) {
  auto* layer = static_cast<Layer*>(handle);
  layer->Run(layer->before_forward);
  layer->stream.wait();
}

// One pass. Training pays for the packing of the weights, which change at every step.
int rnn_run(void* handle) try {
  auto* layer = static_cast<Layer*>(handle);
  if (layer->training) layer->Run(layer->before_forward);
  layer->Run(layer->of_input);
  layer->forward.execute(layer->stream, layer->forward_args);
  if (layer->training) {
    layer->Run(layer->before_backward);
    // The gradients of weights are added to what is there.
    for (int arg : {DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, DNNL_ARG_DIFF_BIAS}) {
      memory& m = layer->backward_args.at(arg);
      std::memset(m.get_data_handle(), 0, m.get_desc().get_size());
    }
    layer->backward.execute(layer->stream, layer->backward_args);
    layer->Run(layer->after_backward);
  }
  layer->stream.wait();
  return 0;
} catch (const std::exception&) {
  return 1;
}

void rnn_destroy(void* handle) { delete static_cast<Layer*>(handle); }

const char* rnn_version() {
  static char text[32];
  const dnnl_version_t* v = dnnl_version();
  std::snprintf(text, sizeof(text), "%d.%d.%d", v->major, v->minor, v->patch);
  return text;
}

}  // extern "C"
