#include "tests/cc/cpu/piece_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "cc/cpu/pass/backward/gradients.h"
#include "cc/cpu/pass/forward/step_product.h"
#include "cc/cpu/product/dot.h"
#include "cc/cpu/product/gemm.h"
#include "cc/cpu/product/panels.h"
#include "cc/cpu/rows/masks.h"
#include "cc/cpu/rows/operand_rows.h"
#include "cc/cpu/rows/sequence.h"
#include "cc/cpu/simd/operand.h"
#include "cc/cpu/simd/vec.h"

namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE {
namespace {

// The value of memory that must not be written or must not be read.
constexpr double kUntouched = 77;

class Checker {
 public:
  explicit Checker(void (*fail)(const char*)) : fail_(fail) {}

  template <typename A, typename B>
  void Equal(const std::vector<A>& got, const std::vector<B>& want, const std::string& what) {
    values_ += static_cast<int64_t>(want.size());
    for (size_t i = 0; i < want.size(); ++i) {
      const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
      if (g == w || failures_ >= 20) continue;
      char text[400];
      std::snprintf(text, sizeof(text), "%s: element %d is %g instead of %g", what.c_str(),
                    static_cast<int>(i), g, w);
      fail_(text);
      ++failures_;
      return;
    }
  }
  int64_t values() const { return values_; }

 private:
  void (*fail_)(const char*);
  int failures_ = 0;
  int64_t values_ = 0;
};

template <typename... Parts>
std::string Text(const Parts&... parts) {
  std::string text;
  auto add = [&text](const auto& part) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(part)>>) {
      text += std::to_string(part);
    } else {
      text += part;
    }
    text += ' ';
  };
  (add(parts), ...);
  return text;
}

// Element (i, k) of a factor, from a hash: an integer from -2 to 2.
double Value(int64_t seed, int64_t i, int64_t k) {
  uint64_t x = static_cast<uint64_t>(seed * 1000003 + i * 10007 + k);
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
  return static_cast<double>((x >> 40) % 5) - 2;
}

// The operand with the values fn(k * kPerOperand<E>) and following.
template <typename E, typename F>
E MakeOperand(int64_t k, F&& fn) {
  if constexpr (std::is_same_v<E, Pair>) {
    auto bits = [](double v) {
      const float f = static_cast<float>(v);
      uint32_t b;
      std::memcpy(&b, &f, sizeof(b));
      return static_cast<uint16_t>(b >> 16);
    };
    return {bits(fn(2 * k)), bits(fn(2 * k + 1))};
  } else {
    return static_cast<E>(fn(k));
  }
}

// ---- Products ----

// One product with shapes that RowGemm supports.
struct Product {
  int64_t rows, run, runs, columns;
  Start start;
  bool scaled;
  BatchRows batch;
  bool reversed;
};

// The place of element (k, x) in a panel of `depth` rows and nv vectors.
template <typename E>
int64_t PlaceInPanel(int nv, int64_t depth, int64_t k, int64_t x) {
  constexpr int V = kOperandLanes<E>;
  if (!IsHalved<E>(nv)) return k * nv * V + x;
  return x / (2 * V) * depth * 2 * V + k * 2 * V + x % (2 * V);
}

