// The weight space of the cuDNN mock.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/cc/gpu/fake_objects.h"
#include "tests/cc/gpu/fake_rnn.h"

namespace rnn_ops::gpu::fake {

// The positions of the blocks of a pseudo-layer in the weight space, in elements; -1: absent.
struct Place {
  int64_t input = -1, recurrent = -1, projection = -1, input_bias = -1, recurrent_bias = -1;
};

struct WeightSpace {
  std::vector<Place> places;
  int64_t elements = 0;
};

WeightSpace PlaceWeights(const cudnnRNNStruct& rnn);

std::vector<Weights> ReadWeights(const cudnnRNNStruct& rnn, const void* memory);
// Zero gradients in the shapes of the weights.
std::vector<Weights> ZeroGradients(const cudnnRNNStruct& rnn);
void AddWeights(const cudnnRNNStruct& rnn, std::vector<Weights> gradients, void* memory);

}  // namespace rnn_ops::gpu::fake
