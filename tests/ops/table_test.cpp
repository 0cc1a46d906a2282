// The op table is complete: every public function of veldt/ops that gives tensors has a row.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/support/op_table.h"

namespace veldt::test {
namespace {

// "Tensor name(" at the start of a line, inline or not, or a list of them; comments are cut off first.
std::set<std::string> functions_that_give_a_tensor(const std::string& header) {
  static const std::regex comment("//[^\n]*");
  static const std::regex declaration(
      "(?:^|\n)(?:inline )?(?:Tensor|Sorted|std::vector<Tensor>) (operator[^\\s(]+|\\w+)\\(");
  const std::string text = std::regex_replace(header, comment, "");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1].str());
  return names;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

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
  const std::string umbrella = text_of(VELDT_SOURCE "/veldt/veldt.h");
  int headers = 0;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/veldt/ops")) {
    // What veldt.h leaves out is for ops alone; derivatives.h has functions of functions, which are no ops.
    const std::string include = "veldt/ops/" + entry.path().filename().string() + '"';
    if (entry.path().extension() != ".h" || umbrella.find(include) == std::string::npos ||
        entry.path().filename() == "derivatives.h")
      continue;
    for (const std::string& name : functions_that_give_a_tensor(text_of(entry.path())))
      EXPECT_TRUE(rows.contains(name))
          << name << " of " << entry.path().filename() << " has no row in tests/support/op_rows_*.cpp";
    ++headers;
  }
  EXPECT_GE(headers, 7);
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
