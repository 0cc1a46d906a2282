// Every network but VGG, with weights that follow from a formula, against what PyTorch made of the same
// (tests/golden/models.py): without Python.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temp_dir.h"
#include "veldt/models/registry.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::models {
namespace {

// Numbers in -0.5 .. 0.5; models.py has the same.
double formula_value(std::uint64_t i, std::uint64_t tensor) {
  auto mixed = static_cast<std::uint32_t>(i * 2654435761U + tensor * 97003U + 12345U);
  mixed = (mixed ^ (mixed >> 15)) * 2246822519U;
  return static_cast<double>(mixed ^ (mixed >> 13)) / 4294967296.0 - 0.5;
}

void fill_by_formula(const std::string& name, Tensor tensor, std::uint64_t place) {
  if (name.ends_with("num_batches_tracked")) return;
  const double inputs = static_cast<double>(tensor.numel() / tensor.size(0));
  std::vector<float> values(static_cast<std::size_t>(tensor.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = formula_value(i, place);
    values[i] = static_cast<float>(name.ends_with("running_var")                    ? 1 + 0.5 * v
                                   : name.ends_with("weight") && tensor.rank() == 1 ? 1 + 0.4 * v
                                   : name.ends_with("weight") ? v * std::sqrt(24 / inputs)
                                                              : 0.2 * v);
  }
  tensor.assign(Tensor::from<float>(tensor.shape(), values));
}

Options options_of_case(const std::string& name) {
  Options options{{"classes", 7}};
  if (name.starts_with("unet")) options["width"] = 0.125;
  if (name == "unet_bilinear") options["bilinear"] = 1;
  if (name == "vit_b_16") options["image_size"] = 32;
  return options;
}

TEST(GoldenVision, NetworksComputeWhatPyTorchComputed) {
  const auto all = nlohmann::json::parse(test::bytes_of(VELDT_SOURCE "/tests/golden/models.json"));
  ASSERT_EQ(all.size(), 10u);
  const NoGrad off;
  for (const auto& [name, wanted] : all.items()) {
    const auto network = make(name == "unet_bilinear" ? "unet" : name, options_of_case(name));
    network->eval();
    NamedTensors state = network->state_dict();
    std::erase_if(state, [](const NamedTensor& t) { return t.name.ends_with("rng"); });
    std::sort(state.begin(), state.end(),
              [](const NamedTensor& a, const NamedTensor& b) { return a.name < b.name; });
    for (std::size_t place = 0; place < state.size(); ++place)
      fill_by_formula(state[place].name, state[place].tensor, place);
    const auto size = wanted.at("size").get<std::int64_t>();
    std::vector<float> pixels(static_cast<std::size_t>(2 * 3 * size * size));
    for (std::size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = static_cast<float>(3 * formula_value(i, 1 << 16));
    const std::vector<float> found =
        (*network)(Tensor::from<float>({2, 3, size, size}, pixels)).values<float>();
    const auto outputs = wanted.at("outputs").get<std::vector<double>>();
    const auto step = wanted.at("step").get<std::size_t>();
    ASSERT_EQ(outputs.size(), (found.size() + step - 1) / step) << name;
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      largest = std::max(largest, std::abs(outputs[i]));
      difference = std::max(difference, std::abs(found[i * step] - outputs[i]));
    }
    EXPECT_GT(largest, 0) << name;
    EXPECT_LT(difference, 1e-4 * largest) << name;
  }
}

}  // namespace
}  // namespace veldt::models
