#include "cc/core/old_dim_solver.h"

namespace rnn_ops {
namespace {

std::string ToString(const DimTerm& term) {
  if (term.letter == nullptr) return term.factor == 0 ? term.text : std::to_string(term.factor);
  if (term.factor == 1) return term.letter->letter;
  return StrCat(term.factor, "*", term.letter->letter);
}

std::string ToString(std::initializer_list<DimTerm> terms) {
  std::string text = "[";
  for (const DimTerm& term : terms) {
    if (text.size() > 1) text += ", ";
    text += ToString(term);
  }
  return text + "]";
}

}  // namespace

Status RequireRank(const char* tensor, const PartialShape& shape, size_t rank) {
  if (!shape.known_rank || shape.dims.size() == rank) return Status();
  return InvalidArgument(tensor, " must have rank ", rank, ", but its shape is ", ToString(shape),
                         ".");
}

Status RequireReserveSpace(const PartialShape& shape) {
  if (shape.known_rank && shape.dims.empty()) {
    return InvalidArgument("reserve_space must have rank 1, but it is a scalar, which the forward ",
                           "op returns with is_training=False; gradients need is_training=True.");
  }
  return RequireRank("reserve_space", shape, 1);
}

Status MergeShape(const char* tensor, const PartialShape& shape,
                  std::initializer_list<DimTerm> terms) {
  if (!shape.known_rank) return Status();
  const auto mismatch = [&](const std::string& reason) {
    return InvalidArgument(tensor, " must have shape ", ToString(terms), ", but its shape is ",
                           ToString(shape), reason, ".");
  };
  if (shape.dims.size() != terms.size()) {
    return mismatch(StrCat(", which has rank ", shape.dims.size(), " instead of ", terms.size()));
  }
  size_t k = 0;
  for (const DimTerm& term : terms) {
    const int64_t dim = shape.dims[k++];
    if (dim < 0) continue;
    if (term.letter == nullptr) {
      if (term.factor == 0 || dim == term.factor) continue;
      return mismatch(
          StrCat(", whose dimension ", k - 1, " is ", dim, " instead of ", term.factor));
    }
    OldLetter& letter = *term.letter;
    if (dim % term.factor != 0) {
      return mismatch(StrCat(", and ", dim, " is not a multiple of ", term.factor));
    }
    const int64_t value = dim / term.factor;
    if (value < letter.least) {
      return mismatch(StrCat(", and ", letter.letter, " must be at least ", letter.least));
    }
    if (!letter.known()) {
      letter.value = value;
      letter.source = tensor;
    } else if (letter.value != value) {
      return mismatch(
          StrCat(", and ", letter.letter, " is ", letter.value, " according to ", letter.source));
    }
  }
  return Status();
}

}  // namespace rnn_ops
