// A quantised network as one C++11 header without dependencies, a heap or floats on its way.
// Tests: tests/publish/network_header_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/nn/module.h"

namespace veldt::publish {

// What a header says of a network's data: both lists have one number, or one for each channel (of a list,
// each element) of the input. A number that the network was trained with is gain level + offset, its result
// output_gain y + output_offset.
struct NetworkHeaderOptions {
  std::string title = "network";
  std::string level_words = "numbers";  // what levels are, for a comment
  std::vector<double> gain = {1}, offset = {0};
  double output_gain = 1, output_offset = 0;
  std::vector<std::string> classes = {};                    // a name for each output, or none
  std::vector<std::pair<std::string, double>> scores = {};  // for a comment
};

struct NetworkHeader {
  std::string text;
  std::int64_t arena = 0, constants = 0, multiplies = 0;  // bytes of memory, bytes of constants, and products
};

// namespace cpp_name(`title`, "net") with struct Arena and void run(const float* input, float* output,
// Arena&) of C++11, freestanding with <stdint.h>. `input`: the shape of one example. Throws ConfigError as
// integer_network(), and for other numbers of channels and classes than the network's.
NetworkHeader network_header(const nn::Module& network, const Shape& input,
                             const NetworkHeaderOptions& options = {});

}  // namespace veldt::publish
