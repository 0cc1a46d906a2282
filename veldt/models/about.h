// What there is to know of a network before it is made: its options, its papers, the pictures it takes.
// Tests: tests/models/registry_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace veldt::models {

// What is asked of an architecture, by the option's name. What is not given has the value of about().
using Options = std::map<std::string, double>;

struct OptionInfo {
  std::string name;
  double otherwise = 0;  // the value, if none is given
  double least = 0, most = 0;
  bool whole = true;  // a whole number
};

// How a picture becomes a network's input; see prepare().
struct Preprocessing {
  std::int64_t shorter_side = 256;         // to which a picture is resized
  std::int64_t height = 224, width = 224;  // of the middle part that is taken
  std::vector<double> mean, deviation;     // of each channel, of pixels in 0..1
};

struct About {
  std::string title;  // the paper, and whose names the parameters have
  std::vector<OptionInfo> options;
  std::string head;  // the layer that makes the outputs: "fc"
  Preprocessing preprocessing;
};

}  // namespace veldt::models
