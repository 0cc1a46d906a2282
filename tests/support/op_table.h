// One row for each public op of veldt/ops: how to call it, its inputs, and its expected result. The suites of
// tests/ops run over it (forward, gradients, special numbers, instruction sets); a new op needs a row and
// nothing else.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/gradients.h"
#include "tests/support/values.h"

namespace veldt::test {

// The domain of an input's numbers.
struct OpInput {
  double low = -2, high = 2;
  std::vector<double> avoid = {};  // kinks: a gradient check must not step over them
  double margin = 0.05;            // how far to stay away
  bool distinct = false;  // no two elements, of all such inputs, closer than a gradient check's steps
  // i64 for positions (whole numbers from low to high - 1), boolean for conditions; else the dtype under
  // test.
  std::optional<DType> dtype = {};
};

// What an op must give. `magnitude`: see compare() in allclose.h.
struct Expected {
  Values values;
  std::vector<double> magnitude = {};
};

using Oracle = std::function<Expected(const std::vector<Values>& inputs)>;
using Scalar = std::function<double(std::span<const double> x)>;

struct OpCase {
  std::string label;
  std::vector<Shape> shapes;  // one for each input
  Function run;
  Oracle oracle;
};

// An elementwise op with its constants: the function of one element, in double.
struct Formula {
  std::string label;
  Function run;
  Scalar value;
  Scalar magnitude = {};  // of the terms it is made from; none: of the result
};

struct OpRow {
  std::string name;  // as in the header: "sine", "operator+"
  std::vector<OpInput> inputs;
  std::vector<OpCase> cases;
  int order = 2;                       // derivatives to check; 0: it has none
  double ulps = 1;                     // the allowed error of the forward result
  std::optional<DType> result = {};    // its dtype, if it is not that of the first real input
  std::vector<Formula> formulas = {};  // elementwise ops alone
  double special_limit = 1e300;        // special numbers beyond it are not tried, infinities are
  // How far bf16 and f16 may be off, in their own ulps of the magnitude, where a run takes steps that are
  // rounded each; 0: they are rounded once.
  double half_ulps = 0;
};

const std::vector<OpRow>& op_table();

// A test's parameter, which GoogleTest copies four times, in each start of a program.
using OpRowRef = std::reference_wrapper<const OpRow>;
std::vector<OpRowRef> op_rows();
std::vector<OpRowRef> elementwise_rows();

// Inputs of a case: reproducible numbers within the row's domains.
std::vector<Values> inputs_for(const OpRow& row, const OpCase& op_case);
// The dtype of input `i` when the row is run in `dtype`.
DType dtype_of_input(const OpRow& row, std::size_t i, DType dtype);
// What the oracle says of the numbers that `tensors` hold.
Expected expected_of(const OpCase& op_case, const std::vector<Tensor>& tensors);

// A row of an elementwise op: cases over shapes that broadcast, and the formulas.
OpRow elementwise(std::string name, std::vector<OpInput> inputs, std::vector<Formula> formulas, int order,
                  double ulps);
// A name that GoogleTest accepts: "operator_plus".
std::string test_name(const OpRow& row);

// For GoogleTest's messages.
inline void PrintTo(const OpRow& row, std::ostream* out) { *out << row.name; }

// The families, each in a file of its own.
std::vector<OpRow> unary_rows();
std::vector<OpRow> activation_rows();
std::vector<OpRow> binary_rows();
std::vector<OpRow> arrange_rows();
std::vector<OpRow> distance_rows();
std::vector<OpRow> grid_rows();
std::vector<OpRow> index_rows();
std::vector<OpRow> interpolate_rows();
std::vector<OpRow> line_rows();
std::vector<OpRow> reduce_rows();
std::vector<OpRow> shape_rows();
std::vector<OpRow> matmul_rows();
std::vector<OpRow> mlp_rows();
std::vector<OpRow> pooling_rows();
std::vector<OpRow> recurrent_rows();
std::vector<OpRow> attention_rows();
std::vector<OpRow> convolution_rows();
std::vector<OpRow> norm_rows();
std::vector<OpRow> create_rows();
std::vector<OpRow> quantize_rows();
inline constexpr std::vector<OpRow> (*kFamilies[])() = {
    unary_rows,  activation_rows,  binary_rows,      reduce_rows,    shape_rows,
    matmul_rows, convolution_rows, mlp_rows,         pooling_rows,   create_rows,
    line_rows,   arrange_rows,     interpolate_rows, distance_rows,  index_rows,
    grid_rows,   norm_rows,        recurrent_rows,   attention_rows, quantize_rows};

}  // namespace veldt::test