// Checks C of a product whose panels have `nv` vectors and are `stride` columns of C apart. The
// runs in a row of A begin at element 1 and are `run + 2` elements apart. The panels of B have rows
// that no run uses.
template <typename T, typename E, bool Gated, typename RunPanels>
void CheckProduct(Checker& check, const Product& p, int nv, int64_t stride, bool narrow_last,
                  RunPanels&& run_panels) {
  constexpr int V = kLanes<T>;
  constexpr int kPer = kPerOperand<E>;
  const int64_t panels = CeilDiv(p.columns, stride);
  const bool split_runs = p.runs > 1;
  const int64_t a_stride = split_runs ? p.run + 2 : 0, a_offset = split_runs ? 1 : 0;
  const int64_t b_first = split_runs ? 1 : 0, b_stride = split_runs ? p.run + 1 : p.run;
  const int64_t b_depth = b_first + b_stride * p.runs;
  const int per_k = Gated ? nv : 1;
  const int64_t a_row = a_offset + std::max(a_stride, p.run) * p.runs;

  // The value at k in row i of A for vector v, and the value of B at (k, column).
  auto a_value = [&](int64_t i, int64_t k, int v) { return Value(1 + (Gated ? v : 0), i, k); };
  auto b_value = [&](int64_t k, int64_t column) { return Value(9, k, column); };

  std::vector<E> a(p.rows * a_row * per_k);
  std::vector<const void*> a_rows(p.rows);
  for (int64_t i = 0; i < p.rows; ++i) {
    a_rows[i] = a.data() + i * a_row * per_k;
    for (int64_t k = 0; k < a_row; ++k) {
      for (int v = 0; v < per_k; ++v) {
        a[(i * a_row + k) * per_k + v] =
            MakeOperand<E>(k, [&](int64_t at) { return a_value(i, at, v); });
      }
    }
  }
  // The last panel of a dense product has only the vectors of its columns.
  auto vectors_of = [&](int64_t panel) {
    return narrow_last ? PanelVectors(CeilDiv(p.columns, V), panel) : nv;
  };
  std::vector<E> b;
  for (int64_t panel = 0; panel < panels; ++panel) {
    const int vectors = vectors_of(panel);
    const size_t begin = b.size();
    b.resize(begin + b_depth * vectors * V);
    for (int64_t k = 0; k < b_depth; ++k) {
      for (int64_t x = 0; x < vectors * V; ++x) {
        b[begin + PlaceInPanel<E>(vectors, b_depth, k, x)] =
            MakeOperand<E>(k, [&](int64_t at) { return b_value(at, panel * stride + x); });
      }
    }
  }
  const int64_t ldc = p.columns + 3;
  std::vector<T> c(p.rows * ldc, T(kUntouched)), bias(panels * nv * V), scale(p.rows * ldc);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<T>(Value(3, 0, i));
  for (size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<T>(Value(4, 0, i));
  std::vector<T> want = c;
  std::vector<T*> c_rows(p.rows);
  std::vector<const T*> scale_rows(p.rows);
  for (int64_t i = 0; i < p.rows; ++i) {
    c_rows[i] = c.data() + i * ldc;
    scale_rows[i] = scale.data() + i * ldc;
    for (int64_t panel = 0; panel < panels; ++panel) {
      const int64_t n = std::min<int64_t>(vectors_of(panel) * V, p.columns - panel * stride);
      for (int64_t x = 0; x < n; ++x) {
        const int64_t column = panel * stride + x;
        double sum = 0;
        for (int64_t r = 0; r < p.runs; ++r) {
          for (int64_t k = 0; k < p.run * kPer; ++k) {
            sum += a_value(i, (a_offset + r * a_stride) * kPer + k, static_cast<int>(x / V)) *
                   b_value((b_first + r * b_stride) * kPer + k, column);
          }
        }
        T& at = want[i * ldc + column];
        if (p.scaled) sum *= scale[i * ldc + column];
        if (p.start == Start::kBias) sum += bias[panel * nv * V + x];
        if (p.start == Start::kAccumulate) sum += at;
        at = static_cast<T>(sum);
      }
    }
  }
  RowGemm<T> g;
  g.a = a_rows.data();
  g.c = c_rows.data();
  g.rows = p.rows;
  g.k = {p.run, p.runs, a_offset, a_stride, b_first, b_stride, b_depth};
  g.b = b.data();
  g.bias = bias.data();
  g.columns = p.columns;
  g.panel_stride = stride;
  g.start = p.start;
  if (p.scaled) g.scale = scale_rows.data();
  g.batch = p.batch;
  g.reversed = p.reversed;
  if (std::is_same_v<E, Pair>) g.operands = OperandType::kPairs;
  run_panels(g, panels);
  check.Equal(
      c, want,
      Text("product of", sizeof(T), "bytes, operand", kPer, "nv", nv, "gated", Gated, "rows",
           p.rows, "run", p.run, "runs", p.runs, "columns", p.columns, "start",
           static_cast<int>(p.start), "scaled", p.scaled, "batch", static_cast<int>(p.batch)));
}

// Calls fn(product) for every kind of tail in rows and K. The caller sets the columns.
template <int NV, typename F>
void ForProducts(F&& fn) {
  constexpr int M = kTileRows<NV>;
  for (const int64_t rows : {1, 2, 3, M - 1, M, M + 1, 2 * M + 1}) {
    for (const int64_t run : {0, 1, 2, 5, 32, 517}) {
      if (rows < 1 || (run > 32 && rows > M + 1)) continue;
      for (const Start start : {Start::kZero, Start::kBias, Start::kAccumulate}) {
        const BatchRows batch = BatchRowsOf(rows == 1 && run % 2 == 0 ? 2 : rows);
        fn(Product{rows, run, 1, 0, start, false, batch, run % 2 == 0});
        fn(Product{rows, run, 1, 0, start, false, BatchRows::kMany, false});
      }
    }
  }
}

template <typename T, typename E, int NV, bool Gated>
void CheckPanelsOf(Checker& check) {
  constexpr int V = kLanes<T>;
  ForProducts<NV>([&](Product p) {
    // A gate row may have one vector more than the product, as in GRU.
    for (const int64_t stride : {NV * V, (NV + 1) * V}) {
      p.columns = 3 * stride;
      CheckProduct<T, E, Gated>(
          check, p, NV, stride, /*narrow_last=*/false,
          [](const RowGemm<T>& g, int64_t n) { GemmPanels<T, NV, Gated, E>(g, 0, n); });
    }
  });
}

template <typename T, typename E>
void CheckDenseProducts(Checker& check) {
  constexpr int V = kLanes<T>;
  auto dense = [&](const Product& p) {
    CheckProduct<T, E, false>(check, p, 4, 4 * V, /*narrow_last=*/true,
                              [](const RowGemm<T>& g, int64_t n) { GemmDense(g, 0, n); });
  };
  for (int64_t columns = 1; columns <= 9 * V; columns += columns < V + 2 ? 1 : V / 2 + 1) {
    ForProducts<4>([&](Product p) {
      if (p.run > 5 && columns > V) return;
      p.columns = columns;
      dense(p);
    });
    for (const Start start : {Start::kZero, Start::kAccumulate}) {
      for (const int64_t runs : {2, 3, 7}) {
        for (const bool scaled : {false, true}) {
          dense({5, 3 * V, runs, columns, start, scaled, BatchRows::kMany, runs == 3});
          dense({2, 3 * V, runs, columns, start, scaled, BatchRows::kTwo, false});
        }
      }
      dense({7, 600, 1, columns, start, /*scaled=*/false, BatchRows::kMany, false});
      // More rows than the narrow panel processes at a time.
      if (columns <= V + 1)
        dense({300, 2, 1, columns, start, /*scaled=*/true, BatchRows::kMany, false});
    }
  }
}

// A cell that returns its sums.
template <typename T, int NV>
struct SumsCell {
  static constexpr int kVectors = NV;
  int64_t row;  // elements in a row of `init` and of `sums`
  const T* init;
  T* sums;

  T* Sums(int64_t i, int64_t panel) const { return sums + i * row + panel * NV * kLanes<T>; }
  const T* InitialSums(int64_t i, int64_t panel) const {
    return init + i * row + panel * NV * kLanes<T>;
  }
  void Init(int64_t i, int64_t panel, Packet<T>* acc) const {
    for (int v = 0; v < NV; ++v) acc[v] = Load(InitialSums(i, panel) + v * kLanes<T>);
  }
  void Round(int64_t, int64_t) const {}
  void Finish(int64_t i, int64_t panel, const Packet<T>* acc) const {
    for (int v = 0; v < NV; ++v) {
      T* at = Sums(i, panel) + v * kLanes<T>;
      // Adds the sum twice, so that the check detects a row that was finished twice or never.
      Store(at, padd(padd(Load(at), acc[v]), acc[v]));
    }
  }
};

// Checks the recurrent product of a step. `regular`: the rows of A have equal distances.
template <typename T, typename E, int NV>
void CheckStep(Checker& check, int64_t rows, int64_t depth, bool regular) {
  constexpr int V = kLanes<T>;
  constexpr int kPer = kPerOperand<E>;
  constexpr int64_t kPanels = 3, kRow = kPanels * NV * V;
  std::vector<std::vector<E>> a(rows);
  std::vector<E> together(rows * depth);
  std::vector<const void*> a_rows(rows);
  for (int64_t i = 0; i < rows; ++i) {
    auto value = [&](int64_t k) { return Value(1, i, k); };
    for (int64_t k = 0; k < depth; ++k) a[i].push_back(MakeOperand<E>(k, value));
    std::copy(a[i].begin(), a[i].end(), together.begin() + i * depth);
    a_rows[i] = regular ? together.data() + i * depth : a[i].data();
  }
  std::vector<E> b(kPanels * depth * NV * V);
  for (int64_t panel = 0; panel < kPanels; ++panel) {
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t x = 0; x < NV * V; ++x) {
        b[panel * depth * NV * V + PlaceInPanel<E>(NV, depth, k, x)] =
            MakeOperand<E>(k, [&](int64_t n) { return Value(9, n, panel * NV * V + x); });
      }
    }
  }
  std::vector<T> init(rows * kRow), sums(rows * kRow, T(0)), want(sums);
  for (size_t at = 0; at < init.size(); ++at) {
    init[at] = static_cast<T>(Value(3, 0, at));
    double sum = init[at];
    for (int64_t k = 0; k < depth * kPer; ++k) {
      sum += Value(1, at / kRow, k) * Value(9, k, at % kRow);
    }
    want[at] = static_cast<T>(2 * sum);
  }
  const SumsCell<T, NV> cell = {kRow, init.data(), sums.data()};
  const StepProduct<E> product = {{a_rows.data(), rows}, depth, b.data(), /*reversed=*/true};
  RunCell<T, false>(cell, product, 0, kPanels);
  check.Equal(sums, want,
              Text("step of", sizeof(T), "bytes, operand", kPer, "vectors", NV, "rows", rows,
                   "depth", depth, "regular", regular));
}

