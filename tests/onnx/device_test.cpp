// Networks on another device, see tests/support/device_under_test.h: each operator by ONNX's own cases, and
// whole networks beside the CPU, plain, frozen and taught.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/onnx/cases.h"
#include "tests/support/device_under_test.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/nn/activations.h"
#include "veldt/nn/attention.h"
#include "veldt/nn/containers.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/embedding.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/norm.h"
#include "veldt/nn/pooling.h"
#include "veldt/nn/sequential.h"
#include "veldt/onnx/export.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/device_library.h"

namespace veldt::onnx {
namespace {

constexpr Device kThere{DeviceKind::cuda, 0};

class OnnxOnADevice : public testing::Test {
 protected:
  static void SetUpTestSuite() { veldt::test::use_device_under_test(); }

  // All node cases that pass on the CPU: of the folder that VELDT_ONNX_CASES names, or Debian's.
  static void run_node_cases(const std::function<Value(const Value&)>& placed) {
    const char* named = std::getenv("VELDT_ONNX_CASES");
    const std::vector<std::string> folders = cases_in(named != nullptr ? named : kDebianCases + "node");
    if (folders.empty() && named == nullptr) GTEST_SKIP() << "libonnx-testdata is not here";
    std::size_t passed = 0;
    for (const std::string& folder : folders) {
      if (!failure_of(folder).empty()) continue;  // node_test.cpp knows why
      const std::string failure = failure_of(folder, kThere, placed);
      EXPECT_EQ(failure, "") << folder.substr(folder.rfind('/') + 1);
      passed += failure.empty() ? 1U : 0U;
    }
    EXPECT_GE(passed, 900U) << "of " << folders.size();
  }
};

Value placed_there(const Value& x) {
  if (x.is_tensor()) return {to(x.tensor(), kThere), x.type()};
  if (x.kind() != Value::Kind::sequence && x.kind() != Value::Kind::optional) return x;
  const bool optional = x.kind() == Value::Kind::optional;
  Values items;
  for (const Value& item : optional ? x.held() : x.items()) items.push_back(placed_there(item));
  return optional ? Value::optional(items) : Value::sequence(items);
}

// As in a network whose weights are there: what is whole numbers stays in the host's memory.
TEST_F(OnnxOnADevice, RunsTheNodeCasesOnFloatsThere) {
  run_node_cases([](const Value& x) { return x.is_tensor() && is_integer(x.type()) ? x : placed_there(x); });
}

// Also sizes and axes, which are read back.
TEST_F(OnnxOnADevice, RunsTheNodeCasesOnAllInputsThere) { run_node_cases(placed_there); }

double furthest(const Tensor& a, const Tensor& b) {
  return max(abs(sub(to(a.detach(), Device{}), to(b.detach(), Device{})))).item();
}

struct Example {
  Network net;
  TensorList inputs;
};

Example exported_network(nn::Module& module, const TensorList& inputs) {
  const veldt::test::TempDir dir;
  module.eval();
  export_model(dir / "x.onnx", module, inputs);
  return {load(dir / "x.onnx"), inputs};
}

Example convolutional() {
  Rng rng(5);
  nn::Residual block(nn::Sequential{
      nn::Conv2d(8, 8, 3, nn::ConvLayerOptions{.padding = 1}, rng), nn::BatchNorm2d(8), nn::ReLU(),
      nn::Conv2d(8, 8, 3, nn::ConvLayerOptions{.padding = 1}, rng), nn::BatchNorm2d(8)});
  nn::Sequential net{nn::Conv2d(3, 8, 3, nn::ConvLayerOptions{.stride = 2, .padding = 1}, rng),
                     nn::BatchNorm2d(8),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     std::move(block),
                     nn::ReLU(),
                     nn::AdaptiveAvgPool2d(1),
                     nn::Flatten(),
                     nn::Linear(8, 5, rng)};
  return exported_network(net, {randn({2, 3, 16, 16}, rng)});
}

Example transformer() {
  Rng rng(6);
  nn::Sequential net{
      nn::Embedding(12, 8, rng), nn::PositionEmbedding(6, 8, rng),
      nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true}, rng),
      nn::TransformerEncoderLayer(8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true}, rng),
      nn::Linear(8, 5, rng)};
  return exported_network(net, {randint({2, 6}, rng, 0, 12)});
}

