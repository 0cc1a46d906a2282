// safetensors come back as they were, no flipped byte goes unnoticed, and hostile headers are refused at
// once.
#include "veldt/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using test::bytes_of;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Kind = IoError::Kind;

// A file of this header, with its length before it and `data` zero bytes after it.
std::string file_of(const std::string& header, std::size_t data = 0) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(data, '\0');
}

NamedTensors some_tensors() {
  return {{"layer.weight", Tensor::of({2, 3}, {1, -2, 3.5, 4, 5, 1e-30})},
          {"layer.bias", Tensor::of({2}, {0.1, 0.2}, DType::f64)},
          {"steps", Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{-1, INT64_MAX})},
          {"bytes", Tensor::from<std::uint8_t>({3}, std::vector<std::uint8_t>{0, 7, 255})},
          {"flag", Tensor::of({1, 2}, {1, 0}, DType::boolean)},
          {"half", Tensor::of({3}, {1, 2, -3}, DType::bf16)},
          {"nothing", empty({0, 4})},
          {"scalar", Tensor::of({}, {42})}};
}

std::string memory_of(const Tensor& t) {
  return {static_cast<const char*>(t.view().data), static_cast<std::size_t>(t.numel()) * size_of(t.dtype())};
}

TEST(SafeTensors, ComeBackAsTheyWere) {
  const TempDir dir;
  const std::map<std::string, std::string> metadata = {{"kind", "test"}, {"text", "\"quoted\"\n\u00e9"}};
  write_safetensors(dir / "a", some_tensors(), metadata);
  const SafeTensors read = read_safetensors(dir / "a");
  EXPECT_EQ(read.metadata, metadata);
  EXPECT_EQ(read.tensors.size(), some_tensors().size());
  for (const NamedTensor& expected : some_tensors()) {
    const Tensor* found = read.find(expected.name);
    ASSERT_NE(found, nullptr) << expected.name;
    EXPECT_EQ(found->dtype(), expected.tensor.dtype());
    EXPECT_EQ(found->shape(), expected.tensor.shape());
    EXPECT_EQ(memory_of(*found), memory_of(expected.tensor)) << expected.name;
  }
  EXPECT_EQ(read.find("absent"), nullptr);
}

TEST(SafeTensors, PutWiderTensorsFirstAndKeepTheOrderOtherwise) {
  const TempDir dir;
  write_safetensors(dir / "a", some_tensors());
  std::vector<std::string> names;
  for (const TensorInfo& info : read_safetensors_header(dir / "a").tensors) {
    names.push_back(info.name);
    EXPECT_EQ(info.begin % 8, names.size() <= 4 ? 0u : info.begin % 8);
  }
  EXPECT_THAT(names, ElementsAre("layer.bias", "steps", "layer.weight", "nothing", "scalar", "half", "bytes",
                                 "flag"));
}