template <typename T, typename E>
void CheckSteps(Checker& check) {
  for (const int64_t rows : {1, 2, 5, 7, 15, 16, 17, 33}) {
    for (const int64_t depth : {1, 7, 8, 16, 24, 43}) {
      for (const bool regular : {false, true}) {
        CheckStep<T, E, 1>(check, rows, depth, regular);
        CheckStep<T, E, 3>(check, rows, depth, regular);
        CheckStep<T, E, 4>(check, rows, depth, regular);
      }
    }
  }
}

// ---- Weight gradients ----

// Packed rows of a batch with sequences of different lengths.
struct Rows {
  explicit Rows(const std::vector<int32_t>& lengths) {
    const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const int64_t batch = static_cast<int64_t>(lengths.size());
    const SequenceLengths of = {lengths.data(),
                                std::accumulate(lengths.begin(), lengths.end(), int64_t{0})};
    Arena measure;
    MakeSequence(measure, longest, batch, true, of);
    memory.reset(new unsigned char[measure.bytes() + 64]);
    unsigned char* base = memory.get();
    base += -reinterpret_cast<uintptr_t>(base) % 64;
    Arena arena(base);
    seq = MakeSequence(arena, longest, batch, true, of);
  }
  std::unique_ptr<unsigned char[]> memory;
  Sequence seq;
};

