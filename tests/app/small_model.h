// A picture and runs of `veldt fit` that take a second or less.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/shape.h"

namespace veldt::test {

// Rings in grey, 32x24.
inline std::string rings_png() {
  std::vector<int> samples;
  for (int y = 0; y < 24; ++y)
    for (int x = 0; x < 32; ++x)
      samples.push_back((x - 16) * (x - 16) + (y - 12) * (y - 12) < 80 ? 30 : 4 * x + 5 * y);
  return make_png({.width = 32, .height = 24}, samples);
}

inline std::vector<std::string> operator+(std::vector<std::string> words,
                                          const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// fit PICTURE -o MODEL with a network of 337 parameters.
inline std::vector<std::string> small_fit(const std::string& picture, const std::string& model, int steps) {
  return {"fit",       picture, "-o",      model,  "--steps", std::to_string(steps),
          "--width",   "16",    "--depth", "2",    "--batch", "128",
          "--threads", "1",     "--model", "siren"};
}

// All tensors of a model, bit for bit.
inline std::map<std::string, std::vector<double>> tensors_of(const std::string& model) {
  std::map<std::string, std::vector<double>> all;
  for (const auto& t : io::read_safetensors(model).tensors)
    all[t.name] = to(t.tensor, DType::f64).values<double>();
  return all;
}

}  // namespace veldt::test