TEST(SafeTensors, WriteViewsInRowMajorOrder) {
  const TempDir dir;
  const Tensor matrix = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  write_safetensors(dir / "a", {{"t", matrix.alias({3, 2}, {1, 3}, 0)}});
  EXPECT_THAT(read_safetensors(dir / "a").tensors[0].tensor.values<float>(), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(SafeTensors, MayHoldNothing) {
  const TempDir dir;
  write_safetensors(dir / "a", {});
  EXPECT_TRUE(read_safetensors(dir / "a").tensors.empty());
  put_bytes(dir / "b", file_of("{}"));
  EXPECT_TRUE(read_safetensors(dir / "b").tensors.empty());
}

TEST(SafeTensors, ReadWhatThePythonPackageWrites) {
  // safetensors 0.8.0: save_file({"w": [[1.5, -2]] f32, "n": [7, -1] i64, "e": zeros (0, 3) f32, "s": 2.5
  // f64, "b": [True, False]}, metadata={"who": "py"})
  const TempDir dir;
  const std::string header = R"({"__metadata__":{"who":"py"},)"
                             R"("n":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
                             R"("s":{"dtype":"F64","shape":[],"data_offsets":[16,24]},)"
                             R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[24,24]},)"
                             R"("w":{"dtype":"F32","shape":[1,2],"data_offsets":[24,32]},)"
                             R"("b":{"dtype":"BOOL","shape":[2],"data_offsets":[32,34]}})";
  const std::string data(
      "\x07\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00"
      "\x00\x00\x04\x40\x00\x00\xc0\x3f\x00\x00\x00\xc0\x01\x00",
      34);
  put_bytes(dir / "a", file_of(header + std::string(5, ' ')) + data);
  const SafeTensors read = read_safetensors(dir / "a");
  EXPECT_THAT(read.metadata, UnorderedElementsAre(Pair("who", "py")));
  EXPECT_THAT(read.find("w")->values<float>(), ElementsAre(1.5f, -2));
  EXPECT_THAT(read.find("n")->values<std::int64_t>(), ElementsAre(7, -1));
  EXPECT_EQ(read.find("e")->shape(), (Shape{0, 3}));
  EXPECT_EQ(read.find("s")->item(), 2.5);
  EXPECT_THAT(read.find("b")->values<bool>(), ElementsAre(true, false));
}

TEST(SafeTensors, RefuseNamesThatCannotBeKeys) {
  const TempDir dir;
  const Tensor one = Tensor::of({1}, {1});
  EXPECT_THROW(write_safetensors(dir / "a", {{"a", one}, {"a", one}}), ConfigError);
  EXPECT_THROW(write_safetensors(dir / "a", {{"__metadata__", one}}), ConfigError);
  EXPECT_THROW(write_safetensors(dir / "a", {{"", one}}), ConfigError);
  EXPECT_THROW(write_safetensors(dir / "a", {{"\xff", one}}), ConfigError);
  EXPECT_THROW(write_safetensors(dir / "a", {{"a", one}}, {{"k", "\xc3"}}), ConfigError);
  EXPECT_THROW(write_safetensors(dir / "a", {{"a", one}}, {{"veldt.xxh3", ""}}), ConfigError);
  EXPECT_EQ(test::count_entries(dir.path()), 0u);
}

TEST(SafeTensors, NameTheTensorThatWasDamaged) {
  const TempDir dir;
  write_safetensors(dir / "a", some_tensors());
  const std::string whole = bytes_of(dir / "a");
  for (const TensorInfo& info : read_safetensors_header(dir / "a").tensors) {
    if (info.begin == info.end) continue;
    std::string bytes = whole;
    bytes[info.begin] = static_cast<char>(bytes[info.begin] ^ 1);
    put_bytes(dir / "b", bytes);
    const IoError error = thrown_by<IoError>([&] { read_safetensors(dir / "b"); });
    EXPECT_EQ(error.kind(), Kind::corrupt);
    EXPECT_TRUE(says(error, "tensor " + info.name)) << error.what();
  }
}

// Refused, or not vouched for: a flip in the key "veldt.xxh3" leaves a file like those of other makes.
bool is_noticed(const std::string& path) {
  try {
    return !read_safetensors(path).verified;
  } catch (const IoError&) {
    return true;
  }
}

TEST(SafeTensors, NoticeEveryFlippedByteAndEveryCut) {
  const TempDir dir = TempDir::in_memory();
  write_safetensors(dir / "a", {{"w", Tensor::of({3}, {1, 2, 3})}, {"b", Tensor::of({3}, {1, 2, 3})}},
                    {{"k", "v"}});
  EXPECT_TRUE(read_safetensors(dir / "a").verified);
  const std::string whole = bytes_of(dir / "a");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    put_bytes(dir / "b", whole.substr(0, i));
    ASSERT_EQ(thrown_by<IoError>([&] { read_safetensors(dir / "b"); }).kind(), Kind::malformed) << i;
    for (const int flip : {1 << (i % 8), 0xff}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      put_bytes(dir / "b", bytes);
      ASSERT_TRUE(is_noticed(dir / "b")) << "byte " << i << " flipped by " << flip;
    }
  }
  put_bytes(dir / "b", whole + "x");
  EXPECT_EQ(thrown_by<IoError>([&] { read_safetensors(dir / "b"); }).kind(), Kind::malformed);
}