// result[k][v * V + lane] = sum over rows of factor(row, k) * gradient(row, column), for a factor
// that is multiplied by vectors [first, first + n) of every panel.
template <typename T, typename E>
void CheckReduction(Checker& check, const Sequence& seq, int panels, int vectors, int first, int n,
                    int64_t width, bool gated) {
  constexpr int V = kLanes<T>;
  const int64_t R = seq.rows, ld = panels * vectors * V, per = gated ? n : 1;
  auto gradient_value = [&](int64_t row, int64_t column) { return Value(5, row, column); };
  auto factor_value = [&](int64_t row, int64_t k, int v) {
    return Value(6 + (gated ? v : 0), row, k);
  };
  // The rows of the gradient are contiguous values. A pair of the factor is made of two rows.
  std::vector<E> gradient(CeilDiv(R * ld, kPerOperand<E>));
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = MakeOperand<E>(i, [&](int64_t at) { return gradient_value(at / ld, at % ld); });
  }
  const int64_t factor_rows = CeilDiv(R, kPerOperand<E>);
  const int64_t factor_ld = RoundUp(width, V) * per;
  std::vector<E> factor(factor_rows * factor_ld);
  for (int64_t row = 0; row < factor_rows; ++row) {
    for (int64_t k = 0; k < width * per; ++k) {
      factor[row * factor_ld + k] = MakeOperand<E>(row, [&](int64_t at) {
        return at < R ? factor_value(at, k / per, static_cast<int>(k % per)) : 0;
      });
    }
  }
  const int64_t size = width * n * V;
  std::vector<T> result(panels * size, T(kUntouched)), want(panels * size);
  std::vector<T> bias(panels * vectors * V, T(kUntouched)), want_bias(bias.size());
  for (int q = 0; q < panels; ++q) {
    for (int64_t x = 0; x < vectors * V; ++x) {
      double sum = 0;
      for (int64_t row = 0; row < R; ++row) sum += gradient_value(row, q * vectors * V + x);
      want_bias[q * vectors * V + x] = static_cast<T>(sum);
    }
    for (int64_t k = 0; k < width; ++k) {
      for (int64_t x = 0; x < n * V; ++x) {
        double sum = 0;
        for (int64_t row = 0; row < R; ++row) {
          sum += factor_value(row, k, static_cast<int>(x / V)) *
                 gradient_value(row, q * vectors * V + first * V + x);
        }
        want[q * size + k * n * V + x] = static_cast<T>(sum);
      }
    }
  }
  const OperandType type = kIsGroup<E> ? OperandType::kPairs : OperandType::kExact;
  std::vector<E> space(panels * ReductionSpace<T>(type, R) + V);
  // The first factor has no columns.
  const ReductionFactor<T> factors[2] = {{0, 0, 0, nullptr, 0, false},
                                         {width, first, n, result.data(), size, gated}};
  const ReductionPanels range = {0, panels, vectors};
  ReducePanels(seq, gradient.data(), ld, range, factors, bias.data(), space.data(),
               [&](int64_t row, int64_t, int64_t, int) -> const E* {
                 return factor.data() + row * factor_ld;
               });
  const std::string what =
      Text("weight gradient of", sizeof(T), "bytes, operand", kPerOperand<E>, "rows", R, "panels",
           panels, "vectors", vectors, "from", first, "of", n, "width", width, "gated", gated);
  check.Equal(result, want, what);
  check.Equal(bias, want_bias, what + "bias");
}

