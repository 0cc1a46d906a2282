// npy and npz: what NumPy wrote (tests/golden/npy.py), hostile files, and what Veldt writes.
#include "veldt/io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

nlohmann::json golden_arrays() {
  return nlohmann::json::parse(bytes_of(VELDT_SOURCE "/tests/golden/npy.json"));
}

std::string bytes_of_row(const nlohmann::json& row) {
  const auto hex = row["bytes"].get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

Tensor read_npy_bytes(const std::string& bytes) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.npy", bytes);
  return read_npy(dir / "a.npy");
}

NamedTensors read_archive(const std::string& bytes) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.npz", bytes);
  return read_npz(dir / "a.npz");
}

// Any dtype as doubles, row by row.
std::vector<double> numbers(const Tensor& tensor) { return to(tensor, DType::f64).values<double>(); }

DType expected_dtype(const std::string& descr) {
  const std::string kind = descr.substr(1);
  if (kind == "f2") return DType::f16;
  if (kind == "f4") return DType::f32;
  if (kind == "f8") return DType::f64;
  if (kind == "u1") return DType::u8;
  if (kind == "i1") return DType::i8;
  if (kind == "b1") return DType::boolean;
  if (kind == "i4") return DType::i32;
  return DType::i64;
}

TEST(ReadNpy, ReadsEveryDtypeOrderAndVersion) {
  int read = 0;
  const nlohmann::json rows = golden_arrays();
  for (const auto& [name, row] : rows.items()) {
    if (!row.contains("values")) continue;
    const Tensor tensor = read_npy_bytes(bytes_of_row(row));
    const auto shape = row["shape"].get<std::vector<std::int64_t>>();
    EXPECT_EQ(tensor.shape(), Shape(std::span<const std::int64_t>(shape))) << name;
    EXPECT_EQ(tensor.dtype(), expected_dtype(row["dtype"])) << name;
    EXPECT_TRUE(tensor.is_contiguous()) << name;
    EXPECT_EQ(numbers(tensor), row["values"].get<std::vector<double>>()) << name;
    ++read;
  }
  EXPECT_GT(read, 20);
}

TEST(ReadNpy, NamesWhatItCannotRead) {
  int refused = 0;
  const nlohmann::json rows = golden_arrays();
  for (const auto& [name, row] : rows.items()) {
    if (!row.contains("refused")) continue;
    const std::string bytes = bytes_of_row(row);
    const IoError error = thrown_by<IoError>([&] { read_npy_bytes(bytes); });
    EXPECT_EQ(error.kind(), Kind::malformed) << name;
    EXPECT_TRUE(says(error, row["refused"])) << name << ": " << error.what();
    ++refused;
  }
  EXPECT_GT(refused, 7);
}

// An npy of version 1.0 with this header and `data` zero bytes.
std::string npy_of(const std::string& header, std::size_t data = 0) {
  const auto length = static_cast<std::uint16_t>(header.size());
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(length & 255) + static_cast<char>(length >> 8) +
         header + std::string(data, '\0');
}

TEST(ReadNpy, RefusesHeadersThatLie) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "brace"},
      {"{'descr': '<f4', 'fortran_order': False}", "lacks"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "takes 12 bytes and 8 are there"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "takes 4 bytes and 8 are there"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
       "too large for any memory"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': [2]}", "not a tuple"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", "not a boolean"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}", "unknown key"},
      {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", "comma"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} ;", "goes on"},
      {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", "'f4'"},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", "'|f4'"},
      {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", "''"},
      {"{'descr': '<f4\\n', 'fortran_order': False, 'shape': (2,)}", "not text"}};
  for (const auto& [header, text] : cases) {
    const IoError error = thrown_by<IoError>([&, &header = header] { read_npy_bytes(npy_of(header, 8)); });
    EXPECT_EQ(error.kind(), Kind::malformed) << header;
    EXPECT_TRUE(says(error, text)) << header << ": " << error.what();
  }
  EXPECT_EQ(read_npy_bytes(npy_of("{'shape':(2,),'descr':\"<f4\",'fortran_order':True}", 8)).numel(), 2);
  const IoError error = thrown_by<IoError>(
      [&] { read_npy_bytes(npy_of("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}") + '\2'); });
  EXPECT_TRUE(says(error, "above 1")) << error.what();
}

TEST(ReadNpy, RefusesWhatIsNoNpy) {
  EXPECT_EQ(thrown_by<IoError>([] { read_npy("/nowhere/a.npy"); }).kind(), Kind::missing);
  EXPECT_TRUE(
      says(thrown_by<IoError>([] { read_npy_bytes("\x89PNG\r\n\x1a\n....."); }), "it seems to be a PNG"));
  EXPECT_TRUE(says(thrown_by<IoError>([] { read_npy_bytes(std::string("\x93NUMPY\4\0\0\0..", 12)); }),
                   "version 4.0"));
}

