// ONNX's own cases, from Debian's package libonnx-testdata: each operator, and whole networks.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/onnx/cases.h"

namespace veldt::onnx {
namespace {

TEST(SlowOnnxCases, All) {
  const char* given = std::getenv("VELDT_ONNX_CASES");
  const std::string root = given != nullptr ? given : "/usr/share/libonnx-testdata/data/node";
  const std::vector<std::string> folders = cases_in(root);
  if (folders.empty()) GTEST_SKIP() << "no libonnx-testdata";
  std::ofstream log("/tmp/onnx_cases.txt");
  std::size_t passed = 0;
  for (const std::string& folder : folders) {
    const std::string failure = failure_of(folder);
    if (failure.empty())
      ++passed;
    else
      log << folder.substr(root.size() + 1) << "\t" << failure.substr(0, failure.find('\n')) << " | "
          << (failure.find('\n') == std::string::npos ? "" : failure.substr(failure.find('\n') + 1, 120))
          << std::endl;
  }
  std::cout << passed << " of " << folders.size() << std::endl;
}

}  // namespace
}  // namespace veldt::onnx
