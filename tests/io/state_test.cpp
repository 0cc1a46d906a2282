// The tensors of a network from files of every kind, chosen by content.
#include "veldt/io/state.h"

#include <gtest/gtest.h>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"

namespace veldt::io {
namespace {

using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;

NamedTensors two_tensors() {
  return {{"b.weight", Tensor::of({2, 2}, {1, 2, 3, 4})}, {"a", Tensor::of({1}, {5}, DType::i64)}};
}

void expect_two_tensors(const LoadedState& state, const std::string& format) {
  EXPECT_EQ(state.format, format);
  EXPECT_EQ(state.tensors.size(), 2u);
  for (const auto& [name, tensor] : two_tensors()) {
    const Tensor* found = state.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->shape(), tensor.shape());
    EXPECT_EQ(found->bytes(), tensor.bytes());
  }
}

TEST(LoadState, ReadsByContentAndNotByName) {
  const TempDir dir;
  write_safetensors(dir / "a.pt", two_tensors(), {{"kind", "test"}});
  expect_two_tensors(load_state(dir / "a.pt"), "safetensors");
  EXPECT_EQ(load_state(dir / "a.pt").metadata.at("kind"), "test");
  write_torch(dir / "a.safetensors", two_tensors());
  expect_two_tensors(load_state(dir / "a.safetensors"), "PyTorch, zip");
  write_npz(dir / "a.bin", two_tensors());
  expect_two_tensors(load_state(dir / "a.bin"), "NumPy, npz");
}

// A folder as transformers writes it, of two files and their index.
void write_shards(const TempDir& dir, const std::string& index = "model.safetensors.index.json") {
  const NamedTensors all = two_tensors();
  write_safetensors(dir / "model-00001-of-00002.safetensors", {all[0]});
  write_torch(dir / "model-00002-of-00002.bin", {all[1]});
  put_bytes(dir / index, R"({"metadata": {"total_size": 24}, "weight_map": {
    "b.weight": "model-00001-of-00002.safetensors", "a": "model-00002-of-00002.bin"}})");
}

TEST(LoadState, ReadsAnIndexOfSeveralFilesAndItsFolder) {
  const TempDir dir;
  write_shards(dir);
  expect_two_tensors(load_state(dir / "model.safetensors.index.json"), "PyTorch, zip, 2 files");
  expect_two_tensors(load_state(dir.path()), "PyTorch, zip, 2 files");
  const TempDir one;
  write_safetensors(one / "model.safetensors", two_tensors());
  expect_two_tensors(load_state(one.path()), "safetensors");
  const TempDir none;
  EXPECT_EQ(thrown_by<IoError>([&] { load_state(none.path()); }).kind(), IoError::Kind::missing);
}

TEST(LoadState, RefusesAnIndexThatLies) {
  const TempDir dir;
  write_shards(dir);
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "no weight_map"},
      {R"({"weight_map": {}})", "no weight_map"},
      {R"({"weight_map": [1]})", "no weight_map"},
      {R"({"weight_map": {"a": 1}})", "no name of a file"},
      {R"({"weight_map": {"a": "../a.safetensors"}})", "no name of a file"},
      {R"({"weight_map": {"a": "/etc/passwd"}})", "no name of a file"},
      {R"({"weight_map": {"a": ".."}})", "no name of a file"},
      {R"({"weight_map": {"c": "model-00002-of-00002.bin"}})", "has the tensor c"},
      {R"({"weight_map": {"a": "absent.safetensors"}})", "absent.safetensors"},
      {R"({"weight_map": {"a": "a.json"}})", "a.json"},
      {R"({"weight_map": )", "JSON"}};
  for (const auto& [text, words] : cases) {
    put_bytes(dir / "a.json", text);
    const IoError error = thrown_by<IoError>([&] { load_state(dir / "a.json"); });
    EXPECT_TRUE(says(error, words)) << text << ": " << error.what();
  }
  write_safetensors(dir / "copy.safetensors", {two_tensors()[0]});
  put_bytes(dir / "a.json", R"({"weight_map": {"b.weight": "copy.safetensors",
    "other": "model-00001-of-00002.safetensors"}})");
  EXPECT_TRUE(says(thrown_by<IoError>([&] { load_state(dir / "a.json"); }), "in two of its files"));
}

TEST(LoadState, SaysWhatWasConverted) {
  const LoadedState state = load_state(VELDT_SOURCE "/tests/golden/torch/narrow.pt");
  ASSERT_EQ(state.converted.size(), 6u);
  EXPECT_EQ(state.converted[0].name, "int16");
  EXPECT_EQ(state.converted[0].from, "int16");
  EXPECT_EQ(state.converted[0].to, DType::i64);
}

TEST(LoadState, SaysWhatAFileIsThatHoldsNone) {
  const TempDir dir;
  EXPECT_EQ(thrown_by<IoError>([&] { load_state(dir / "a"); }).kind(), IoError::Kind::missing);
  for (const auto& [bytes, words] : {std::pair{"%PDF-1.5 and so on", "a PDF"}, {"", "the file is empty"}}) {
    put_bytes(dir / "a", bytes);
    const IoError error = thrown_by<IoError>([&] { load_state(dir / "a"); });
    EXPECT_EQ(error.kind(), IoError::Kind::malformed);
    EXPECT_TRUE(says(error, words)) << error.what();
  }
}

}  // namespace
}  // namespace veldt::io
