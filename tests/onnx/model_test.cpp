// Files: well made, and made to harm.
#include "veldt/onnx/model.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tests/onnx/make_model.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/io/file.h"

namespace veldt::onnx {
namespace {

using namespace test;  // NOLINT: its names are those of messages

std::string refusal(const std::function<void()>& fn) {
  try {
    fn();
  } catch (const IoError& error) {
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    return error.why();
  }
  return "(nothing was refused)";
}
std::string refusal_of(const std::string& tensor_message) {
  return refusal([&] { parse_model(model(graph({.initializers = {tensor_message}})), "x.onnx"); });
}
Value only_tensor(const std::string& tensor_message) {
  return parse_model(model(graph({.initializers = {tensor_message}})), "x.onnx")
      .graph.initializers.at(0)
      .second;
}

TEST(OnnxModel, IsReadAsItIs) {
  const Model m = parse_model(model(graph({.nodes = {node("Relu", {"x"}, {"y"}, {}, "ai.onnx", "first")},
                                           .initializers = {floats("w", {2}, {1, 2})},
                                           .inputs = {value("x", {-1, 3})},
                                           .outputs = {value("y", {2, 3})}})),
                              "x.onnx");
  EXPECT_EQ(m.ir_version, 8);
  EXPECT_EQ(m.opsets.at(""), 17);
  ASSERT_EQ(m.graph.nodes.size(), 1U);
  EXPECT_EQ(m.graph.nodes[0].op, "Relu");
  EXPECT_EQ(m.graph.nodes[0].domain, "") << "ai.onnx is the domain of no name";
  EXPECT_EQ(m.graph.inputs[0].type.description(), "float[?,3]");
  EXPECT_EQ(m.graph.initializers[0].second.tensor().values<float>(), (std::vector<float>{1, 2}));
}

TEST(OnnxModel, NumbersMayBeListedPackedOrOneByOne) {
  std::string packed, single;
  const std::vector<float> numbers = {1.5F, -2};
  pbf_writer(packed).add_int64(1, 2);
  pbf_writer(packed).add_int32(2, 1);
  pbf_writer(packed).add_packed_float(4, numbers.begin(), numbers.end());
  pbf_writer(single).add_int64(1, 2);
  pbf_writer(single).add_int32(2, 1);
  for (const float v : numbers) pbf_writer(single).add_float(4, v);
  EXPECT_EQ(only_tensor(packed).tensor().values<float>(), numbers);
  EXPECT_EQ(only_tensor(single).tensor().values<float>(), numbers);
}

TEST(OnnxModel, HalvesAreListedAsTheirBits) {
  std::string halves;
  pbf_writer(halves).add_int64(1, 1);
  pbf_writer(halves).add_int32(2, 10);
  pbf_writer(halves).add_int32(5, 0xC000);  // -2
  EXPECT_EQ(only_tensor(halves).tensor().item(), -2);
}

TEST(OnnxModel, SparseTensorsAreMadeDense) {
  std::string sparse, body;
  pbf_writer(sparse).add_message(1, floats("s", {2}, {5, 7}));
  pbf_writer(sparse).add_message(
      2, tensor("", 7, {2, 2},
                std::string("\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 32)));
  pbf_writer(sparse).add_int64(3, 2);
  pbf_writer(sparse).add_int64(3, 2);
  pbf_writer(body).add_message(15, sparse);
  const Model m = parse_model(model(body), "x.onnx");
  EXPECT_EQ(m.graph.initializers.at(0).second.tensor().values<float>(), (std::vector<float>{0, 5, 7, 0}));
}

// Sizes are believed as far as the bytes are there, so that a small file costs nothing.
TEST(OnnxModel, SizesThatAreLies) {
  EXPECT_THAT(refusal_of(tensor("t", 1, {std::int64_t{1} << 20, std::int64_t{1} << 20}, "abcd")),
              testing::HasSubstr("4 bytes"));
  EXPECT_THAT(refusal_of(tensor("t", 1, {std::int64_t{1} << 40, std::int64_t{1} << 40}, "abcd")),
              testing::HasSubstr("2^48"));
  EXPECT_THAT(refusal_of(tensor("t", 1, {-4}, "")), testing::HasSubstr("size -4"));
  EXPECT_THAT(refusal_of(tensor("t", 1, {1, 1, 1, 1, 1, 1, 1, 1, 1}, "abcd")),
              testing::HasSubstr("9 dimensions"));
  EXPECT_THAT(refusal_of(tensor("t", 14, {1}, "12345678")), testing::HasSubstr("complex64"));
  EXPECT_THAT(refusal_of(tensor("t", 99, {1}, "1234")), testing::HasSubstr("Veldt knows"));
  std::string sparse, body;
  pbf_writer(sparse).add_message(1, floats("s", {0}, {}));
  pbf_writer(sparse).add_message(2, tensor("", 7, {0}, ""));
  pbf_writer(sparse).add_int64(3, std::int64_t{1} << 40);
  pbf_writer(body).add_message(15, sparse);
  EXPECT_THAT(refusal([&] { parse_model(model(body), "x.onnx"); }), testing::HasSubstr("2^28"));
}

TEST(OnnxModel, NestingWithoutEnd) {
  std::string inner = graph({});
  for (int i = 0; i < 200; ++i)
    inner = graph({.nodes = {node("If", {"c"}, {"y"}, {message_attribute("then_branch", 6, inner)})}});
  EXPECT_THAT(refusal([&] { parse_model(model(inner), "x.onnx"); }), testing::HasSubstr("nested deeper"));
}

TEST(OnnxModel, BytesThatAreNoMessage) {
  EXPECT_THAT(refusal([] { parse_model("\x0a\xff\xff\xff\xff\x0f", "x.onnx"); }),
              testing::HasSubstr("no protobuf"));
  EXPECT_THAT(refusal([] { parse_model("", "x.onnx"); }), testing::HasSubstr("the file is empty"));
  const std::string whole =
      model(graph({.nodes = {node("Relu", {"x"}, {"y"})}, .initializers = {floats("w", {2}, {1, 2})}}));
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    try {
      parse_model(whole.substr(0, cut), "x.onnx");
    } catch (const Error&) {  // nothing worse
    }
  }
}

TEST(OnnxModel, SaysWhatAFileSeemsToBe) {
  using namespace std::string_view_literals;
  const auto said = [](std::string_view bytes) {
    return refusal([&] { parse_model(std::string(bytes), "x.onnx"); });
  };
  EXPECT_THAT(said("\x89PNG\r\n\x1a\n\0\0\0\rIHDR"sv), testing::HasSubstr("it seems to be a PNG, and"));
  EXPECT_THAT(said("\x10\0\0\0\0\0\0\0{\"w\":{}}"sv), testing::HasSubstr("a safetensors file"));
  EXPECT_THAT(said("PK\x03\x04\0\0"sv), testing::HasSubstr("a zip archive"));
  EXPECT_THAT(said("no graph at all\n"), testing::HasSubstr("it seems to be text"));
  EXPECT_THAT(said("\x08\x07\x12\x07pyto"sv), testing::HasSubstr("a part of it is missing"));
}

std::string external(const std::string& location,
                     const std::vector<std::pair<std::string, std::string>>& more = {}) {
  std::string out;
  pbf_writer w(out);
  w.add_int64(1, 2);
  w.add_int32(2, 1);
  w.add_string(8, "big");
  std::vector<std::pair<std::string, std::string>> all = more;
  all.emplace_back("location", location);
  for (const auto& [key, text] : all) {
    std::string entry;
    pbf_writer(entry).add_string(1, key);
    pbf_writer(entry).add_string(2, text);
    w.add_message(13, entry);
  }
  w.add_enum(14, 1);
  return out;
}

TEST(OnnxModel, ExternalDataLieBesideTheModel) {
  const veldt::test::TempDir dir;
  const float numbers[] = {9, 3, 4};
  io::write_file(dir / "weights.bin", std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers)));
  const auto read = [&](const std::string& tensor_message) {
    io::write_file(dir / "m.onnx", model(graph({.initializers = {tensor_message}})));
    return read_model(dir / "m.onnx").graph.initializers.at(0).second.tensor().values<float>();
  };
  EXPECT_EQ(read(external("weights.bin", {{"offset", "4"}, {"length", "8"}})), (std::vector<float>{3, 4}));
  EXPECT_EQ(read(external("weights.bin")), (std::vector<float>{9, 3}));
  const auto why = [&](const std::string& tensor_message) { return refusal([&] { read(tensor_message); }); };
  EXPECT_THAT(why(external("../weights.bin")), testing::HasSubstr("outside the folder"));
  try {
    read(external("gone.bin"));
    ADD_FAILURE() << "nothing was refused";
  } catch (const IoError& error) {
    EXPECT_EQ(error.kind(), IoError::Kind::missing);
    EXPECT_THAT(error.what(), testing::HasSubstr("gone.bin, which is not there"));
  }
  EXPECT_THAT(why(external("/etc/passwd")), testing::HasSubstr("outside the folder"));
  EXPECT_THAT(why(external("weights.bin", {{"offset", "8"}})), testing::HasSubstr("end beyond"));
  EXPECT_THAT(why(external("weights.bin", {{"offset", "99999999999999999999999"}})),
              testing::HasSubstr("no number"));
  EXPECT_THAT(why(external("weights.bin", {{"length", "4"}})), testing::HasSubstr("4 external bytes"));
  EXPECT_THAT(refusal_of(external("weights.bin")), testing::HasSubstr("outside the folder"))
      << "of a model in memory";
}

// Two tensors may be tied; a thousand that name the same bytes would take a thousand times as much.
TEST(OnnxModel, ExternalDataHaveATotal) {
  const veldt::test::TempDir dir;
  io::write_file(dir / "weights.bin", "12345678");
  io::write_file(dir / "few.bin", "");
  const auto read = [&](const std::vector<std::string>& tensors) {
    io::write_file(dir / "m.onnx", model(graph({.initializers = tensors})));
    read_model(dir / "m.onnx");
  };
  const std::string one = external("weights.bin"), same = external("./weights.bin");
  EXPECT_NO_THROW(read({one, same}));
  EXPECT_THAT(refusal([&] { read({one, same, one}); }), testing::HasSubstr("more than twice"));
}

}  // namespace
}  // namespace veldt::onnx
