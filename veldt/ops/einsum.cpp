// Parses the subscripts of an einsum, and multiplies its terms two by two as matrix products.
#include "veldt/ops/einsum.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/parts.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt {
namespace {

// A dimension's name: a letter, or for those of "..." a number below kDots, counted from the right.
using Label = char;
constexpr Label kDots = 16;

struct Term {
  Tensor tensor;
  std::string labels;  // one for each dimension
};

bool has(const std::string& labels, Label label) { return labels.find(label) != std::string::npos; }

std::string quoted(Label label) { return label < kDots ? "'...'" : str('\'', label, '\''); }

[[noreturn]] void refuse(std::string_view equation, const std::string& why) {
  throw ShapeError(str("einsum cannot read \"", equation, "\""), why,
                   "write letters for dimensions, as in \"bij,bjk->bik\"");
}

// The letters of one term, "..." standing as `dots` labels.
std::string labels_of(std::string_view equation, std::string_view text, int dots) {
  std::string labels;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.substr(i, 3) == "...") {
      for (int d = dots - 1; d >= 0; --d) labels += static_cast<Label>(1 + d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels += text[i];
    } else {
      refuse(equation, str("'", text[i], "' is not a subscript"));
    }
  }
  return labels;
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// A label that occurs twice in one term selects the diagonal of its dimensions.
void take_diagonals(std::string_view equation, Term& term) {
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    const std::size_t j = term.labels.find(term.labels[i], i + 1);
    if (j == std::string::npos) continue;
    const int a = static_cast<int>(i), b = static_cast<int>(j);
    if (term.tensor.size(a) != term.tensor.size(b))
      refuse(equation, str("subscript ", quoted(term.labels[i]), " is both ", term.tensor.size(a), " and ",
                           term.tensor.size(b)));
    term.tensor = diagonal(term.tensor, 0, a, b);  // its dimension comes last
    const Label label = term.labels[i];
    term.labels.erase(j, 1);
    term.labels.erase(i, 1);
    term.labels += label;
    --i;
  }
}

Term term_of(std::string_view equation, std::string_view text, const Tensor& tensor) {
  const std::string letters = labels_of(equation, text, 0);
  const int dots = tensor.rank() - static_cast<int>(letters.size());
  const bool dotted = text.find("...") != std::string_view::npos;
  if (dots < 0 || (dots > 0 && !dotted))
    refuse(equation,
           str("\"", text, "\" has ", letters.size(), " subscripts, the tensor is ", tensor.shape()));
  return {tensor, labels_of(equation, text, dots)};
}

// The labels that occur once, in order, after those of "...".
std::string implied_result(const std::vector<Term>& terms) {
  std::string all, dots, once;
  for (const Term& t : terms) all += t.labels;
  for (const Label label : all) {
    if (label < kDots && !has(dots, label)) dots += label;
    if (label >= kDots && std::count(all.begin(), all.end(), label) == 1) once += label;
  }
  std::sort(dots.rbegin(), dots.rend());
  std::sort(once.begin(), once.end());
  return dots + once;
}

void check_result(std::string_view equation, const std::vector<Term>& terms, const std::string& result) {
  for (const Label label : result) {
    if (std::count(result.begin(), result.end(), label) > 1)
      refuse(equation, str("the result names subscript ", quoted(label), " twice"));
    if (std::none_of(terms.begin(), terms.end(), [&](const Term& t) { return has(t.labels, label); }))
      refuse(equation, str("the result names subscript ", quoted(label), ", which no tensor has"));
  }
}

// Sums over the labels that `kept` does not have.
void sum_over_others(Term& term, const std::string& kept) {
  Dims dims;
  std::string left;
  for (std::size_t i = 0; i < term.labels.size(); ++i) {
    if (has(kept, term.labels[i]))
      left += term.labels[i];
    else
      dims.push_back(static_cast<int>(i));
  }
  if (!dims.empty()) term = {sum(term.tensor, dims), left};
}

Tensor arranged(const Term& term, const std::string& order) {
  std::vector<int> dims;
  for (const Label label : order) dims.push_back(static_cast<int>(term.labels.find(label)));
  return permute(term.tensor, dims);
}

std::int64_t size_of(const Term& term, Label label) {
  return term.tensor.size(static_cast<int>(term.labels.find(label)));
}

