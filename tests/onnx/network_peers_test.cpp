// Trained networks that Python packages ship: Veldt's results are onnxruntime's, down to what a user sees.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"

namespace veldt::onnx {
namespace {

int peer(const std::string& verb, const veldt::test::TempDir& dir) {
  return veldt::test::run_python(str("-B ", VELDT_SOURCE, "/tests/onnx/network_peers.py ", verb, " ",
                                     VELDT_BINARY, " ", dir.path(), " > ", dir / "log", " 2>&1 || (cat ",
                                     dir / "log", "; exit 1)"));
}

TEST(SlowOnnxPeers, APageIsReadToTheSameText) {
  if (!veldt::test::python_has("rapidocr_onnxruntime, PIL"))
    GTEST_SKIP() << veldt::test::python() << " has no rapidocr_onnxruntime; set VELDT_PYTHON";
  const veldt::test::TempDir dir;
  EXPECT_EQ(peer("ocr", dir), 0);
}

TEST(SlowOnnxPeers, SpeechIsFoundInTheSamePlaces) {
  if (!veldt::test::python_has("silero_vad, onnxruntime"))
    GTEST_SKIP() << veldt::test::python() << " has no silero_vad; set VELDT_PYTHON";
  const veldt::test::TempDir dir;
  const std::string say = str("espeak-ng -w ", dir / "speech.wav",
                              " 'A small network listens, and says where there is speech.' 2>/dev/null");
  if (std::system(say.c_str()) != 0) GTEST_SKIP() << "there is no espeak-ng";
  EXPECT_EQ(peer("speech", dir), 0);
}

}  // namespace
}  // namespace veldt::onnx
