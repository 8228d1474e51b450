// Finds the sizes behind letters (T, B, I, ...) from the shapes of tensors, and says in a sentence
// which tensor disagrees with which.
#ifndef TF_RNN_OPS_CC_CORE_OLD_DIM_SOLVER_H_
#define TF_RNN_OPS_CC_CORE_OLD_DIM_SOLVER_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "cc/core/old_shapes.h"
#include "cc/core/status.h"

namespace rnn_ops {

// One letter: its size so far and the tensor that gave it.
struct OldLetter {
  const char* letter;
  int64_t least;  // the smallest legal size
  int64_t value = kUnknownDim;
  const char* source = "";

  OldLetter(const char* letter, int64_t least) : letter(letter), least(least) {}
  bool known() const { return value >= 0; }
};

// One dimension of a tensor: factor * letter; or, without a letter, exactly `factor`, or any size
// (0), shown as `text`.
struct DimTerm {
  OldLetter* letter;
  int64_t factor = 1;
  const char* text = "";

  DimTerm(OldLetter* letter, int64_t factor = 1)  // NOLINT: implicit, for lists of letters
      : letter(letter), factor(factor) {}
  static DimTerm Any(const char* text) {
    DimTerm term(nullptr, 0);
    term.text = text;
    return term;
  }
  static DimTerm Exactly(int64_t size) { return DimTerm(nullptr, size); }
};

// Requires `shape` to have the rank of `terms` and merges its dimensions into the letters.
Status MergeShape(const char* tensor, const PartialShape& shape,
                  std::initializer_list<DimTerm> terms);

// Requires the rank only.
Status RequireRank(const char* tensor, const PartialShape& shape, size_t rank);

// Requires the reserve_space of a backward op to be that of a training forward op.
Status RequireReserveSpace(const PartialShape& shape);

}  // namespace rnn_ops

#endif  // TF_RNN_OPS_CC_CORE_OLD_DIM_SOLVER_H_
