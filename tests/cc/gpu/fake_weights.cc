#include "tests/cc/gpu/fake_weights.h"

#include "tests/cc/gpu/fake_cudnn.h"
#include "tests/cc/gpu/fake_memory.h"

namespace rnn_ops::gpu::fake {
namespace {

constexpr int64_t kBlockBytes = 128;  // with Quirks::padded_weights

// Calls visit(offset, &vector, size) for every block.
template <typename Visit>
void ForEachBlock(const RnnSize& s, const Place& place, int64_t pl, Weights* w, Visit visit) {
  const int64_t rows = s.gates() * s.hidden;
  visit(place.input, &w->input, rows * s.columns(pl / s.dirs));
  visit(place.recurrent, &w->recurrent, rows * s.out);
  visit(place.projection, &w->projection, s.projects() ? s.out * s.hidden : 0);
  visit(place.input_bias, &w->input_bias, rows);
  visit(place.recurrent_bias, &w->recurrent_bias, rows);
}

}  // namespace

WeightSpace PlaceWeights(const cudnnRNNStruct& rnn) {
  const RnnSize& s = rnn.size;
  const int64_t rows = s.gates() * s.hidden;
  const int64_t unit = TheQuirks().padded_weights ? kBlockBytes / SizeOf(ToDtype(rnn.type)) : 1;
  WeightSpace space;
  space.places.resize(s.pseudo_layers());
  const auto take = [&](int64_t size) -> int64_t {
    if (size == 0) return -1;
    const int64_t at = (space.elements + unit - 1) / unit * unit;
    space.elements = at + size;
    return at;
  };
  const auto biases = [&](int64_t pl) {
    const bool skipped = s.columns(pl / s.dirs) == 0;
    if (!(skipped && TheQuirks().no_skip_bias)) space.places[pl].input_bias = take(rows);
    space.places[pl].recurrent_bias = take(rows);
  };
  for (int64_t pl = 0; pl < s.pseudo_layers(); ++pl) {
    Place& place = space.places[pl];
    place.input = take(rows * s.columns(pl / s.dirs));
    place.recurrent = take(rows * s.out);
    if (s.projects()) place.projection = take(s.out * s.hidden);
    if (TheQuirks().padded_weights) biases(pl);
  }
  for (int64_t pl = 0; !TheQuirks().padded_weights && pl < s.pseudo_layers(); ++pl) biases(pl);
  return space;
}

std::vector<Weights> ReadWeights(const cudnnRNNStruct& rnn, const void* memory) {
  const WeightSpace space = PlaceWeights(rnn);
  std::vector<Weights> weights(rnn.size.pseudo_layers());
  for (size_t pl = 0; pl < weights.size(); ++pl) {
    ForEachBlock(rnn.size, space.places[pl], pl, &weights[pl],
                 [&](int64_t at, Vec* block, int64_t size) {
                   block->assign(size, 0);
                   for (int64_t k = 0; at >= 0 && k < size; ++k) {
                     (*block)[k] = Read(ToDtype(rnn.type), memory, at + k);
                   }
                 });
  }
  return weights;
}

void AddWeights(const cudnnRNNStruct& rnn, std::vector<Weights> gradients, void* memory) {
  const WeightSpace space = PlaceWeights(rnn);
  const Dtype dtype = ToDtype(rnn.type);
  for (size_t pl = 0; pl < gradients.size(); ++pl) {
    ForEachBlock(rnn.size, space.places[pl], pl, &gradients[pl],
                 [&](int64_t at, Vec* block, int64_t size) {
                   for (int64_t k = 0; at >= 0 && k < size; ++k) {
                     Write(dtype, memory, at + k, Read(dtype, memory, at + k) + (*block)[k]);
                   }
                 });
  }
}

std::vector<Weights> ZeroGradients(const cudnnRNNStruct& rnn) {
  std::vector<Weights> gradients(rnn.size.pseudo_layers());
  const WeightSpace space = PlaceWeights(rnn);
  for (size_t pl = 0; pl < gradients.size(); ++pl) {
    ForEachBlock(rnn.size, space.places[pl], pl, &gradients[pl],
                 [](int64_t, Vec* block, int64_t size) { block->assign(size, 0); });
  }
  return gradients;
}

}  // namespace rnn_ops::gpu::fake
