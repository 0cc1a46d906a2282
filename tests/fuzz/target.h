// Shared parts of the fuzz targets. A target reads untrusted bytes, and may throw an Error of Veldt's;
// another exception, a sanitizer's report, a long time, much memory, or a property that does not hold is a
// finding. tools/fuzz runs them.
#pragma once

#include <string>
#include <vector>

#include "veldt/tensor/tensor.h"

namespace veldt::fuzz {

struct Target {
  const char* name;
  void (*read)(const std::string& bytes);
  std::vector<std::string> (*seeds)();       // what the fuzzer begins with
  std::vector<std::string> (*words)() = {};  // extra words to try: keys, names
};

// The targets of each file of this folder.
std::vector<Target> array_targets();
std::vector<Target> command_targets();
std::vector<Target> packed_targets();
std::vector<Target> live_targets();
std::vector<Target> model_targets();
std::vector<Target> onnx_targets();  // where Veldt is built with ONNX
std::vector<Target> picture_targets();
std::vector<Target> sound_targets();
std::vector<Target> text_targets();
std::vector<Target> torch_targets();

// The path of a file that holds these bytes, until the next call.
const std::string& file_of(const std::string& bytes);
// A path in a folder of this process's own.
std::string scratch(const std::string& name);
// The bytes that write(path) leaves in a file of this name.
template <class Write> std::string written(const std::string& name, const Write& write);
// Files of the repository: tests/golden/sounds/*, say.
std::vector<std::string> files_in(const std::string& folder, const std::string& ending);
// Lines, words and arguments of an input, which it ends in a zero byte each.
std::vector<std::string> split(const std::string& bytes, char at = '\0');

// Ends the process with a report if a property of the result does not hold.
void require(bool holds, const char* property);
// Whether two are the same bit for bit.
bool same(const Tensor& a, const Tensor& b);

std::string bytes_of_file(const std::string& path);

template <class Write> std::string written(const std::string& name, const Write& write) {
  write(scratch(name));
  return bytes_of_file(scratch(name));
}

}  // namespace veldt::fuzz