template <typename T, typename E>
void CheckReductions(Checker& check) {
  struct {
    int vectors, first, n;
    bool gated;
  } const kShapes[] = {{1, 0, 1, false}, {2, 0, 2, false}, {3, 0, 3, false}, {4, 0, 4, false},
                       {4, 0, 3, false}, {4, 1, 3, false}, {4, 0, 4, true},  {4, 1, 3, true},
                       {3, 1, 2, false}, {3, 0, 1, false}, {3, 1, 2, true}};
  for (const std::vector<int32_t>& lengths :
       {std::vector<int32_t>{1}, {3, 0, 2}, {2, 5, 1, 5}, std::vector<int32_t>(65, 4)}) {
    const Rows rows(lengths);
    for (const auto& s : kShapes) {
      if (s.gated && !std::is_same_v<T, E>) continue;
      for (const int panels : {1, 2, kReductionPanels}) {
        for (const int64_t width : {1, 5, 8, 49}) {
          CheckReduction<T, E>(check, rows.seq, panels, s.vectors, s.first, s.n, width, s.gated);
        }
      }
    }
  }
}

// ---- Packing ----

// Checks the packing of a matrix with [gate][units] columns (or rows) and any strides against the
// format.
template <typename T, typename E, typename W>
void CheckPacking(Checker& check, int gates, int64_t depth, int64_t units, bool transposed) {
  constexpr int V = kLanes<T>;
  constexpr int kPer = kPerOperand<E>;
  const GateOrder order = {gates, {2, 0, 1, 3}};
  const int64_t columns = gates * units;
  const std::string what = Text(sizeof(T), "bytes, operand", kPer, "gates", gates, "depth", depth,
                                "units", units, transposed);
  std::vector<W> data(depth * columns);
  auto value = [](int64_t k, int64_t n) { return Value(2, k, n); };
  auto fill = [](double v) {
    if constexpr (std::is_same_v<W, T>) {
      return static_cast<W>(v);
    } else {
      return MakeOperand<Pair>(0, [&](int64_t) { return v; }).first;
    }
  };
  const MatrixView<const W> m = transposed ? MatrixView<const W>{data.data(), 1, depth}
                                           : MatrixView<const W>{data.data(), columns, 1};
  for (int64_t k = 0; k < depth; ++k) {
    for (int64_t n = 0; n < columns; ++n) {
      data[k * m.k_stride + n * m.n_stride] = fill(value(k, n));
    }
  }
  // Converts a panel of `nv` vectors to numbers: element (k, x) in the order [K][nv * V].
  auto numbers = [](const std::vector<E>& panel, int nv) {
    std::vector<double> all;
    const int64_t operands = static_cast<int64_t>(panel.size()) / (nv * V);
    for (int64_t k = 0; k < operands; ++k) {
      for (int i = 0; i < kPer; ++i) {
        for (int64_t x = 0; x < nv * V; ++x) {
          const E& operand = panel[PlaceInPanel<E>(nv, operands, k, x)];
          if constexpr (std::is_same_v<E, Pair>) {
            const uint32_t bits = uint32_t{i ? operand.second : operand.first} << 16;
            float f;
            std::memcpy(&f, &bits, sizeof(f));
            all.push_back(f);
          } else {
            all.push_back(operand);
          }
        }
      }
    }
    return all;
  };
  const int64_t operands = OperandsOf<E>(depth), blocks = CeilDiv(units, V);
  const int64_t size = operands * gates * V;
  std::vector<E> panels(blocks * size);
  // Two ranges, neither of which need be whole lines of cache.
  PackGatePanels(m, depth, units, order, 0, blocks / 3, panels.data());
  PackGatePanels(m, depth, units, order, blocks / 3, blocks, panels.data() + blocks / 3 * size);
  for (int64_t u = 0; u < blocks; ++u) {
    const std::vector<E> panel(panels.begin() + u * size, panels.begin() + (u + 1) * size);
    std::vector<double> want;
    for (int64_t k = 0; k < operands * kPer; ++k) {
      for (int64_t x = 0; x < gates * V; ++x) {
        const int64_t unit = u * V + x % V;
        want.push_back(k < depth && unit < units ? value(k, order.source[x / V] * units + unit)
                                                 : 0);
      }
    }
    check.Equal(numbers(panel, gates), want, "gate panel of " + what);
  }
  for (int64_t p = 0; p < DensePanels<T>(columns); ++p) {
    const int nv = PanelVectors(CeilDiv(columns, V), p);
    std::vector<E> panel(operands * nv * V);
    PackDensePanel(m, depth, columns, p, panel.data());
    std::vector<double> want;
    for (int64_t k = 0; k < operands * kPer; ++k) {
      for (int64_t x = 0; x < nv * V; ++x) {
        const int64_t n = p * 4 * V + x;
        want.push_back(k < depth && n < columns ? value(k, n) : 0);
      }
    }
    check.Equal(numbers(panel, nv), want, "dense panel of " + what);
  }
  // The same matrix with the gates as K.
  const MatrixView<const W> swapped = {m.data, m.n_stride, m.k_stride};
  for (int64_t p = 0; p < DensePanels<T>(depth); ++p) {
    const int nv = PanelVectors(CeilDiv(depth, V), p);
    std::vector<E> panel(OperandsOf<E>(RoundUp(units, V)) * gates * nv * V);
    PackDensePanelOfGateRows(swapped, units, order, depth, p, panel.data());
    std::vector<double> want;
    for (int64_t k = 0; k < RoundUp(units, V) * gates; ++k) {
      const int64_t unit = k / (gates * V) * V + k % V;
      for (int64_t x = 0; x < nv * V; ++x) {
        const int64_t n = p * 4 * V + x;
        want.push_back(
            unit < units && n < depth ? value(n, order.source[k / V % gates] * units + unit) : 0);
      }
    }
    check.Equal(numbers(panel, nv), want, "panel of gate rows of " + what);
  }
  // Unpacks gradients, whose panels are never in halves, to the same matrix.
  if constexpr (std::is_same_v<T, W>) {
    std::vector<T> back(data.size(), T(kUntouched));
    const MatrixView<T> to = {back.data(), m.k_stride, m.n_stride};
    std::vector<T> gradients;
    for (int64_t u = 0; u < blocks; ++u) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t x = 0; x < gates * V; ++x) {
          gradients.push_back(
              static_cast<T>(value(k, order.source[x / V] * units + u * V + x % V)));
        }
      }
    }
    const int64_t first = blocks / 3;
    UnpackGatePanels(gradients.data(), size, depth, units, order, 0, first, to);
    UnpackGatePanels(gradients.data() + first * size, size, depth, units, order, first, blocks, to);
    check.Equal(back, data, "unpacked gate panels of " + what);
    std::fill(back.begin(), back.end(), T(kUntouched));
    for (int64_t p = 0; p < DensePanels<T>(columns); ++p) {
      const int nv = PanelVectors(CeilDiv(columns, V), p);
      gradients.clear();
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t x = 0; x < nv * V; ++x) {
          gradients.push_back(static_cast<T>(value(k, 4 * p * V + x)));
        }
      }
      UnpackDensePanel(gradients.data(), depth, columns, p, to);
    }
    check.Equal(back, data, "unpacked dense panels of " + what);
  }
}

