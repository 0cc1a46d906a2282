// The header of a quantised network: compiles for a bare machine without a warning, gives the network's
// numbers, and what it cannot hold is refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>

#include "tests/support/temp_dir.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/dropout.h"
#include "veldt/nn/graph.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/sequential.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/publish/header.h"
#include "veldt/publish/network_header.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;

// Integers for all weights, with the ranges that `x` shows.
void quantize_for(nn::Module& network, const Tensor& x) {
  const NoGrad off;
  network.eval();
  std::map<const nn::Module*, std::pair<float, float>> ranges;
  {
    ScopedHooks hooks;
    for (const nn::NamedModule& m : network.named_modules())
      if (dynamic_cast<nn::Quantizable*>(m.module))
        hooks.add(m.module->register_forward_pre_hook([&ranges](const nn::Module& layer, TensorList& in) {
          ranges[&layer] = {min(in[0]).item<float>(), max(in[0]).item<float>()};
        }));
    network(x);
  }
  for (const nn::NamedModule& m : network.named_modules())
    if (auto* layer = dynamic_cast<nn::Quantizable*>(m.module))
      for (const auto& part : layer->weights())
        part.weight->quantize({8, nn::QuantizedInput::fixed}, ranges[m.module].first,
                              ranges[m.module].second);
}

struct Example {
  std::string name;
  std::shared_ptr<nn::Module> network;
  Tensor inputs;
};

std::vector<Example> examples() {
  Rng rng(7);
  std::vector<Example> all;
  const auto add = [&](const std::string& name, auto network, const Shape& shape, double low) {
    const Tensor x = rand(shape.with_inserted(0, 16), rng, low, 1);
    all.push_back({name, std::make_shared<decltype(network)>(std::move(network)), x});
    quantize_for(*all.back().network, x);
  };
  // LeNet's form; the first range begins below 0, and the pool's windows overlap.
  add("plain",
      nn::Sequential{
          nn::Conv2d(2, 6, 5, {.padding = 2}, rng), nn::ReLU(), nn::MaxPool2d(3, {.stride = 2, .padding = 1}),
          nn::Conv2d(6, 8, {3, 2}, {.stride = {2, 1}, .dilation = {1, 2}, .groups = 2}, rng), nn::ReLU6(),
          nn::Flatten(), nn::Dropout(0.5), nn::Linear(8 * 2 * 3, 12, rng), nn::Linear(12, 5, rng)},
      {2, 11, 10}, -1);
  // A shortcut, means, a product without bias, and "same" of an even kernel.
  nn::Graph residual;
  const auto stem = residual.add("stem", nn::Conv2d(3, 8, 4, {.padding = "same"}, rng), {0});
  const auto start = residual.add("start", nn::ReLU(), {stem});
  const auto deep =
      residual.add("deep", nn::Conv2d(8, 8, 3, {.padding = 1, .groups = 8, .bias = false}, rng), {start});
  const auto both = residual.add("both", nn::Sum(), {start, deep});
  const auto half = residual.add("half", nn::AvgPool2d(2, {.padding = 1}), {both});
  const auto block =
      residual.add("block", nn::Residual(nn::Sequential{nn::ReLU(), nn::Conv2d(8, 8, 1, rng)}), {half});
  const auto end = residual.add("end", nn::ReLU(), {block});
  residual.add("head",
               nn::Sequential{nn::AdaptiveAvgPool2d(1), nn::Flatten(), nn::Linear(8, 4, rng), nn::ReLU6()},
               {end});
  add("residual", std::move(residual), {3, 6, 6}, 0);
  add("signal",
      nn::Sequential{nn::Conv1d(2, 4, 3, {.stride = 2, .padding = 1}, rng), nn::MaxPool1d(2),
                     nn::Conv1d(4, 3, 3, rng)},
      {2, 20}, -0.5);
  return all;
}

TEST(NetworkHeader, GivesTheNetworksNumbers) {
  const NoGrad off;
  const TempDir dir;
  std::string program = "#include <cstdio>\n", heads, main;
  std::vector<Example> all = examples();
  for (const Example& e : all) {
    const Shape one = e.inputs.shape().without(0);
    const publish::NetworkHeader made = publish::network_header(*e.network, one, {.title = e.name});
    EXPECT_GT(made.multiplies, 100);
    io::write_file(dir / (e.name + ".h"), made.text);
    heads += str("#include \"", e.name, ".h\"\n");
    // Twice, and from a second file too.
    program += str("#include \"", e.name, ".h\"\n#include \"", e.name, ".h\"\n");
    const std::string space = publish::cpp_name(e.name, "net");
    std::string levels;
    for (const float x : e.inputs.values<float>()) levels += str(x, ",");
    io::write_file(dir / (e.name + ".inc"), levels);
    main += str("  {\n    static ", space, "::Arena arena;\n    static const float levels[] = {\n#include \"",
                e.name, ".inc\"\n    };\n    float out[", space,
                "::kOutputs];\n    for (int i = 0; i < 16; ++i) {\n      ", space, "::run(levels + i * ",
                space, "::kInputs, out, arena);\n",
                "      for (float y : out) std::printf(\"%.9g\\n\", double(y));\n    }\n  }\n");
  }
  io::write_file(dir / "main.cpp",
                 program + "int other();\nint main() {\n" + main + "  return other();\n}\n");
  io::write_file(dir / "other.cpp", heads +
                                        "int other() {\n  static plain_net::Arena arena;\n"
                                        "  plain_net::run(arena);\n  return plain_net::kOutputs - 5;\n}\n");
  const std::string warnings =
      " -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Werror ";
  // For a bare machine, in the oldest and in Veldt's own C++.
  for (const char* standard : {"-std=c++11 -ffreestanding -fno-exceptions -fno-rtti", "-std=c++20"})
    EXPECT_EQ(
        std::system(
            str(VELDT_CXX, " ", standard, warnings, " -c -o ", dir / "other.o ", dir / "other.cpp").c_str()),
        0);
  ASSERT_EQ(
      std::system(str(VELDT_CXX,
                      " -std=c++11 -O1 -fsanitize=undefined -fno-sanitize-recover -Wall -Wextra -Werror -I",
                      dir.path(), " ", dir / "main.cpp ", dir / "other.cpp", " -o ", dir / "main && ",
                      dir / "main", " > ", dir / "out")
                      .c_str()),
      0);
  const std::string out = io::read_file(dir / "out");
  const char* at = out.c_str();
  for (const Example& e : all) {
    const Tensor wanted = (*e.network)(e.inputs);
    const double most = max(abs(wanted)).item();
    double apart = 0;
    for (const float y : contiguous(wanted).values<float>()) {
      char* end = nullptr;
      apart = std::max(apart, std::abs(std::strtod(at, &end) - static_cast<double>(y)));
      at = end;
    }
    // A number at a half may become its neighbour, in a few places.
    EXPECT_LT(apart, 0.01 * most) << e.name;
  }
}