// A shared label has one size, or it is 1 on one side, which is then repeated.
void match(std::string_view equation, Term& a, Term& b) {
  Shape wide_a = a.tensor.shape(), wide_b = b.tensor.shape();
  for (std::size_t i = 0; i < a.labels.size(); ++i) {
    const std::size_t j = b.labels.find(a.labels[i]);
    if (j == std::string::npos) continue;
    std::int64_t &m = wide_a[static_cast<int>(i)], &n = wide_b[static_cast<int>(j)];
    if (m != n && m != 1 && n != 1)
      refuse(equation, str("subscript ", quoted(a.labels[i]), " is both ", m, " and ", n));
    m = n = m == 1 ? n : m;
  }
  a.tensor = expand(a.tensor, wide_a);
  b.tensor = expand(b.tensor, wide_b);
}

std::int64_t product_of(const Term& term, const std::string& labels) {
  std::int64_t n = 1;
  for (const Label label : labels) n *= size_of(term, label);
  return n;
}

// [batch, m, k] x [batch, n, k] where each element of one tensor is multiplied by at most one of the other,
// or k is 1: without reuse a matrix product is only slower. Halves are multiplied and summed as f32.
Tensor multiplied(const Tensor& a, const Tensor& b, bool sums) {
  const DType dtype = promote(a.dtype(), b.dtype()), wide = is_half(dtype) ? DType::f32 : dtype;
  if (!sums) return a * b;
  return to(sum(to(a, wide) * to(b, wide), {-1}), dtype);
}

// One matrix product: [batch, rows, inner] x [batch, inner, columns], where inner are the labels that are not
// in `kept`.
Term join(std::string_view equation, Term a, Term b, const std::string& kept) {
  match(equation, a, b);
  sum_over_others(a, kept + b.labels);
  sum_over_others(b, kept + a.labels);
  std::string batch, inner, rows, columns;
  for (const Label label : a.labels) {
    if (!has(b.labels, label))
      rows += label;
    else
      (has(kept, label) ? batch : inner) += label;
  }
  for (const Label label : b.labels)
    if (!has(a.labels, label)) columns += label;
  const std::int64_t batches = product_of(a, batch), k = product_of(a, inner), m = product_of(a, rows),
                     n = product_of(b, columns);
  Shape shape;
  for (const Label label : batch + rows) shape.push_back(size_of(a, label));
  for (const Label label : columns) shape.push_back(size_of(b, label));
  const bool floats = is_float(a.tensor.dtype()) && is_float(b.tensor.dtype());
  if (floats && (inner.empty() || (m == 1 && n == 1))) {
    const Tensor left =
        reshape(arranged({lowered(a.tensor), a.labels}, batch + rows + inner), {batches, m, 1, k});
    const Tensor right =
        reshape(arranged({lowered(b.tensor), b.labels}, batch + columns + inner), {batches, 1, n, k});
    return {reshape(multiplied(left, right, !inner.empty()), shape), batch + rows + columns};
  }
  const Tensor left = reshape(arranged(a, batch + rows + inner), {batches, m, k});
  const Tensor right = reshape(arranged(b, batch + inner + columns), {batches, k, n});
  return {reshape(matmul(left, right), shape), batch + rows + columns};
}

}  // namespace

Tensor einsum(std::string_view equation, const std::vector<Tensor>& tensors) {
  const std::size_t arrow = equation.find("->");
  const std::vector<std::string_view> texts = split_at(equation.substr(0, arrow), ',');
  if (texts.size() != tensors.size())
    refuse(equation, str("it describes ", texts.size(), " tensors, ", tensors.size(), " were given"));
  std::vector<Term> terms;
  int dots = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    terms.push_back(term_of(equation, texts[i], tensors[i]));
    for (const Label label : terms.back().labels)
      if (label < kDots) dots = std::max<int>(dots, label);
  }
  const std::string result = arrow == std::string_view::npos
                                 ? implied_result(terms)
                                 : labels_of(equation, equation.substr(arrow + 2), dots);
  check_result(equation, terms, result);
  for (Term& term : terms) take_diagonals(equation, term);  // the implied result counted both letters
  Term all = terms[0];
  for (std::size_t i = 1; i < terms.size(); ++i) {
    std::string kept = result;
    for (std::size_t later = i + 1; later < terms.size(); ++later) kept += terms[later].labels;
    all = join(equation, all, terms[i], kept);
  }
  sum_over_others(all, result);
  return arranged(all, result);
}

}  // namespace veldt
