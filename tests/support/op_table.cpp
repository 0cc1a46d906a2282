// Collects the rows of all op families, and draws the inputs that a row asks for.
#include "tests/support/op_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"

namespace veldt::test {
namespace {

std::uint64_t hash_of(const std::string& text) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

bool too_close(double x, const OpInput& in) {
  return std::any_of(in.avoid.begin(), in.avoid.end(),
                     [&](double a) { return std::fabs(x - a) < in.margin; });
}

Values draw(const OpInput& in, const Shape& shape, Rng& rng) {
  Values out = uniform(shape, rng, in.low, in.high);
  for (double& x : out.v) {
    while (too_close(x, in)) x = uniform({}, rng, in.low, in.high).v[0];
    if (in.dtype) x = std::floor(x);
  }
  return out;
}

// Spreads the elements of all distinct inputs over their range, in a random order.
void keep_apart(const OpRow& row, std::vector<Values>& inputs, Rng& rng) {
  std::vector<double*> all;
  double low = 0, high = 1;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!row.inputs[i].distinct) continue;
    low = row.inputs[i].low, high = row.inputs[i].high;
    for (double& x : inputs[i].v) all.push_back(&x);
  }
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[rng.next_below(i)]);
  for (std::size_t i = 0; i < all.size(); ++i)
    *all[i] = low + (high - low) * (static_cast<double>(i) + 0.5) / static_cast<double>(all.size());
}

Oracle elementwise_oracle(const Formula& formula) {
  return [formula](const std::vector<Values>& in) {
    Shape shape;
    for (const Values& v : in) shape = broadcast(shape, v.shape, "the oracle");
    Expected out;
    out.values = build(shape, [&](const Shape& index) {
      std::array<double, 3> x{};
      for (std::size_t i = 0; i < in.size(); ++i) x[i] = in[i].at(index);
      const std::span<const double> given(x.data(), in.size());
      if (formula.magnitude) out.magnitude.push_back(formula.magnitude(given));
      return formula.value(given);
    });
    return out;
  };
}

std::vector<std::vector<Shape>> elementwise_shapes(std::size_t inputs) {
  if (inputs == 1) return {{{}}, {{1}}, {{0}}, {{7}}, {{5, 4}}, {{2, 3, 4}}, {{3, 0, 2}}};
  if (inputs == 2)
    return {
        {{}, {}},  {{7}, {7}}, {{5, 4}, {5, 4}}, {{3, 4}, {4}},         {{3, 1}, {1, 4}}, {{2, 1, 3}, {4, 1}},
        {{}, {3}}, {{0}, {1}}, {{2, 0}, {2, 1}}, {{2, 3, 2}, {2, 3, 2}}};
  return {{{}, {}, {}},      {{7}, {7}, {7}}, {{3, 4}, {4}, {3, 1}}, {{2, 1, 1}, {1, 3, 1}, {2}},
          {{1}, {3, 2}, {}}, {{0}, {1}, {}}};
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> table = [] {
    std::vector<OpRow> all;
    for (const auto family : kFamilies)
      for (OpRow& row : family()) all.push_back(std::move(row));
    return all;
  }();
  return table;
}

std::vector<OpRowRef> op_rows() { return {op_table().begin(), op_table().end()}; }

std::vector<OpRowRef> elementwise_rows() {
  std::vector<OpRowRef> rows;
  for (const OpRow& row : op_table())
    if (!row.formulas.empty()) rows.push_back(row);
  return rows;
}

std::vector<Values> inputs_for(const OpRow& row, const OpCase& op_case) {
  Rng rng(hash_of(row.name + op_case.label));
  std::vector<Values> inputs;
  for (std::size_t i = 0; i < op_case.shapes.size(); ++i)
    inputs.push_back(draw(row.inputs[i], op_case.shapes[i], rng));
  keep_apart(row, inputs, rng);
  return inputs;
}

DType dtype_of_input(const OpRow& row, std::size_t i, DType dtype) {
  return row.inputs[i].dtype.value_or(dtype);
}

Expected expected_of(const OpCase& op_case, const std::vector<Tensor>& tensors) {
  std::vector<Values> values;
  for (const Tensor& t : tensors) values.push_back(read(t));
  return op_case.oracle(values);
}

OpRow elementwise(std::string name, std::vector<OpInput> inputs, std::vector<Formula> formulas, int order,
                  double ulps) {
  OpRow row{.name = std::move(name), .inputs = std::move(inputs), .cases = {}, .order = order, .ulps = ulps};
  row.formulas = std::move(formulas);
  for (const Formula& formula : row.formulas)
    for (const std::vector<Shape>& shapes : elementwise_shapes(row.inputs.size())) {
      std::string label = formula.label;
      for (const Shape& s : shapes) label += str(' ', s);
      row.cases.push_back({label, shapes, formula.run, elementwise_oracle(formula)});
    }
  return row;
}

std::string test_name(const OpRow& row) {
  std::string out;
  for (char c : row.name) {
    switch (c) {
      case '+': out += "_plus"; break;
      case '-': out += "_minus"; break;
      case '*': out += "_times"; break;
      case '/': out += "_over"; break;
      case '%': out += "_percent"; break;
      case '&': out += "_and"; break;
      case '|': out += "_or"; break;
      case '^': out += "_either"; break;
      case '!': out += "_not"; break;
      case '=': out += "_equal"; break;
      case '<': out += "_less"; break;
      case '>': out += "_greater"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace veldt::test