template <typename T, typename E, typename W>
void CheckPackings(Checker& check) {
  constexpr int V = kLanes<T>;
  for (const int64_t depth : {1, 2, 3, V - 1, V, V + 1, 2 * V, 4 * V + 3}) {
    for (const int64_t units : {1, 2, V - 1, V, V + 1, 2 * V, 4 * V + 1}) {
      for (const bool transposed : {false, true}) {
        for (const int gates : {3, 4}) {
          CheckPacking<T, E, W>(check, gates, depth, std::max<int64_t>(1, units), transposed);
        }
      }
    }
  }
}

// ---- Rows ----

template <typename T>
void CheckVectors(Checker& check) {
  constexpr int V = kLanes<T>;
  std::vector<T> row(2 * V);
  for (int i = 0; i < 2 * V; ++i) row[i] = static_cast<T>(i + 1);
  for (int64_t n = 1; n <= V + 1; ++n) {
    std::vector<T> loaded(V), kept(V), stored(2 * V, T(kUntouched)), want(V);
    Store(loaded.data(), LoadFirst(row.data(), n));
    Store(kept.data(), KeepFirst<T>(Load(row.data()), n));
    StoreFirst(stored.data(), Load(row.data()), n);
    for (int i = 0; i < V; ++i) want[i] = i < n ? row[i] : T(0);
    check.Equal(loaded, want, Text("LoadFirst", n));
    check.Equal(kept, want, Text("KeepFirst", n));
    for (int i = 0; i < V; ++i) want[i] = i < n ? row[i] : T(kUntouched);
    want.resize(2 * V, T(kUntouched));
    check.Equal(stored, want, Text("StoreFirst", n));
  }
}

// The product of M rows and n columns of unpacked weights. The vectors of sums are 2 * V elements
// apart.
template <typename T, int M>
void CheckColumns(Checker& check, const std::vector<T>& w, int64_t n, int64_t depth) {
  constexpr int V = kLanes<T>;
  std::vector<T> x[M], sums[M];
  ColumnRows<T, M> rows;
  for (int m = 0; m < M; ++m) {
    for (int64_t k = 0; k < depth; ++k) x[m].push_back(static_cast<T>(Value(1, m, k)));
    sums[m].assign((CeilDiv(n, V) * 2 + 1) * V, T(1));
    rows.x.row[m] = x[m].data();
    rows.sums[m] = sums[m].data();
  }
  AddColumns(w.data(), n, n, depth, rows, V, 2 * V);
  for (int m = 0; m < M; ++m) {
    std::vector<T> want(sums[m].size(), T(1));
    for (int64_t c = 0; c < n; ++c) {
      T& sum = want[(c / V * 2 + 1) * V + c % V];
      for (int64_t k = 0; k < depth; ++k) sum += x[m][k] * w[k * n + c];
    }
    check.Equal(sums[m], want, Text("AddColumns", n, depth, "row", m, "of", M));
  }
}

