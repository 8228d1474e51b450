// Finds the sizes for letters (T, B, I, ...) from the shapes of tensors. If two tensors disagree,
// the error names both.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cc/core/op/op_spec.h"
#include "cc/core/op/rnn_config.h"
#include "cc/core/op/shapes.h"
#include "cc/core/status.h"

namespace rnn_ops {

// One letter: its size so far and the name of the tensor that determined the size.
struct DimLetter {
  const char* letter;
  int64_t least;  // the smallest valid size
  int64_t value = kUnknownDim;
  std::string_view source;

  DimLetter(const char* letter, int64_t least) : letter(letter), least(least) {}
  bool known() const { return value >= 0; }
};

// The letters of one call.
class DimSolver {
 public:
  // `projection`: the shape of the input `projection` of LayerRNN; [0] if the op has no such input.
  DimSolver(const OpSpec& op, const RnnAttrs& attrs, const PartialShape& projection);

  // Checks the shape of an input, and learns the letters in that shape.
  Status Merge(const TensorSpec& input, const PartialShape& shape);

  // The shape of an output, or of the gradient of an input.
  PartialShape Shape(const TensorSpec& output);

  DimLetter T{"T", 0};
  DimLetter B{"B", 0};
  DimLetter I{"I", 1};
  DimLetter H{"H", 1};
  DimLetter P{"P", 1};
  DimLetter G{"G", 1};
  DimLetter layers_dirs{"L*D", 1};
  DimLetter params_size{"params_size", 0};  // computed from the other letters, never from a tensor

 private:
  // A dimension. With a letter: factor * letter. Without a letter: exactly `factor`, or any size if
  // `factor` is 0. `text` is its form in messages.
  struct Term {
    DimLetter* letter = nullptr;
    int64_t factor = 0;
    const char* text = "";
  };
  struct Terms {
    Term terms[3];
    size_t count = 0;
  };

  // The meaning of S. In LayerRNN the meaning is unknown while the shape of `projection` is
  // unknown.
  enum class Hidden { kUnits, kProjected, kUnknown };

  static std::string ToString(const Term& term);
  static std::string ToString(const Terms& terms);
  Term TermOf(Dim dim);
  Term HiddenTerm(int64_t factor);
  Terms TermsOf(const TensorSpec& tensor);
  Status MergeTerms(std::string_view tensor, const Terms& terms, const PartialShape& shape);

  const RnnAttrs& attrs_;
  Hidden hidden_ = Hidden::kUnits;
};

// Checks that involve several sizes, after all inputs have been merged. FinishRnn also sets
// params_size and sets *config as CallShapes::config describes.
Status FinishRnn(const RnnAttrs& attrs, const PartialShape& params, DimSolver* solver,
                 RnnConfig* config);
Status FinishBlockLstm(const PartialShape& w, DimSolver* solver);

}  // namespace rnn_ops
