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