TEST(NetworkHeader, RefusesByName) {
  Rng rng(7);
  const auto refused = [&](auto network, const Shape& shape, const Shape& input, bool quantized = true) {
    const Tensor x = rand(shape, rng);
    if (quantized) quantize_for(network, x);
    network.eval();
    return error_of<ConfigError>([&] { publish::network_header(network, input); });
  };
  EXPECT_THAT(refused(nn::Sequential{nn::Linear(4, 4), nn::Tanh(), nn::Linear(4, 2)}, {2, 4}, {4}),
              HasSubstr("'1', Tanh"));
  EXPECT_THAT(refused(nn::Sequential{nn::Linear(4, 4)}, {2, 4}, {4}, false), HasSubstr("floats"));
  EXPECT_THAT(refused(nn::Sequential{nn::Linear(4, 4)}, {2, 3, 4}, {3, 4}), HasSubstr("rows"));
  EXPECT_THAT(refused(nn::Sequential{nn::AvgPool2d(2), nn::Conv2d(1, 1, 1)}, {2, 1, 4, 4}, {1, 4, 4}),
              HasSubstr("no quantised layer"));
  EXPECT_THAT(refused(nn::Sequential{nn::Conv2d(1, 1, 1), nn::AdaptiveAvgPool2d(2)}, {2, 1, 5, 5}, {1, 5, 5}),
              HasSubstr("different sizes"));
  EXPECT_THAT(refused(nn::Sequential{nn::Conv2d(1, 1, 3, {.padding = 1, .padding_mode = PadMode::reflect})},
                      {2, 1, 5, 5}, {1, 5, 5}),
              HasSubstr("padding"));
  EXPECT_THAT(refused(nn::Sequential{nn::Linear(4, 4), nn::Lambda([](const Tensor& x) { return add(x, x); })},
                      {2, 4}, {4}),
              HasSubstr("Lambda"));
  nn::Sequential small{nn::Linear(4, 4)};
  quantize_for(small, rand({2, 4}, rng));
  EXPECT_THAT(error_of<ConfigError>([&] {
                publish::network_header(small, {4}, {.gain = {std::numeric_limits<double>::infinity()}});
              }),
              HasSubstr("scales"));
  EXPECT_THAT(error_of<ConfigError>([&] { publish::network_header(small, {4}, {.classes = {"one"}}); }),
              HasSubstr("4 outputs"));
  nn::Sequential dynamic{nn::Linear(4, 4)};
  dynamic.eval();
  dynamic_cast<nn::Quantizable&>(dynamic[0]).weights()[0].weight->quantize({8, nn::QuantizedInput::dynamic});
  EXPECT_THAT(error_of<ConfigError>([&] { publish::network_header(dynamic, {4}); }),
              HasSubstr("--method static"));
}

// Weights next to nothing beside a bias would want a bias of more than 32 bits.
TEST(NetworkHeader, ADeadChannelKeepsItsBias) {
  const NoGrad off;
  nn::Sequential network{nn::Linear(3, 3)};
  network.parameters()[0].assign(Tensor::of({3, 3}, {1e-20, 2e-20, -1e-20, 1, 2, 3, 0, 0, 0}));
  network.parameters()[1].assign(Tensor::of({3}, {0.75, -0.5, -1e-4}));
  quantize_for(network, Tensor::of({1, 3}, {0, 1, 1}));
  const publish::NetworkHeader made = publish::network_header(network, {3});
  const auto at = made.text.find("weight0[] =");
  EXPECT_THAT(made.text.substr(at, 60), HasSubstr("0,0,0,42,85,127,0,0,0,"));
  EXPECT_THAT(made.text, HasSubstr(",-536870912,};"));
}

TEST(NetworkHeader, NamesFromFilesEndNoCommentAndNoLiteral) {
  nn::Sequential network{nn::Linear(3, 2)};
  quantize_for(network, Tensor::of({1, 3}, {0, 1, 1}));
  const publish::NetworkHeader made = publish::network_header(
      network, {3},
      {.title = "a\\\nint x;", .classes = {"\"; int y; //", "\xC3\xA4?\?/"}, .scores = {{"s\nint z;", 0.5}}});
  EXPECT_THAT(made.text, HasSubstr("// a__int x;:"));
  EXPECT_THAT(made.text, HasSubstr("\"\\042; int y; //\""));
  EXPECT_THAT(made.text, HasSubstr("\"\\303\\244\\077\\077/\""));
  EXPECT_THAT(made.text, HasSubstr("//   s_int z; 0.5\n"));
}

}  // namespace
}  // namespace veldt::test
