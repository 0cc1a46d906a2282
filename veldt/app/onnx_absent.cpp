// The verbs for ONNX in a build without it.
#include <nlohmann/json.hpp>

#include "veldt/app/onnx_files.h"
#include "veldt/app/verbs.h"
#include "veldt/core/error.h"

namespace veldt::app {

void refuse_onnx() {
  throw Error("this veldt was built without ONNX",
              "protozero, which reads and writes its files, was not there",
              "apt-get install libprotozero-dev, and build again");
}

const bool kHasOnnx = false;

nlohmann::ordered_json describe_onnx(const std::string&, bool, bool) { refuse_onnx(); }

Run add_run(VerbOptions&, Context&) {
  return []() -> int { refuse_onnx(); };
}

}  // namespace veldt::app