TEST(ReadNpy, RefusesAnArrayCutAtAnyLengthAndSurvivesAnyByteFlipped) {
  const nlohmann::json rows = golden_arrays();
  for (const char* name : {"<f4", "fortran big-endian", "version 2", "structured"}) {
    const std::string whole = bytes_of_row(rows[name]);
    for (std::size_t length = 0; length < whole.size(); ++length)
      ASSERT_EQ(thrown_by<IoError>([&] { read_npy_bytes(whole.substr(0, length)); }).kind(), Kind::malformed)
          << length;
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {1 << (i % 8), 0xff}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ flip);
        try {
          ASSERT_LE(read_npy_bytes(bytes).numel(), 24);
        } catch (const IoError& error) {
          ASSERT_EQ(error.kind(), Kind::malformed) << error.what();
        }
      }
  }
}

NamedTensors some_arrays() {
  return {{"weight", Tensor::of({2, 3}, {1, -2, 3.5, 4, 5, 1e-30})},
          {"a/b", Tensor::of({2}, {0.1, 0.2}, DType::f64)},
          {"steps", Tensor::from<std::int64_t>({2}, std::vector<std::int64_t>{-1, INT64_MAX})},
          {"bytes", Tensor::from<std::uint8_t>({3}, std::vector<std::uint8_t>{0, 7, 255})},
          {"count", Tensor::of({2}, {-7, 2147483647}, DType::i32)},
          {"flag", Tensor::of({1, 2}, {1, 0}, DType::boolean)},
          {"half", Tensor::of({3}, {1, 2, -3}, DType::f16)},
          {"nothing", empty({0, 4})},
          {"scalar", Tensor::of({}, {7})},
          {"many", zeros({100, 100})}};
}

void expect_same(const Tensor& got, const Tensor& wanted, const std::string& name) {
  EXPECT_EQ(got.dtype(), wanted.dtype()) << name;
  EXPECT_EQ(got.shape(), wanted.shape()) << name;
  EXPECT_EQ(numbers(got), numbers(wanted)) << name;
}

TEST(WriteNpy, BringsEveryDtypeBack) {
  const TempDir dir;
  for (const auto& [name, tensor] : some_arrays()) {
    write_npy(dir / "a.npy", tensor);
    expect_same(read_npy(dir / "a.npy"), tensor, name);
  }
  const Tensor rows = Tensor::of({2, 3}, {1, 2, 3, 4, 5, 6});
  write_npy(dir / "a.npy", rows.alias({3, 2}, {1, 3}, 0));
  expect_same(read_npy(dir / "a.npy"), Tensor::of({3, 2}, {1, 4, 2, 5, 3, 6}), "transposed");
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(WriteNpy, WritesTheBytesThatNumpyWrites) {
  const TempDir dir;
  const nlohmann::json rows = golden_arrays();
  for (const char* name :
       {"<f2", "<f4", "<f8", "<i8", "<i4", "|u1", "|b1", "scalar", "empty", "eight dimensions"}) {
    const std::string bytes = bytes_of_row(rows[name]);
    write_npy(dir / "a.npy", read_npy_bytes(bytes));
    EXPECT_EQ(bytes_of(dir / "a.npy"), bytes) << name;
  }
}

TEST(WriteNpy, RefusesBf16AndAPlaceThatCannotBeWritten) {
  const TempDir dir;
  EXPECT_THROW(write_npy(dir / "a.npy", zeros({2}, DType::bf16)), ShapeError);
  EXPECT_THROW(write_npz(dir / "a.npz", {{"a", zeros({2}, DType::bf16)}}), ShapeError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
  EXPECT_EQ(thrown_by<IoError>([&] { write_npy(dir / "none/a.npy", zeros({2})); }).kind(), Kind::unwritable);
}

TEST(ReadNpz, ReadsWhatNumpySaved) {
  const nlohmann::json rows = golden_arrays();
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NamedTensors tensors = read_archive(bytes_of_row(rows[name]));
    ASSERT_EQ(tensors.size(), 4u) << name;
    EXPECT_EQ(tensors[0].name, "weight");
    EXPECT_EQ(numbers(tensors[0].tensor), rows["<f4"]["values"].get<std::vector<double>>());
    EXPECT_EQ(tensors[1].name, "a/b.c");
    EXPECT_EQ(numbers(tensors[1].tensor), rows["<i8"]["values"].get<std::vector<double>>());
    EXPECT_EQ(tensors[2].name, "mask");
    EXPECT_EQ(tensors[2].tensor.shape(), (Shape{40, 50}));
    for (std::int64_t i = 0; i < 2000; ++i) ASSERT_EQ(tensors[2].tensor.data<bool>()[i], i % 3 == 0);
    EXPECT_EQ(tensors[3].tensor.shape(), (Shape{0, 2}));
  }
}

TEST(ReadNpz, RefusesAnArchiveCutAtAnyLengthAndFindsFlippedBytes) {
  const nlohmann::json rows = golden_arrays();
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string whole = bytes_of_row(rows[name]);
    for (std::size_t length = 0; length < whole.size(); length += length % 7 == 0 ? 1 : 3)
      ASSERT_EQ(thrown_by<IoError>([&] { read_archive(whole.substr(0, length)); }).kind(), Kind::malformed)
          << length;
    const std::vector<double> mask = numbers(read_archive(whole)[2].tensor);
    int refused = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
      try {
        const NamedTensors tensors = read_archive(bytes);
        // Dates, versions and attributes are not read, and a name is whatever it says.
        if (tensors.size() > 2) {
          ASSERT_EQ(numbers(tensors[2].tensor), mask) << i;
        }
      } catch (const IoError& error) {
        ASSERT_EQ(error.kind(), Kind::malformed) << error.what();
        ++refused;
      }
    }
    EXPECT_GT(refused, static_cast<int>(whole.size() / 2)) << name;
  }
}

