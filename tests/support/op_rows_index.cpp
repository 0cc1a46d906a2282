// Rows of veldt/ops/index.h and einsum.h.
#include <cmath>
#include <map>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/einsum.h"
#include "veldt/ops/index.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Ints = std::vector<double>;

const OpInput kPosition{.low = 0, .high = 3, .dtype = DType::i64};
const OpInput kCondition{.low = 0, .high = 2, .dtype = DType::boolean};

// x with source joined in at the index.
Values joined(Values x, const Values& index, const Values& source, int dim, bool adds) {
  for (std::int64_t i = 0; i < index.size(); ++i) {
    Shape at = index_of(index.shape, i);
    const double value = source.at(at);
    at[dim] = static_cast<std::int64_t>(index.v[static_cast<std::size_t>(i)]);
    double& to = x.v[static_cast<std::size_t>(position_of(x.shape, at))];
    to = adds ? to + value : value;
  }
  return x;
}

// The index is fixed, because of two writes to one place only the last one stays.
// Positions on the device of x.
Tensor beside(const Tensor& x, const Values& positions) {
  return to(write(positions, DType::i64), x.device());
}

OpRow scatter_row() {
  OpRow row{.name = "scatter", .inputs = {{}, {}}, .cases = {}, .ulps = 0};
  const auto add = [&](Shape x, int dim, Values index) {
    row.cases.push_back(
        {str(x, " along ", dim, " by ", index.shape),
         {x, index.shape},
         [=](In in) { return scatter(in[0], dim, beside(in[0], index), in[1]); },
         [=](const std::vector<Values>& in) { return Expected{joined(in[0], index, in[1], dim, false)}; }});
  };
  add({4}, 0, {{2}, {3, 1}});
  add({3, 4}, 0, {{2, 4}, {0, 1, 2, 0, 1, 0, 0, 2}});
  add({3, 4}, 1, {{2, 3}, {3, 0, 1, 2, 1, 0}});
  add({3, 4}, 1, {{0, 3}, {}});
  row.cases.push_back({"one number",
                       {{3}},
                       [](In in) {
                         return scatter(in[0], 0, beside(in[0], {{2}, {2, 0}}), -1.5);
                       },
                       [](const std::vector<Values>& in) {
                         return Expected{joined(in[0], {{2}, {2, 0}}, {{2}, {-1.5, -1.5}}, 0, false)};
                       }});
  return row;
}

OpRow scatter_add_row() {
  OpRow row{.name = "scatter_add", .inputs = {{}, kPosition, {}}, .cases = {}, .ulps = 2};
  const auto add = [&](Shape x, int dim, Shape index) {
    row.cases.push_back({str(x, " along ", dim, " by ", index),
                         {x, index, index},
                         [=](In in) { return scatter_add(in[0], dim, in[1], in[2]); },
                         [=](const std::vector<Values>& in) {
                           Expected out{joined(in[0], in[1], in[2], dim, true)};
                           out.magnitude.assign(out.values.v.size(), 20.0);
                           return out;
                         }});
  };
  add({3}, 0, {7});
  add({3, 4}, 0, {5, 4});
  add({4, 3}, 1, {2, 5});
  add({3, 2}, 0, {0, 2});
  return row;
}

OpRow index_add_row() {
  OpRow row{.name = "index_add", .inputs = {{}, kPosition, {}}, .cases = {}, .ulps = 2};
  const auto add = [&](Shape x, int dim, Shape source) {
    row.cases.push_back({str(x, " along ", dim, " add ", source),
                         {x, {source[dim]}, source},
                         [=](In in) { return index_add(in[0], dim, in[1], in[2]); },
                         [=](const std::vector<Values>& in) {
                           const Values index = build(source, [&](const Shape& at) {
                             return in[1].v[static_cast<std::size_t>(at[dim])];
                           });
                           Expected out{joined(in[0], index, in[2], dim, true)};
                           out.magnitude.assign(out.values.v.size(), 20.0);
                           return out;
                         }});
  };
  add({3}, 0, {5});
  add({3, 2}, 0, {4, 2});
  add({2, 3}, 1, {2, 5});
  return row;
}