struct Hostile {
  const char* name;
  std::string bytes;
  const char* says;
};

std::string tensor_header(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

class HostileSafeTensors : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileSafeTensors, AreRefusedAtOnce) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a", GetParam().bytes);
  const std::clock_t start = std::clock();
  const IoError error = thrown_by<IoError>([&] { read_safetensors(dir / "a"); });
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 20);
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, GetParam().says)) << error.what();
  EXPECT_EQ(thrown_by<IoError>([&] { read_safetensors_header(dir / "a"); }).kind(), Kind::malformed);
}

const std::string kTwo = R"("a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";

INSTANTIATE_TEST_SUITE_P(
    Headers, HostileSafeTensors,
    ::testing::Values(
        Hostile{"empty", "", "0 bytes"}, Hostile{"seven_bytes", "1234567", "7 bytes"},
        Hostile{"length_beyond_file", file_of("{}").substr(0, 9), "2 bytes, and the whole file has 9"},
        Hostile{"length_of_2_to_64", std::string(8, '\xff') + "{}", "18446744073709551615"},
        Hostile{"no_brace", file_of("[]"), "begin with a brace"},
        Hostile{"spaces_first", file_of(" {}"), "begin"}, Hostile{"no_header", file_of(""), "begin"},
        Hostile{"unclosed", file_of("{"), "end with a brace"},
        Hostile{"newline_after", file_of("{}\n"), "end with a brace"},
        Hostile{"two_objects", file_of("{}{}"), "JSON"}, Hostile{"not_json", file_of("{a}"), "JSON"},
        Hostile{"not_utf8", file_of("{\"\xff\":1}"), "UTF-8"},
        Hostile{"deep_list", file_of("{\"a\":" + std::string(1000000, '[') + "}"), "list in the wrong place"},
        Hostile{"deep_object", file_of(R"({"a":{"dtype":{"b":{}}}})"), "object in the wrong place"},
        Hostile{"deep_shape", file_of(tensor_header("U8", "[[1]]", "[0,1]"), 1), "list in the wrong place"},
        Hostile{"null", file_of(R"({"a":null})"), "null"}, Hostile{"true", file_of(R"({"a":true})"), "true"},
        Hostile{"number", file_of(R"({"a":5})"), "number"}, Hostile{"text", file_of(R"({"a":"b"})"), "text"},
        Hostile{"metadata_number", file_of(R"({"__metadata__":{"a":5}})"), "number"},
        Hostile{"metadata_twice", file_of(R"({"__metadata__":{"a":"1","a":"2"}})"), "twice"},
        Hostile{"no_dtype", file_of(R"({"a":{"shape":[],"data_offsets":[0,0]}})"), "without dtype"},
        Hostile{"extra_key", file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"x":"y"}})"),
                "text"},
        Hostile{"dtype_number", file_of(R"({"a":{"dtype":5,"shape":[0],"data_offsets":[0,0]}})"), "number"},
        Hostile{"same_name", file_of("{" + kTwo + "," + kTwo + "}", 2), "twice"},
        Hostile{"same_key", file_of(R"({"a":{"dtype":"U8","dtype":"U8"}})"), "twice"},
        Hostile{"unknown_dtype", file_of(tensor_header("F7", "[1]", "[0,1]"), 1), "unknown dtype F7"},
        Hostile{"unsized", file_of(tensor_header("U8", "[3]", "[0,2]"), 2), "shape and dtype"},
        Hostile{"one_offset", file_of(tensor_header("U8", "[2]", "[0]"), 2), "1 offsets"},
        Hostile{"three_offsets", file_of(tensor_header("U8", "[2]", "[0,2,2]"), 2), "3 offsets"},
        Hostile{"offsets_backwards", file_of(tensor_header("U8", "[2]", "[2,0]"), 2), "lies at"},
        Hostile{"hole_at_start", file_of(tensor_header("U8", "[2]", "[1,3]"), 3), "lies at 1"},
        Hostile{"data_beyond", file_of(tensor_header("U8", "[2]", "[0,2]"), 3), "data at 3"},
        Hostile{"data_missing", file_of(tensor_header("U8", "[2]", "[0,2]"), 1), "data at 1"},
        Hostile{"overlap",
                file_of("{" + kTwo + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3),
                "lies at 1"},
        Hostile{"same_place",
                file_of("{" + kTwo + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2),
                "lies at 0"},
        Hostile{"hole", file_of("{" + kTwo + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})", 5),
                "lies at 3"},
        Hostile{"overflow", file_of(tensor_header("F32", "[4294967296,4294967296,4294967296]", "[0,0]")),
                "shape"},
        Hostile{"overflow_to_fit", file_of(tensor_header("F64", "[2305843009213693953]", "[0,8]"), 8),
                "shape"},
        Hostile{"negative_size", file_of(tensor_header("U8", "[-1]", "[0,1]"), 1), "below zero"},
        Hostile{"fraction", file_of(tensor_header("U8", "[1.0]", "[0,1]"), 1), "not an integer"},
        Hostile{"giant_number", file_of(tensor_header("U8", "[99999999999999999999999]", "[0,1]"), 1),
                "integer"},
        Hostile{"giant_offset", file_of(tensor_header("U8", "[1]", "[0,18446744073709551615]"), 1), "number"},
        Hostile{"long_shape",
                file_of(tensor_header("U8", "[1" + std::string(100000, ' ') + ",1]", "[0,2]"), 2), "shape"}),
    [](const auto& hostile) { return hostile.param.name; });