// A stored archive of one member, with numbers at places of its directory changed: (place, bytes, value).
std::string tampered(std::initializer_list<std::tuple<std::size_t, int, std::uint64_t>> changes) {
  const TempDir dir = TempDir::in_memory();
  write_npz(dir / "a.npz", {{"a", zeros({4})}});
  std::string bytes = bytes_of(dir / "a.npz");
  const std::size_t directory = bytes.find("PK\1\2");
  for (const auto& [place, count, value] : changes)
    for (int i = 0; i < count; ++i)
      bytes[directory + place + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  return bytes;
}

TEST(ReadNpz, RefusesDirectoriesThatLie) {
  const std::pair<std::string, const char*> cases[] = {
      {tampered({{8, 2, 1}}), "encrypted"},
      {tampered({{10, 2, 99}}), "method 99"},
      {tampered({{10, 2, 8}, {24, 4, 0x7fffffff}}), "cannot hold 2147483647 bytes"},
      {tampered({{20, 4, 0x7fffffff}, {24, 4, 0x7fffffff}}), "beyond the end"},
      {tampered({{42, 4, 0x7fffffff}}), "beyond the end"},
      {tampered({{42, 4, 1}}), "beyond the end"},
      {tampered({{20, 4, 0xffffffff}}), "cannot hold"},
      {tampered({{20, 4, 140}, {24, 4, 140}}), "16 bytes and 12 are there"},
      {tampered({{16, 4, 1}}), "CRC"},
      {tampered({{46, 1, 'b'}}), "not where the directory says"},
      {tampered({{46 + 5 + 10, 2, 2}}), "2 members in 51 bytes"},
      {tampered({{28, 2, 6}}), "ends early or is damaged"},
      {tampered({{46 + 5 + 10, 2, 999}}), "999 members"},
      {tampered({{46 + 5 + 12, 4, 7}}), "does not lie before"},
      {"PK, but nothing more of it than this text", "no end record"},
      {"a text", "it seems to be text"}};
  for (const auto& [bytes, text] : cases) {
    const IoError error = thrown_by<IoError>([&, &bytes = bytes] { read_archive(bytes); });
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, text)) << text << " was expected:\n" << error.what();
  }
  EXPECT_EQ(read_archive(tampered({})).size(), 1u);
}

TEST(WriteNpz, BringsEveryDtypeBack) {
  const TempDir dir;
  for (const bool compress : {false, true}) {
    write_npz(dir / "a.npz", some_arrays(), {.compress = compress});
    const NamedTensors back = read_npz(dir / "a.npz"), wanted = some_arrays();
    ASSERT_EQ(back.size(), wanted.size());
    for (std::size_t i = 0; i < back.size(); ++i) {
      EXPECT_EQ(back[i].name, wanted[i].name);
      expect_same(back[i].tensor, wanted[i].tensor, wanted[i].name);
    }
    const std::size_t bytes = bytes_of(dir / "a.npz").size();
    EXPECT_TRUE(compress ? bytes < 5000 : bytes > 40000) << bytes;
  }
  write_npz(dir / "a.npz", {});
  EXPECT_TRUE(read_npz(dir / "a.npz").empty());
  EXPECT_EQ(count_entries(dir.path()), 1u);
}

TEST(WriteNpz, RefusesNamesThatAreNoKeys) {
  const TempDir dir;
  const Tensor one = zeros({1});
  EXPECT_THROW(write_npz(dir / "a.npz", {{"a", one}, {"a", one}}), ConfigError);
  EXPECT_THROW(write_npz(dir / "a.npz", {{"", one}}), ConfigError);
  EXPECT_THROW(write_npz(dir / "a.npz", {{std::string(1001, 'a'), one}}), ConfigError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

TEST(SlowNpz, CountsMembersInSixtyFourBits) {
  // More than the 16 bits of the plain format: zip64.
  const TempDir dir = TempDir::in_memory();
  NamedTensors many;
  const Tensor one = zeros({1});
  for (int i = 0; i < 70000; ++i) many.push_back({str(i), one});
  write_npz(dir / "a.npz", many);
  EXPECT_EQ(read_npz(dir / "a.npz").size(), 70000u);
}

}  // namespace
}  // namespace veldt::io
