// Operators that ONNX has no cases for, com.microsoft's among them, against ONNX Runtime, where a Python has
// it.
#include <gtest/gtest.h>

#include "tests/onnx/cases.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"

namespace veldt::onnx {
namespace {

TEST(OnnxOperatorPeers, SameAsOnnxRuntime) {
  if (!veldt::test::python_has("numpy, onnx, onnxruntime"))
    GTEST_SKIP() << veldt::test::python() << " has no onnx and onnxruntime; set VELDT_PYTHON";
  const veldt::test::TempDir dir;
  ASSERT_EQ(veldt::test::run_python("-B " VELDT_SOURCE "/tests/onnx/operator_peers.py " + dir.path()), 0);
  const std::vector<std::string> folders = cases_in(dir.path());
  EXPECT_GE(folders.size(), 39U);
  for (const std::string& folder : folders)
    EXPECT_EQ(failure_of(folder), "") << folder.substr(folder.rfind('/') + 1);
}

}  // namespace
}  // namespace veldt::onnx
