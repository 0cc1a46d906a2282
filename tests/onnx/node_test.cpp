// ONNX's own cases: each operator, and whole networks that PyTorch wrote. Debian's package libonnx-testdata
// has those of ONNX 1.12; write_cases.py writes those of an installed onnx package into the folder that
// VELDT_ONNX_CASES names. What fails has to be what docs/onnx.md lists, with reasons.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "tests/onnx/cases.h"
#include "veldt/core/error.h"
#include "veldt/onnx/operators.h"

namespace veldt::onnx {
namespace {

const std::string kPage = VELDT_SOURCE "/docs/onnx.md";

// The cases that the page lists as failing: lines "| `test_x` | why |", each perhaps of several. `old`: those
// of ONNX 1.12 too, which have a table of their own.
std::set<std::string> listed(bool old) {
  std::ifstream page(kPage);
  std::set<std::string> out;
  std::string line;
  while (std::getline(page, line)) {
    if (!old && line.starts_with("| case of 1.12")) break;
    if (!line.starts_with("| `test_")) continue;
    const std::size_t cell = line.find('|', 1);
    for (std::size_t at = line.find('`'); at < cell; at = line.find('`', at)) {
      const std::size_t end = line.find('`', at + 1);
      out.insert(line.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }
  return out;
}

// Runs all cases of a folder. `exact`: a case that is listed must fail, too.
void run_cases(const std::string& root, bool exact, std::size_t least) {
  const std::set<std::string> expected = listed(!exact);
  const std::vector<std::string> folders = cases_in(root);
  ASSERT_FALSE(folders.empty()) << root << " has no folder with a model.onnx";
  std::size_t passed = 0;
  for (const std::string& folder : folders) {
    const std::string name = folder.substr(folder.rfind('/') + 1);
    const std::string failure = failure_of(folder);
    passed += failure.empty() ? 1U : 0U;
    EXPECT_TRUE(failure.empty() || expected.contains(name)) << name << ": " << failure;
    EXPECT_FALSE(exact && failure.empty() && expected.contains(name)) << name << " passes; the page lists it";
  }
  EXPECT_GE(passed, least);
  std::cout << root << ": " << passed << " of " << folders.size() << " passed\n";
}

class OnnxCases : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

// How many at least are to pass is what the project promises, however long the list of failures.
TEST_P(OnnxCases, OfDebian) {
  const auto [folder, least] = GetParam();
  if (cases_in(kDebianCases + folder).empty()) GTEST_SKIP() << "libonnx-testdata is not here";
  run_cases(kDebianCases + folder, false, least);
}

INSTANTIATE_TEST_SUITE_P(Folders, OnnxCases,
                         testing::Values(std::pair("node", 915U), std::pair("pytorch-converted", 82U),
                                         std::pair("pytorch-operator", 35U), std::pair("simple", 23U)),
                         [](const auto& info) {
                           std::string name = info.param.first;
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

TEST(SlowOnnxCases, OfTheNewestPackage) {
  const char* root = std::getenv("VELDT_ONNX_CASES");
  if (root == nullptr) GTEST_SKIP() << "VELDT_ONNX_CASES names no folder of cases";
  run_cases(root, true, 0);
}

// The page lists the operators that there are.
TEST(OnnxOperators, AreListedOnThePage) {
  std::ifstream file(kPage);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::size_t begin = page.find("## Operators");
  ASSERT_NE(begin, std::string::npos);
  const std::string section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  std::set<std::string> words;
  for (std::size_t at = 0; at < section.size();) {
    const std::size_t end = section.find_first_of(" ,\n", at);
    std::string word = section.substr(at, std::min(end, section.size()) - at);
    if (word.ends_with('.')) word.pop_back();
    words.insert(word);
    at = end == std::string::npos ? section.size() : end + 1;
  }
  std::string missing;
  for (const std::string& name : operators().names())
    if (!words.contains(name)) missing += name + ", ";
  EXPECT_EQ(missing, "") << "write them into the section Operators of " << kPage;
}

}  // namespace
}  // namespace veldt::onnx