std::vector<OpRow> mask_rows() {
  OpRow fill = elementwise("masked_fill", {{}, kCondition},
                           {{"", [](In in) { return masked_fill(in[0], in[1], -3.5); },
                             [](std::span<const double> x) { return x[1] != 0 ? -3.5 : x[0]; }}},
                           2, 0);
  OpRow select{.name = "masked_select", .inputs = {{}, kCondition}, .cases = {}, .ulps = 0};
  for (const auto& [x, mask] :
       {std::pair{Shape{9}, Shape{9}}, std::pair{Shape{3, 4}, Shape{4}}, std::pair{Shape{3}, Shape{4, 1}},
        std::pair{Shape{0}, Shape{1}}, std::pair{Shape{80, 70}, Shape{80, 70}}})
    select.cases.push_back({str(x, " by ", mask),
                            {x, mask},
                            [](In in) { return masked_select(in[0], in[1]); },
                            [](const std::vector<Values>& in) {
                              const Shape both = broadcast(in[0].shape, in[1].shape, "the oracle");
                              Values out{{0}, {}};
                              for (std::int64_t i = 0; i < numel(both); ++i)
                                if (in[1].at(index_of(both, i)) != 0)
                                  out.v.push_back(in[0].at(index_of(both, i)));
                              out.shape[0] = out.size();
                              return Expected{out};
                            }});
  OpRow nonzeros{
      .name = "nonzero", .inputs = {kCondition}, .cases = {}, .order = 0, .ulps = 0, .result = DType::i64};
  for (const Shape& x : {Shape{}, Shape{9}, Shape{3, 4}, Shape{2, 3, 2}, Shape{0, 3}})
    nonzeros.cases.push_back({str(x),
                              {x},
                              [](In in) { return nonzero(in[0]); },
                              [](const std::vector<Values>& in) {
                                Values out{{0, in[0].shape.rank()}, {}};
                                for (std::int64_t i = 0; i < in[0].size(); ++i) {
                                  if (in[0].v[static_cast<std::size_t>(i)] == 0) continue;
                                  ++out.shape[0];
                                  for (std::int64_t k : index_of(in[0].shape, i))
                                    out.v.push_back(static_cast<double>(k));
                                }
                                return Expected{out};
                              }});
  OpRow hot{
      .name = "one_hot", .inputs = {kPosition}, .cases = {}, .order = 0, .ulps = 0, .result = DType::i64};
  for (const Shape& x : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}})
    hot.cases.push_back({str(x),
                         {x},
                         [](In in) { return one_hot(in[0], 4); },
                         [](const std::vector<Values>& in) {
                           const int last = in[0].shape.rank();
                           return Expected{build(in[0].shape.with_inserted(last, 4), [&](const Shape& at) {
                             return in[0].at(at.without(last)) == static_cast<double>(at[last]) ? 1.0 : 0.0;
                           })};
                         }});
  return {fill, select, nonzeros, hot};
}

// Every combination of the subscripts' positions, one product each.
Expected summed(const std::string& terms, const std::string& result, const std::vector<Values>& in) {
  std::map<char, std::int64_t> sizes;
  std::vector<std::string> names(1);
  for (char c : terms) {
    if (c == ',')
      names.emplace_back();
    else
      names.back() += c;
  }
  for (std::size_t t = 0; t < in.size(); ++t)
    for (std::size_t d = 0; d < names[t].size(); ++d) sizes[names[t][d]] = in[t].shape[static_cast<int>(d)];
  std::string letters;
  Shape all, to;
  for (const auto& [letter, size] : sizes) letters += letter, all.push_back(size);
  for (char c : result) to.push_back(sizes[c]);
  const auto index_for = [&](const std::string& name, const Shape& at) {
    Shape index;
    for (char c : name) index.push_back(at[static_cast<int>(letters.find(c))]);
    return index;
  };
  Expected out{build(to, [](const Shape&) { return 0.0; })};
  out.magnitude.assign(out.values.v.size(), 0.0);
  for (std::int64_t i = 0; i < numel(all); ++i) {
    const Shape at = index_of(all, i);
    double product = 1;
    for (std::size_t t = 0; t < in.size(); ++t) product *= in[t].at(index_for(names[t], at));
    const auto k = static_cast<std::size_t>(position_of(to, index_for(result, at)));
    out.values.v[k] += product;
    out.magnitude[k] += std::fabs(product);
  }
  return out;
}

OpRow einsum_row() {
  OpRow row{.name = "einsum", .inputs = {{}, {}, {}}, .cases = {}, .order = 2, .ulps = 16, .half_ulps = 1};
  const auto add = [&](std::string terms, std::string result, std::vector<Shape> shapes) {
    row.cases.push_back({terms + "->" + result, shapes,
                         [=](In in) { return einsum(terms + "->" + result, in); },
                         [=](const std::vector<Values>& in) { return summed(terms, result, in); }});
  };
  add("ij,jk", "ik", {{2, 3}, {3, 2}});
  add("bij,bjk", "bik", {{2, 2, 3}, {2, 3, 2}});
  add("ij,kj", "ki", {{2, 3}, {4, 3}});
  add("ij", "ji", {{2, 3}});
  add("ijk", "j", {{2, 3, 2}});
  add("ii", "i", {{3, 3}});
  add("ii", "", {{3, 3}});
  add("iji", "j", {{2, 3, 2}});
  add("i,j", "ij", {{3}, {4}});
  add("i,i", "", {{5}, {5}});
  add("ij,ij", "i", {{2, 3}, {2, 3}});
  add("ij,jk,kl", "il", {{2, 3}, {3, 2}, {2, 2}});
  add("bi,bj,b", "ij", {{3, 2}, {3, 2}, {3}});
  add("ij,k", "i", {{2, 3}, {2}});
  add("ij,jk", "ik", {{17, 40}, {40, 9}});
  return row;
}

}  // namespace

std::vector<OpRow> index_rows() {
  std::vector<OpRow> rows = mask_rows();
  rows.push_back(scatter_row());
  rows.push_back(scatter_add_row());
  rows.push_back(index_add_row());
  rows.push_back(einsum_row());
  return rows;
}

}  // namespace veldt::test
