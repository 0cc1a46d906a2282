// veldt run and veldt info with ONNX files.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/app/command.h"
#include "tests/onnx/make_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"
#include "veldt/io/npy.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/tensor.h"

namespace veldt::test {
namespace {

namespace make = onnx::test;
using nlohmann::json;

class OnnxVerbs : public testing::Test {
 protected:
  // y = relu(x w), x [n, 2]
  OnnxVerbs() {
    io::write_file(model_,
                   make::model(make::graph({.nodes = {make::node("MatMul", {"x", "w"}, {"h"}),
                                                      make::node("Relu", {"h"}, {"y"}, {}, "", "last")},
                                            .initializers = {make::floats("w", {2, 3}, {1, 2, 3, 4, 5, -6})},
                                            .inputs = {make::value("x", {-1, 2})},
                                            .outputs = {make::value("y", {-1, 3})}})));
    io::write_npy(array_, Tensor::of({1, 2}, {1, 1}));
  }
  void expect_refused(const std::vector<std::string>& words, int code, const std::string& text) {
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, code) << ran.err;
    EXPECT_NE(ran.err.find(text), std::string::npos) << ran.err;
  }

  TempDir dir_;
  std::string model_ = dir_ / "net.onnx", array_ = dir_ / "a.npy", out_ = dir_ / "out.npz";
};

TEST_F(OnnxVerbs, RunsOnAnArray) {
  const Ran ran = run_veldt({"run", model_, "--input", array_, "-o", out_});
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("y  float[1,3]  0 to 7, mean 4"), std::string::npos) << ran.out;
  const NamedTensors results = io::read_npz(out_);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].name, "y");
  EXPECT_EQ(results[0].tensor.values<float>(), (std::vector<float>{5, 7, 0}));
}

TEST_F(OnnxVerbs, CountsWhatIsNotFinite) {
  io::write_npy(array_, Tensor::of({1, 2}, {std::numeric_limits<float>::quiet_NaN(), 1}));
  const Ran ran = run_veldt({"run", model_, "--input", array_});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("mean nan, 3 not finite\n"), std::string::npos) << ran.out;
  io::write_npy(array_, Tensor::of({1, 2}, {-std::numeric_limits<float>::quiet_NaN(), 1}));
  EXPECT_EQ(run_veldt({"run", model_, "--input", array_}).out.find("-nan"), std::string::npos);
  EXPECT_EQ(ran.out.find("     0  "), std::string::npos) << "no order of what has none: " << ran.out;
}

TEST_F(OnnxVerbs, TakesInputsByTheirNames) {
  io::write_npz(dir_ / "all.npz", {{"x", Tensor::of({2, 2}, {1, 1, 0, 1}, DType::f64)}});
  for (const std::string& input : {"x=" + array_, std::string(dir_ / "all.npz")})
    EXPECT_EQ(run_veldt({"run", model_, "--input", input}).exit_code, 0) << input;
  const json result = json::parse(run_veldt({"run", model_, "--input", array_, "--json"}).out);
  EXPECT_EQ(result.at("outputs").at(0).at("top").at(0).at("index"), 1);
}