// Checks the products on unpacked weights.
template <typename T>
void CheckDots(Checker& check) {
  constexpr int V = kLanes<T>;
  for (const int64_t depth : {1, 3, V, V + 1, 5 * V + 2}) {
    std::vector<T> x(depth);
    for (int64_t k = 0; k < depth; ++k) x[k] = static_cast<T>(Value(1, 0, k));
    for (int64_t n = 1; n <= 11 * V; n += n < V ? 1 : V - 1) {
      std::vector<T> w(n * depth);
      for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<T>(Value(2, 0, i));
      // By rows of w, at most V rows.
      std::vector<T> dots(V), want_dots(V);
      Store(dots.data(), DotRows(w.data(), depth, std::min<int64_t>(n, V), x.data(), depth));
      for (int64_t r = 0; r < std::min<int64_t>(n, V); ++r) {
        for (int64_t k = 0; k < depth; ++k) want_dots[r] += w[r * depth + k] * x[k];
      }
      check.Equal(dots, want_dots, Text("DotRows", n, depth));
      // By columns. The vectors of the result are 2 * V elements apart.
      for (int rows = 1; rows <= kColumnRows; ++rows) {
        WithConstant<kColumnRows>(rows, [&](auto constant) {
          CheckColumns<T, decltype(constant)::value>(check, w, n, depth);
        });
      }
    }
  }
}

template <typename T>
void CheckMasks(Checker& check) {
  const GateOrder order = {3, {2, 0, 1, 0}};
  constexpr int64_t kBatch = 2, kSize = 11;
  std::vector<T> mask(3 * kBatch * kSize), row(kSize);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = static_cast<T>(Value(1, 0, i));
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<T>(Value(2, 0, i));
  std::vector<T> out(kSize * 3, T(kUntouched)), want = out;
  MaskRow(GateMasks<T>{mask.data(), kBatch, kSize}, order, 1, row.data(), 3, 10, out.data());
  for (int64_t k = 3; k < 10; ++k) {
    for (int v = 0; v < 3; ++v) {
      want[k * 3 + v] = row[k] * mask[(order.source[v] * kBatch + 1) * kSize + k];
    }
  }
  check.Equal(out, want, "MaskRow");
}

// ---- Quads ----

// Checks rows that are quantized without a rounding error, since their largest value is 127, times
// a gate panel of int8 with scales that are powers of two.
template <typename Unit, int M, int NV>
void CheckQuadTile(Checker& check, int64_t depth) {
  constexpr int V = kLanes<float>;
  constexpr int64_t kColumns = NV * V;
  auto integer = [](int64_t seed, int64_t i, int64_t k) {  // in [-128, 127]
    return std::clamp(64 * Value(seed, i, k) + Value(seed + 1, i, k), -128.0, 127.0);
  };
  std::vector<int8_t> weights(depth * kColumns);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int8_t>(integer(1, 0, i));
  std::vector<float> scales(kColumns);
  for (int64_t c = 0; c < kColumns; ++c) scales[c] = 1.0f / static_cast<float>(1 << (c % 5));
  std::vector<Quad> panel(OperandsOf<Quad>(depth) * kColumns);
  const GateOrder order = {NV, {0, 1, 2, 3}};
  PackGatePanels<int8_t>({weights.data(), kColumns, 1}, depth, V, order, 0, 1, panel.data());
  for (int v = 0; v < NV; ++v) PackScales(scales.data() + v * V, V, panel.data() + v * V, kColumns);

  std::vector<float> x(M * depth);
  std::vector<Quad> rows(M * (OperandsOf<Quad>(depth) + V));
  const void* a[M];
  for (int m = 0; m < M; ++m) {
    float* row = x.data() + m * depth;
    for (int64_t k = 0; k < depth; ++k) {
      row[k] = static_cast<float>(std::max(-127.0, integer(3, m, k)));
    }
    row[depth / 2] = m % 2 == 0 ? 127 : -127;
    Quad* quads = rows.data() + m * (OperandsOf<Quad>(depth) + V);
    QuantizeRow(row, depth, quads);
    a[m] = quads;
  }
  Packet<float> acc[M][NV];
  for (auto& sums : acc) std::fill(std::begin(sums), std::end(sums), Set<float>(3.0f));
  MultiplyQuads<Unit, M, NV>(a, panel.data(), OperandsOf<Quad>(depth),
                             Ahead{reinterpret_cast<const char*>(panel.data()), 0}, acc);
  std::vector<float> got(M * kColumns), want(M * kColumns);
  for (int m = 0; m < M; ++m) {
    for (int v = 0; v < NV; ++v) Store(got.data() + (m * NV + v) * V, acc[m][v]);
    for (int64_t c = 0; c < kColumns; ++c) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += x[m * depth + k] * weights[k * kColumns + c];
      want[m * kColumns + c] = static_cast<float>(3.0 + sum * scales[c]);
    }
  }
  check.Equal(got, want, Text("MultiplyQuads", M, NV, depth, Unit::kOffset));
}

