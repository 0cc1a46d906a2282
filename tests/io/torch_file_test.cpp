// PyTorch's files: what torch.save wrote of every kind (tests/golden/torch_files.py), what is refused and by
// which name, damaged ones, and what Veldt writes.
#include "veldt/io/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::count_entries;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

const std::string kTorchGolden = VELDT_SOURCE "/tests/golden/torch/";

nlohmann::json golden_torch() { return nlohmann::json::parse(bytes_of(kTorchGolden + "expected.json")); }

const std::set<std::string> kConvertedDTypes = {"int8",   "int16",         "uint16",     "uint32",
                                                "uint64", "float8_e4m3fn", "float8_e5m2"};

double golden_number(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

// Veldt's dtype of PyTorch's.
DType dtype_for(const std::string& name) {
  const std::pair<const char*, DType> same[] = {
      {"float32", DType::f32}, {"float64", DType::f64}, {"float16", DType::f16}, {"bfloat16", DType::bf16},
      {"int32", DType::i32},   {"uint8", DType::u8},    {"bool", DType::boolean}};
  for (const auto& [theirs, ours] : same)
    if (name == theirs) return ours;
  return name.starts_with("float8") ? DType::f32 : DType::i64;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_tensor(const std::string& of, const Tensor& tensor, const nlohmann::json& wanted) {
  const auto shape = wanted["shape"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(tensor.shape(), Shape(std::span<const std::int64_t>(shape))) << of;
  EXPECT_EQ(tensor.dtype(), dtype_for(wanted["dtype"])) << of;
  const std::vector<double> got = to(tensor, DType::f64).values<double>();
  ASSERT_EQ(got.size(), wanted["values"].size()) << of;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(same_number(got[i], golden_number(wanted["values"][i])))
        << of << " at " << i << ": " << got[i];
}

TEST(ReadTorch, ReadsEveryKindOfFileAsPyTorchDoes) {
  int read = 0;
  const nlohmann::json files = golden_torch();
  for (const auto& [file, wanted] : files.items()) {
    if (!wanted.contains("tensors")) continue;
    const LoadedState state = read_torch(kTorchGolden + file);
    EXPECT_EQ(state.taken, wanted["taken"].get<std::string>()) << file;
    EXPECT_EQ(state.tensors.size(), wanted["tensors"].size()) << file;
    std::size_t converted = 0;
    for (const auto& [name, tensor] : wanted["tensors"].items()) {
      const Tensor* found = state.find(name);
      ASSERT_NE(found, nullptr) << file << ' ' << name;
      expect_tensor(file + " " + name, *found, tensor);
      const auto dtype = tensor["dtype"].get<std::string>();
      if (kConvertedDTypes.contains(dtype)) ++converted;
    }
    EXPECT_EQ(state.converted.size(), converted) << file;
    ++read;
  }
  EXPECT_GT(read, 20);
}

TEST(ReadTorch, NamesWhatItRefuses) {
  int refused = 0;
  const nlohmann::json files = golden_torch();
  for (const auto& [file, wanted] : files.items()) {
    if (!wanted.contains("refused")) continue;
    const IoError error = thrown_by<IoError>([&] { read_torch(kTorchGolden + file); });
    EXPECT_EQ(error.kind(), Kind::malformed) << file;
    EXPECT_TRUE(says(error, wanted["refused"])) << file << ": " << error.what();
    ++refused;
  }
  EXPECT_GE(refused, 9);
}

NamedTensors every_dtype() {
  NamedTensors all;
  for (const DType dtype :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u8, DType::boolean})
    all.push_back({str("of.", dtype), Tensor::of({2, 3}, {0, 1, 1, 0, 1, 0}, dtype)});
  all.push_back({"turned", transpose(Tensor::of({2, 3}, {0, 1, 2, 3, 4, 5}))});
  all.push_back({"nothing", empty({0, 4})});
  all.push_back({"scalar", Tensor::of({}, {42})});
  all.push_back({"stra\u00dfe", zeros({300})});
  return all;
}

TEST(WriteTorch, IsReadAsItWas) {
  const TempDir dir;
  const NamedTensors wanted = every_dtype();
  write_torch(dir / "a.pt", wanted);
  const LoadedState read = read_torch(dir / "a.pt");
  ASSERT_EQ(read.tensors.size(), wanted.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    const auto& [name, tensor] = wanted[i];
    EXPECT_EQ(read.tensors[i].name, name);
    EXPECT_EQ(read.tensors[i].tensor.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.tensors[i].tensor.shape(), tensor.shape()) << name;
    EXPECT_EQ(read.tensors[i].tensor.bytes(), tensor.bytes()) << name;
  }
  EXPECT_EQ(read.format, "PyTorch, zip");
  EXPECT_TRUE(read.converted.empty());
}

TEST(WriteTorch, SameTensorsGiveSameBytes) {
  const TempDir dir;
  write_torch(dir / "a.pt", every_dtype());
  write_torch(dir / "b.pt", every_dtype());
  EXPECT_EQ(bytes_of(dir / "a.pt"), bytes_of(dir / "b.pt"));
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(WriteTorch, RefusesNamesThatAreNoKeys) {
  const TempDir dir;
  const Tensor x = zeros({1});
  for (const NamedTensors& tensors : {NamedTensors{{"", x}}, NamedTensors{{"a", x}, {"a", x}},
                                      NamedTensors{{"\xff", x}}, NamedTensors{{"a\n", x}}})
    EXPECT_THROW(write_torch(dir / "a.pt", tensors), ConfigError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

}  // namespace
}  // namespace veldt::io