TEST_F(OnnxVerbs, RunsOnAPicture) {
  io::write_file(dir_ / "mean.onnx",
                 make::model(make::graph({.nodes = {make::node("GlobalAveragePool", {"x"}, {"y"})},
                                          .inputs = {make::value("x", {-1, 3, 16, 16})},
                                          .outputs = {make::value("y", {-1, 3, 1, 1})}})));
  const Ran ran =
      run_veldt({"run", dir_ / "mean.onnx", "--input", kCub, "--mean", "0.5", "--std", "0.5,0.5,0.5"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.err.find("is brought to the graph's 16x16"), std::string::npos) << ran.err;
  expect_refused({"run", dir_ / "mean.onnx", "--input", kCub, "--mean", "1,2"}, 2, "--mean has 2 numbers");
  expect_refused({"run", model_, "--input", kCub}, 2, "cannot be a picture");
  for (const char* none : {"0", "-1", "0.2,0,0.2", "1e-50"})
    expect_refused({"run", dir_ / "mean.onnx", "--input", kCub, "--std", none}, 2, "--std");
}

TEST_F(OnnxVerbs, SaysWhatDoesNotFit) {
  expect_refused({"run", model_}, 2, "the input \"x\" is missing");
  io::write_npz(dir_ / "all.npz", {{"x", zeros({1, 2})}});
  for (const auto& [first, second] :
       {std::pair{array_, array_}, {dir_ / "all.npz", array_}, {array_, dir_ / "all.npz"}})
    expect_refused({"run", model_, "--input", first, "--input", second}, 2, "given twice");
  io::write_file(dir_ / "two.onnx",
                 make::model(make::graph({.nodes = {make::node("Add", {"a", "b"}, {"y"})},
                                          .inputs = {make::value("a", {1}), make::value("b", {1})},
                                          .outputs = {make::value("y", {1})}})));
  expect_refused({"run", dir_ / "two.onnx", "--input", array_}, 2, "the graph has 2 inputs: a, b");
  expect_refused({"run", model_, "--input", "z=" + array_}, 2, "its inputs are: x");
  expect_refused({"run", model_, "--input", array_, "-o", dir_ / "out.txt"}, 2, "name an .npz");
  io::write_npy(array_, zeros({3, 3}));
  expect_refused({"run", model_, "--input", array_}, 2, "the graph takes float[?,2]");
  io::write_npy(array_, zeros({1, 2}, DType::i64));
  expect_refused({"run", model_, "--input", array_}, 2, "cannot be int64[1,2]");
  expect_refused({"run", model_, "--input", "x="}, 2, "names no file");
  io::write_file(dir_ / "empty.npy", ""), io::write_file(dir_ / "notes.txt", "notes");
  expect_refused({"run", model_, "--input", dir_ / "empty.npy"}, 4, "the file ends within its header");
  expect_refused({"run", model_, "--input", dir_ / "notes.txt"}, 4, "it seems to be text");
  expect_refused({"run", model_, "--input", VELDT_SOURCE "/tests/golden/torch/checkpoint.pt"}, 4,
                 "a file of PyTorch's");
  expect_refused({"run", kCub, "--input", array_}, 4, "it seems to be a PNG");
  expect_refused({"export", model_, "-o", dir_ / "copy.onnx"}, 4, "it is an ONNX graph already");
  expect_refused({"export", kCub, "-o", dir_ / "copy.onnx"}, 4, "it seems to be a PNG");
  expect_refused({"info", array_}, 4, "(.safetensors, .pt, .npz, .onnx)");
  io::write_file(dir_ / "broken.onnx", "no protobuf at all");
  expect_refused({"run", dir_ / "broken.onnx", "--input", array_}, 4, "it seems to be text");
}

TEST_F(OnnxVerbs, InfoListsTheGraph) {
  const json info = json::parse(run_veldt({"info", model_, "--json", "--nodes"}).out);
  EXPECT_EQ(info.at("weights"), 6);
  EXPECT_EQ(info.at("opsets"), "ai.onnx 17");
  EXPECT_EQ(info.at("inputs").at(0).at("type"), "float[?,2]");
  EXPECT_EQ(info.at("operators").at("Relu"), 1);
  EXPECT_EQ(info.at("node_list").at(1),
            (json{{"node", "last"}, {"operator", "Relu"}, {"results", "float[1,3]"}}));
  const Ran text = run_veldt({"info", model_});
  EXPECT_EQ(text.out.find("not supported"), std::string::npos) << text.out;
}

TEST_F(OnnxVerbs, InfoVerifiesTheGraph) {
  const json plain = json::parse(run_veldt({"info", model_, "--json"}).out);
  EXPECT_FALSE(plain.contains("verified"));
  const json whole = json::parse(run_veldt({"info", model_, "--json", "--verify"}).out);
  EXPECT_EQ(whole.at("not_finite"), 0);
  EXPECT_EQ(whole.at("verified"), true);
  // y = `input` + w + c, in which w may have an infinity and c, a Constant of halves, is one.
  const auto sum = [](const std::string& input, float w) {
    const std::string c = make::tensor("", 10, {1}, std::string_view("\x00\x7c", 2));
    return make::model(
        make::graph({.nodes = {make::node("Add", {input, "w"}, {"h"}),
                               make::node("Constant", {}, {"c"}, {make::message_attribute("value", 5, c)}),
                               make::node("Cast", {"c"}, {"d"}, {make::int_attribute("to", 1)}),
                               make::node("Add", {"h", "d"}, {"y"})},
                     .initializers = {make::floats("w", {2}, {1, w})},
                     .inputs = {make::value("x", {2})},
                     .outputs = {make::value("y", {2})}}));
  };
  io::write_file(dir_ / "mask.onnx", sum("x", -std::numeric_limits<float>::infinity()));
  EXPECT_EQ(json::parse(run_veldt({"info", dir_ / "mask.onnx", "--json", "--verify"}).out).at("not_finite"),
            2);
  io::write_file(dir_ / "nan.onnx", sum("x", std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(run_veldt({"info", dir_ / "nan.onnx"}).exit_code, 0);
  expect_refused({"info", dir_ / "nan.onnx", "--verify"}, 9, "1 of its 3 constant numbers is NaN");
  io::write_file(dir_ / "loose.onnx", sum("nowhere", 1));
  EXPECT_EQ(run_veldt({"info", dir_ / "loose.onnx"}).exit_code, 0);
  expect_refused({"info", dir_ / "loose.onnx", "--verify"}, 4, "nowhere");
}

}  // namespace
}  // namespace veldt::test