// There, the network computes what it does here: plain, frozen there, and frozen before it is moved.
void expect_the_same_there(const Example& example) {
  Network here = example.net;
  const Tensor wanted = here(example.inputs)[0];
  Network moved = clone(here), frozen = here.frozen();
  moved.to(kThere);
  frozen.to(kThere);
  for (const Network& net : {moved, moved.frozen(), frozen}) {
    const Tensor got = net(example.inputs)[0];
    EXPECT_EQ(got.device(), kThere);
    EXPECT_LT(furthest(got, wanted), 1e-4);
    veldt::test::note_result(to(got.detach(), Device{}), 1e-4);
  }
  EXPECT_EQ(here(example.inputs)[0].device(), Device{});
}

// The numbers that a run has the emulated device give back.
std::int64_t copies_to_host(const std::function<void()>& run) {
  struct Counts {
    std::int64_t launches, copies_to_device, copies_to_host, allocations, graph_launches, mappings;
  };
  void* const library = dlopen(look_for_devices(DeviceKind::cuda).path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return -1;
  void* const counts = dlsym(library, "_ZN5veldt3gpu9emulation6countsEv");
  dlclose(library);
  if (counts == nullptr) return -1;
  const auto now = [&] { return reinterpret_cast<Counts (*)()>(counts)().copies_to_host; };
  const std::int64_t before = now();
  run();
  return now() - before;
}

// Shapes are the host's; only the places that an Embedding reads are looked at, whether they are within it.
TEST_F(OnnxOnADevice, ReadsNothingBack) {
  if (veldt::test::on_real_gpu()) GTEST_SKIP() << "a real GPU does not count its copies";
  for (const auto& [example, most] : {std::pair(convolutional(), 0), std::pair(transformer(), 1)}) {
    Network moved = clone(example.net);
    moved.to(kThere);
    for (const Network& net : {moved, moved.frozen()}) {
      EXPECT_LE(copies_to_host([&, &inputs = example.inputs] { net(inputs); }), most);
      EXPECT_GE(copies_to_host([&, &inputs = example.inputs] { net(inputs)[0].bytes(); }), 1);
    }
  }
}

TEST_F(OnnxOnADevice, RunsAConvolutionalNetwork) { expect_the_same_there(convolutional()); }
TEST_F(OnnxOnADevice, RunsATransformer) { expect_the_same_there(transformer()); }

TEST_F(OnnxOnADevice, RefusesAnInputOnAnotherDeviceThanTheWeights) {
  const Example example = convolutional();
  const std::string said = veldt::test::error_of([&] { example.net(to(example.inputs[0], kThere)); });
  EXPECT_THAT(said, testing::HasSubstr("is on cuda:0"));
}

// Gradients of all weights, those of constants on the way included.
TEST_F(OnnxOnADevice, TeachesNetworks) {
  for (const Example& example : {convolutional(), transformer()}) {
    Network here = example.net, moved = clone(here);
    moved.to(kThere);
    for (Network* net : {&here, &moved}) sum(square((*net)(example.inputs)[0])).backward();
    const NamedTensors wanted = here.named_parameters(), got = moved.named_parameters();
    ASSERT_EQ(wanted.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].tensor.grad().device(), kThere);
      EXPECT_LT(furthest(got[i].tensor.grad(), wanted[i].tensor.grad()), 2e-3) << got[i].name;
    }
  }
}

}  // namespace
}  // namespace veldt::onnx