TEST(SafeTensors, RefuseDigestsThatAreABomb) {
  const TempDir dir = TempDir::in_memory();
  for (const std::size_t size : {1'000, 400'000, 40'000'000}) {
    put_bytes(dir / "a", file_of(R"({"__metadata__":{"veldt.xxh3":")" + std::string(size, '[') + "\"}}"));
    const std::clock_t start = std::clock();  // of this process: a busy machine must not fail the test
    const IoError error = thrown_by<IoError>([&] { read_safetensors_header(dir / "a"); });
    // Reading 40 MB takes its time; parsing them took 21 s.
    EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC * (size > 1'000'000 ? 4 : 1) / 20) << size;
    EXPECT_TRUE(says(error, "its header")) << error.what();
  }
}

// An entry of 60 bytes takes a kilobyte of memory, whatever the tensor holds.
TEST(SafeTensors, RefuseMoreTensorsThanAnyNetworkHas) {
  const TempDir dir;
  const auto file_of = [&](std::size_t count) {
    std::string header = "{";
    for (std::size_t i = 0; i < count; ++i)
      header += str(i == 0 ? "" : ",", '"', i, R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
    header += '}';
    const std::uint64_t length = header.size();
    put_bytes(dir / "f", std::string(reinterpret_cast<const char*>(&length), sizeof length) + header);
    return dir / "f";
  };
  EXPECT_EQ(read_safetensors_header(file_of(1000)).tensors.size(), 1000u);
  const IoError error = thrown_by<IoError>([&] { read_safetensors_header(file_of((1 << 18) + 1)); });
  EXPECT_EQ(error.kind(), Kind::malformed);
  EXPECT_TRUE(says(error, "more than the 262144 tensors")) << error.what();
}

TEST(SafeTensors, RefuseWhatVeldtCannotHoldButListIt) {
  const TempDir dir;
  put_bytes(dir / "a", file_of(tensor_header("C64", "[2]", "[0,16]"), 16));
  EXPECT_EQ(read_safetensors_header(dir / "a").tensors[0].dtype, "C64");
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_safetensors(dir / "a"); }), "C64"));
  put_bytes(dir / "b", file_of(tensor_header("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1));
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_safetensors(dir / "b"); }), "9 dimensions"));
  put_bytes(dir / "c", file_of(tensor_header("BOOL", "[2]", "[0,2]"), 1) + "\x02");
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_safetensors(dir / "c"); }), "above 1"));
  std::string ones = "[1";
  for (int i = 0; i < 100; ++i) ones += ",1";
  put_bytes(dir / "d", file_of(tensor_header("U8", ones + "]", "[0,1]"), 1));
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_safetensors_header(dir / "d"); }), "too long"));
}

