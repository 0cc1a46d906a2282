// The op table is complete: every public function of veldt/ops that gives tensors has a row.
#include <gtest/gtest.h>

#include <set>

#include "tests/support/op_table.h"
#include "tests/support/public_ops.h"

namespace veldt::test {
namespace {

TEST(OpTable, ReadsDeclarationsOutOfAHeader) {
  const std::set<std::string> expected = {"abs", "operator*", "matmul", "split", "sort"};
  EXPECT_EQ(functions_that_give_a_tensor(
                "// Tensor no(int);\nTensor abs(const Tensor& x);  // Tensor no(\n"
                "View broadcast_view(const Tensor& x);\nTensor matmul(const Tensor& a,\n"
                "inline Tensor operator*(const Tensor& a, double b) { return a; }\n"
                "std::vector<Tensor> split(const Tensor& x);\nSorted sort(const Tensor& x);\n"),
            expected);
}

TEST(OpTable, HasARowForEveryPublicOp) {
  std::set<std::string> rows;
  for (const OpRow& row : op_table())
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " is there twice";
  const std::set<std::string> ops = public_ops();
  EXPECT_GE(ops.size(), 150U);
  for (const std::string& op : ops)
    EXPECT_TRUE(rows.contains(op)) << op << " has no row in tests/support/op_rows_*.cpp";
}

TEST(OpTable, GivesInputsWithinTheDomainsOfItsRows) {
  for (const OpRow& row : op_table())
    for (const OpCase& op_case : row.cases) {
      const std::vector<Values> inputs = inputs_for(row, op_case);
      for (std::size_t i = 0; i < inputs.size(); ++i)
        for (double x : inputs[i].v) {
          EXPECT_GE(x, row.inputs[i].low) << row.name;
          EXPECT_LT(x, row.inputs[i].high) << row.name;
          for (double kink : row.inputs[i].avoid)
            EXPECT_GE(std::abs(x - kink), row.inputs[i].margin) << row.name;
        }
    }
}

}  // namespace
}  // namespace veldt::test
