// The arithmetic of the cuDNN mock: recurrent stacks in float64, from the equations of
// docs/raw-ops.md. It shares no code with cc/cpu or with the reference of cc/cpu.
#pragma once

#include <cstdint>
#include <vector>

namespace rnn_ops::gpu::fake {

enum Mode { kRelu, kTanh, kLstm, kGru };

struct RnnSize {
  Mode mode;
  bool skip_input;
  int64_t dirs, layers, input, hidden, out;  // out: the size of h

  int64_t gates() const { return mode == kLstm ? 4 : mode == kGru ? 3 : 1; }
  int64_t pseudo_layers() const { return layers * dirs; }
  bool projects() const { return out != hidden; }
  // Columns of the input matrices. 0: the input is added without a product.
  int64_t columns(int64_t layer) const { return layer > 0 ? dirs * out : skip_input ? 0 : input; }
  int64_t width(int64_t layer) const { return layer > 0 ? dirs * out : input; }
};

// The weights of one pseudo-layer, gate after gate. The gradients of the weights use the same
// struct.
struct Weights {
  std::vector<double> input, recurrent, projection, input_bias, recurrent_bias;
};

// Values that forward stores for backward, in one array so that it can be copied. Offsets are in
// doubles.
class Tape {
 public:
  Tape(const RnnSize& size, int64_t max_time, int64_t batch);
  int64_t doubles() const { return doubles_; }

  struct Cell {
    int64_t gates, candidate, c, m, h;  // [G*H], [H] the recurrent half of GRU's candidate, ...
    int64_t dh;                         // [out] by BackwardData; it also overwrites `gates`, and
                                        // `candidate` with the gradient of that half
  };
  Cell cell(int64_t pseudo_layer, int64_t t, int64_t b) const;
  int64_t input(int64_t layer, int64_t t, int64_t b) const;  // [width(layer)], masked
  int64_t mask(int64_t layer, int64_t t, int64_t b) const;   // [width(layer)], layer > 0

 private:
  const RnnSize size_;
  const int64_t batch_, cell_doubles_;
  int64_t steps_, doubles_;
  std::vector<int64_t> inputs_;
};

struct Problem {
  RnnSize size;
  int64_t max_time, batch;
  std::vector<int> lengths;
  std::vector<Weights> weights;  // one for each pseudo-layer
};

// States are [pseudo_layers, batch, width], and sequences are [max_time, batch, width]. Vectors for
// c are empty without LSTM. `tape` must have Tape::doubles() numbers and must contain the dropout
// masks.
void Forward(const Problem& problem, const std::vector<double>& h0, const std::vector<double>& c0,
             double* tape, std::vector<double>* y, std::vector<double>* h_n,
             std::vector<double>* c_n);
void BackwardData(const Problem& problem, const std::vector<double>& h0,
                  const std::vector<double>& c0, const std::vector<double>& dy,
                  std::vector<double> dh_n, std::vector<double> dc_n, double* tape,
                  std::vector<double>* dx, std::vector<double>* dh0, std::vector<double>* dc0);
// Call it after BackwardData. Adds to `gradients`, which has the shapes of problem.weights.
void BackwardWeights(const Problem& problem, const std::vector<double>& h0, const double* tape,
                     std::vector<Weights>* gradients);

}  // namespace rnn_ops::gpu::fake