template <typename Unit>
void CheckQuadTiles(Checker& check) {
  for (int64_t depth = 1; depth < 300; depth += depth < 34 ? 1 : 77) {
    CheckQuadTile<Unit, 1, 1>(check, depth);
    CheckQuadTile<Unit, 1, 4>(check, depth);
    CheckQuadTile<Unit, 2, 3>(check, depth);
    CheckQuadTile<Unit, 3, 2>(check, depth);
    CheckQuadTile<Unit, 3, 4>(check, depth);
  }
}

// Checks that a row becomes its integers, its factor and their sum, with zeros behind them.
void CheckQuantizedRows(Checker& check) {
  constexpr int V = kLanes<float>;
  for (int64_t n = 1; n <= 3 * V; ++n) {
    std::vector<float> row(n + 1, static_cast<float>(kUntouched));
    int32_t sum = 0;
    std::vector<int8_t> want(RoundUp(n, V));
    for (int64_t k = 0; k < n; ++k) {
      const double value = k == n / 2 ? -127.0 : 60 * Value(1, n, k) + 0.4;
      row[k] = static_cast<float>(value / 16);
      want[k] = static_cast<int8_t>(std::nearbyint(value));
      sum += want[k];
    }
    std::vector<Quad> out(kQuadHeader + want.size() / 4);
    QuantizeRow(row.data(), n, out.data());
    const auto* bytes = reinterpret_cast<const int8_t*>(out.data() + kQuadHeader);
    check.Equal(std::vector<int8_t>(bytes, bytes + want.size()), want, Text("QuantizeRow", n));
    check.Equal(std::vector<float>{FactorOf(out.data()), static_cast<float>(OffsetOf(out.data()))},
                std::vector<float>{1.0f / 16, static_cast<float>(-128 * sum)},
                Text("header of QuantizeRow", n));
  }
}

void CheckAllOfQuads(Checker& check) {
  CheckQuantizedRows(check);
  CheckQuadTiles<UnitWithoutDot>(check);
  if (CpuHasDotUnit()) CheckQuadTiles<DotUnit>(check);
}

template <typename T>
void CheckAll(Checker& check) {
  CheckVectors<T>(check);
  CheckDots<T>(check);
  CheckMasks<T>(check);
  CheckPackings<T, T, T>(check);
  CheckPanelsOf<T, T, 3, false>(check);
  CheckPanelsOf<T, T, 4, false>(check);
  CheckPanelsOf<T, T, 3, true>(check);
  CheckPanelsOf<T, T, 4, true>(check);
  CheckDenseProducts<T, T>(check);
  CheckSteps<T, T>(check);
  CheckReductions<T, T>(check);
}

void CheckAllOfPairs(Checker& check) {
  if constexpr (kHasPairs<float>) {
    if (CpuPairUnit() == PairUnit::kNone) return;
    CheckPackings<float, Pair, uint16_t>(check);
    CheckPanelsOf<float, Pair, 3, false>(check);
    CheckPanelsOf<float, Pair, 4, false>(check);
    CheckDenseProducts<float, Pair>(check);
    CheckSteps<float, Pair>(check);
    CheckReductions<float, Pair>(check);
  }
}

}  // namespace
}  // namespace rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE

__attribute__((visibility("default"))) int64_t
tf_rnn_ops_check_pieces(void (*fail)(const char* message)) {
  namespace isa = rnn_ops::cpu::RNN_OPS_ISA_NAMESPACE;
  isa::Checker check(fail);
#if !defined(RNN_OPS_EMULATE) || defined(RNN_OPS_ISA_AVX512)
  isa::CheckAll<float>(check);
  isa::CheckAll<double>(check);
#endif
#if defined(RNN_OPS_EMULATE)
  for (uint32_t units : {0u, isa::kEmulatedBf16 | isa::kEmulatedVnni,
                         isa::kEmulatedBf16 | isa::kEmulatedAmx | isa::kEmulatedVnni}) {
    isa::EmulatedCpu() = units;
    isa::CheckAllOfPairs(check);
    isa::CheckAllOfQuads(check);
  }
#else
  isa::CheckAllOfPairs(check);
  isa::CheckAllOfQuads(check);
#endif
  return check.values();
}
