// Files shared with NumPy, the safetensors package and PyTorch: the real ones, where a Python has them.
#include <gtest/gtest.h>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using test::TempDir;

int peer(const std::string& verb, const std::string& package, const TempDir& dir) {
  return test::run_python(
      str("-B ", VELDT_SOURCE, "/tests/io/peers.py ", verb, ' ', package, ' ', dir.path()));
}

// What peers.py writes and expects under this name: [2, 3, 4].
std::vector<double> values(const std::string& name) {
  std::vector<double> values;
  for (int i = 0; i < 24; ++i)
    values.push_back(name == "bool" ? (i % 3 == 0 ? 1 : 0) : i - (name.starts_with("u") ? 0 : 5));
  return values;
}

NamedTensors all_dtypes() {
  const std::pair<const char*, DType> kinds[] = {
      {"f64", DType::f64}, {"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16},
      {"i64", DType::i64}, {"i32", DType::i32}, {"u8", DType::u8},     {"bool", DType::boolean}};
  NamedTensors tensors;
  for (const auto& [name, dtype] : kinds)
    tensors.push_back({name, to(Tensor::from<double>({2, 3, 4}, values(name)), dtype)});
  return tensors;
}

void expect_values(const std::string& name, const Tensor& tensor) {
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4})) << name;
  EXPECT_EQ(to(tensor, DType::f64).values<double>(), values(name)) << name;
}

TEST(SlowPeers, NumpyAndVeldtReadEachOther) {
  if (!test::python_has("numpy")) GTEST_SKIP() << test::python() << " has no numpy; set VELDT_PYTHON";
  const TempDir dir;
  ASSERT_EQ(peer("make", "numpy", dir), 0);
  for (const char* archive : {"stored.npz", "deflated.npz"}) {
    const NamedTensors tensors = read_npz(dir / archive);
    EXPECT_EQ(tensors.size(), 9u);
    for (const auto& [name, tensor] : tensors) {
      expect_values(name, tensor);
      expect_values(name, read_npy(dir / (name + ".npy")));
    }
  }
  const TempDir ours;
  NamedTensors tensors = all_dtypes();
  std::erase_if(tensors, [](const NamedTensor& named) { return named.tensor.dtype() == DType::bf16; });
  write_npz(ours / "stored.npz", tensors);
  write_npz(ours / "deflated.npz", tensors, {.compress = true});
  for (const auto& [name, tensor] : tensors) write_npy(ours / (name + ".npy"), tensor);
  EXPECT_EQ(peer("check", "numpy", ours), 0);
}

void exchange_safetensors(const std::string& package) {
  const TempDir dir;
  ASSERT_EQ(peer("make", package, dir), 0);
  const SafeTensors theirs = read_safetensors(dir / "all.safetensors");
  EXPECT_EQ(theirs.metadata.at("note"), "made by the package");
  const NamedTensors wanted = all_dtypes();
  EXPECT_EQ(theirs.tensors.size(), wanted.size());
  for (const auto& [name, tensor] : wanted) {
    const Tensor* found = theirs.find(name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->dtype(), tensor.dtype()) << name;
    expect_values(name, *found);
  }
  write_safetensors(dir / "all.safetensors", wanted, {{"note", "made by Veldt"}});
  EXPECT_EQ(peer("check", package, dir), 0);
}

TEST(SlowPeers, TheSafetensorsPackageAndVeldtReadEachOther) {
  if (!test::python_has("numpy, safetensors"))
    GTEST_SKIP() << test::python() << " has no safetensors and numpy; set VELDT_PYTHON";
  exchange_safetensors("safetensors");
}

TEST(SlowPeers, PyTorchAndVeldtReadEachOther) {
  if (!test::python_has("torch, safetensors.torch"))
    GTEST_SKIP() << test::python() << " has no torch and safetensors; set VELDT_PYTHON";
  exchange_safetensors("torch");
}

// torch.save's files of either format, and what torch.load(weights_only=True) makes of Veldt's.
TEST(SlowPeers, PyTorchAndVeldtReadEachOthersOwnFiles) {
  if (!test::python_has("torch")) GTEST_SKIP() << test::python() << " has no torch; set VELDT_PYTHON";
  const TempDir dir;
  ASSERT_EQ(peer("make", "pt", dir), 0);
  NamedTensors views;
  for (const char* const kind : {"zip", "zip_5", "legacy", "legacy_4"}) {
    const std::string name = kind;
    const LoadedState state = read_torch(dir / (name + ".pt"));
    EXPECT_EQ(state.taken, "model");
    ASSERT_EQ(state.left_out.size(), 3u);
    EXPECT_EQ(state.left_out[1].what, "an optimizer's state, 6 tensors");
    EXPECT_EQ(state.tensors.size(), all_dtypes().size());
    for (const auto& [key, wanted] : all_dtypes()) {
      const Tensor* found = state.find(key);
      ASSERT_NE(found, nullptr) << name << ' ' << key;
      EXPECT_EQ(found->dtype(), wanted.dtype()) << key;
      expect_values(key, *found);
    }
    const LoadedState plain = read_torch(dir / ("plain_" + name + ".pt"));
    views = read_torch(dir / ("views_" + name + ".pt")).tensors;
    ASSERT_EQ(views.size(), 7u);
    for (const auto& [key, tensor] : views) {
      EXPECT_EQ(tensor.shape(), plain.find(key)->shape()) << name << ' ' << key;
      EXPECT_EQ(tensor.bytes(), plain.find(key)->bytes()) << name << ' ' << key;
    }
  }
  write_torch(dir / "all.pt", all_dtypes());
  write_torch(dir / "views.pt", views);
  EXPECT_EQ(peer("check", "pt", dir), 0);
}

}  // namespace
}  // namespace veldt::io
