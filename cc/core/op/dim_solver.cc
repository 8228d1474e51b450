#include "cc/core/op/dim_solver.h"

#include <utility>

namespace rnn_ops {

DimSolver::DimSolver(const OpSpec& op, const RnnAttrs& attrs, const PartialShape& projection)
    : attrs_(attrs) {
  G.value = attrs.num_gates();
  G.source = "rnn_mode";
  if (attrs.num_proj > 0) {
    P.value = attrs.num_proj;
    P.source = "num_proj";
    hidden_ = Hidden::kProjected;
  } else if (attrs.mode == RnnMode::kLstm && !IsAbsent(projection)) {
    const bool known =
        projection.known_rank && (projection.dims.size() != 1 || projection.dims[0] != kUnknownDim);
    hidden_ = known ? Hidden::kProjected : Hidden::kUnknown;
  }
  if (op.family == OpFamily::kLayerRnn) layers_dirs.value = 1;
}

DimSolver::Term DimSolver::HiddenTerm(int64_t factor) {
  if (hidden_ == Hidden::kUnknown) return {nullptr, 0, "S"};
  return {hidden_ == Hidden::kProjected ? &P : &H, factor};
}

DimSolver::Term DimSolver::TermOf(Dim dim) {
  switch (dim) {
    case Dim::kT:
      return {&T, 1};
    case Dim::kB:
      return {&B, 1};
    case Dim::kI:
      return {&I, 1};
    case Dim::kH:
      return {&H, 1};
    case Dim::kS:
      return HiddenTerm(1);
    case Dim::kP:
      return {&P, 1};
    case Dim::kDirsS:
      return HiddenTerm(attrs_.num_dirs());
    case Dim::kLayersDirs:
      return {&layers_dirs, 1};
    case Dim::kG:
      return {&G, 1};
    case Dim::kGatesH:
      return {&H, G.value};
    case Dim::kBiasRows:
      return {nullptr, FactsOf(attrs_.mode).bias_rows};
    case Dim::kTwo:
      return {nullptr, 2};
    case Dim::kThree:
      return {nullptr, 3};
    case Dim::kNormRows:
      return {nullptr, kLayerNormRows};
    case Dim::kInputPlusH:
      return {nullptr, 0, "I+H"};
    case Dim::kParamsSize:
    case Dim::kAny:
    case Dim::kNone:
      break;
  }
  return {nullptr, 0, "?"};
}

DimSolver::Terms DimSolver::TermsOf(const TensorSpec& tensor) {
  Terms terms;
  for (const Dim dim : tensor.dims) {
    if (dim == Dim::kNone) break;
    if (dim == Dim::kBiasRows && FactsOf(attrs_.mode).bias_rows == 1) continue;
    terms.terms[terms.count++] = TermOf(dim);
  }
  const Dim first = tensor.dims[0];
  if (!attrs_.time_major && tensor.dims[1] == Dim::kB &&
      (first == Dim::kT || first == Dim::kLayersDirs)) {
    std::swap(terms.terms[0], terms.terms[1]);
  }
  return terms;
}

std::string DimSolver::ToString(const Term& term) {
  if (term.letter == nullptr) return term.factor == 0 ? term.text : std::to_string(term.factor);
  if (term.factor == 1) return term.letter->letter;
  return StrCat(term.factor, "*", term.letter->letter);
}

std::string DimSolver::ToString(const Terms& terms) {
  std::string text = "[";
  for (size_t k = 0; k < terms.count; ++k) {
    text += StrCat(k == 0 ? "" : ", ", ToString(terms.terms[k]));
  }
  return text + "]";
}

Status DimSolver::Merge(const TensorSpec& input, const PartialShape& shape) {
  if (!shape.known_rank || input.given == Given::kUnchecked) return Status();
  // WHY: for modes without a cell state, callers of TensorFlow's op pass any tensor here, often a
  // scalar.
  if (input.given == Given::kStateC && !FactsOf(attrs_.mode).has_c) return Status();
  const bool optional = input.given == Given::kOptional || input.given == Given::kOptionalLstm;
  if (optional && shape.dims.size() == 1 && shape.dims[0] <= 0) {
    return Status();  // [0], or a vector of unknown size, which may be [0]
  }
  if (input.given == Given::kOptionalLstm && attrs_.mode != RnnMode::kLstm) {
    return InvalidArgument(input.name(), " must have shape [0] for rnn_mode='", Name(attrs_.mode),
                           "', because only 'lstm' has it, but its shape is ",
                           rnn_ops::ToString(shape), ".");
  }
  if (input.given == Given::kTraining && shape.dims.empty()) {
    return InvalidArgument(input.name(),
                           " must be a vector, but it is a scalar, which the forward ",
                           "op returns with is_training=False; gradients need is_training=True.");
  }
  return MergeTerms(input.name(), TermsOf(input), shape);
}

Status DimSolver::MergeTerms(std::string_view tensor, const Terms& terms,
                             const PartialShape& shape) {
  const bool any_vector =
      terms.count == 1 && terms.terms[0].letter == nullptr && terms.terms[0].factor == 0;
  if (terms.count == 0 || any_vector) {
    if (shape.dims.size() == terms.count) return Status();
    return InvalidArgument(tensor, " must be a ", any_vector ? "vector" : "scalar",
                           ", but its shape is ", rnn_ops::ToString(shape), ".");
  }
  const auto mismatch = [&](const std::string& reason) {
    return InvalidArgument(tensor, " must have shape ", ToString(terms), ", but its shape is ",
                           rnn_ops::ToString(shape), reason, ".");
  };
  if (shape.dims.size() != terms.count) {
    return mismatch(StrCat(", which has rank ", shape.dims.size(), " instead of ", terms.count));
  }
  for (size_t k = 0; k < terms.count; ++k) {
    const Term& term = terms.terms[k];
    const int64_t dim = shape.dims[k];
    if (dim < 0) continue;
    if (term.letter == nullptr) {
      if (term.factor == 0 || dim == term.factor) continue;
      return mismatch(StrCat(", whose dimension ", k, " is ", dim, " instead of ", term.factor));
    }
    DimLetter& letter = *term.letter;
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

PartialShape DimSolver::Shape(const TensorSpec& output) {
  const bool scalar = (output.given == Given::kStateC && !FactsOf(attrs_.mode).has_c) ||
                      (output.given == Given::kTraining && !attrs_.is_training);
  if (scalar) return PartialShape::Of({});
  if (output.dims[0] == Dim::kParamsSize) return PartialShape::Of({params_size.value});
  PartialShape shape = PartialShape::Of({});
  const Terms terms = TermsOf(output);
  shape.dims.reserve(terms.count);
  for (size_t k = 0; k < terms.count; ++k) {
    const Term& term = terms.terms[k];
    const bool exact = term.letter == nullptr && term.factor > 0;
    const bool known = term.letter != nullptr && term.letter->known();
    shape.dims.push_back(exact   ? term.factor
                         : known ? term.factor * term.letter->value
                                 : kUnknownDim);
  }
  if (output.dims[0] == Dim::kInputPlusH && I.known() && H.known()) {
    shape.dims[0] = I.value + H.value;
  }
  return shape;
}

}  // namespace rnn_ops