TEST(SafeTensors, SmallAndUnsignedNumbersAreConvertedAndThatIsSaid) {
  const TempDir dir;
  struct Case {
    const char* dtype;
    std::string bytes;
    const char* from;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"I16", std::string("\xff\xff\0\x01", 4), "int16", {-1, 256}},
      {"U16", std::string("\xff\xff\0\x01", 4), "uint16", {65535, 256}},
      {"U32", std::string("\xff\xff\xff\xff\1\0\0\0", 8), "uint32", {4294967295, 1}},
      {"U64", std::string("\7\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0", 16), "uint64", {7, 4294967296}},
      {"F8_E4M3", "\x38\xfe", "float8_e4m3fn", {1, -448}},
      {"F8_E5M2", "\x3c\xfb", "float8_e5m2", {1, -57344}}};
  for (const Case& c : cases) {
    put_bytes(dir / "a", file_of(tensor_header(c.dtype, "[2]", str("[0,", c.bytes.size(), "]"))) + c.bytes);
    const SafeTensors read = read_safetensors(dir / "a");
    const Tensor& tensor = read.tensors.at(0).tensor;
    EXPECT_EQ(tensor.dtype(), c.dtype[0] == 'F' ? DType::f32 : DType::i64) << c.dtype;
    EXPECT_EQ(to(tensor, DType::f64).values<double>(), c.values) << c.dtype;
    ASSERT_EQ(read.converted.size(), 1u) << c.dtype;
    EXPECT_EQ(read.converted[0].name, read.tensors[0].name);
    EXPECT_EQ(read.converted[0].from, c.from);
    EXPECT_EQ(read.converted[0].to, tensor.dtype());
  }
  put_bytes(dir / "a", file_of(tensor_header("U64", "[1]", "[0,8]")) + std::string(8, '\xff'));
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_safetensors(dir / "a"); }), "beyond 2^63 - 1"));
  put_bytes(dir / "a", file_of(tensor_header("F32", "[1]", "[0,4]"), 4));
  EXPECT_TRUE(read_safetensors(dir / "a").converted.empty());
}

TEST(SafeTensors, RefuseWhatIsNoPlainFile) {
  const TempDir dir;
  for (const std::string& path : {dir / "absent", dir.path(), std::string("/dev/zero")})
    EXPECT_EQ(thrown_by<IoError>([&] { read_safetensors(path); }).kind(), Kind::missing);
}

TEST(CrashSafeTensors, LeaveTheOldFileOnAFullDisk) {
  const TempDir dir;
  const test::SmallDisk disk(dir / "disk");
  if (!disk.active()) GTEST_SKIP() << "mounting needs root";
  write_safetensors(dir / "disk/a", some_tensors());
  const IoError error = thrown_by<IoError>([&] {
    write_safetensors(dir / "disk/a", {{"big", empty({20000, 10})}});
  });
  EXPECT_EQ(error.kind(), Kind::unwritable);
  EXPECT_EQ(read_safetensors(dir / "disk/a").tensors.size(), some_tensors().size());
  EXPECT_EQ(test::count_entries(dir / "disk"), 1u);
}

}  // namespace
}  // namespace veldt::io
