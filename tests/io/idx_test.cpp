// idx files: what every type holds, hostile headers, gzip and its damage, and MNIST itself.
#include "veldt/io/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>

#include "tests/io/faults.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

std::string idx_header(unsigned char type, const std::vector<std::uint32_t>& sizes) {
  std::string bytes{'\0', '\0', static_cast<char>(type), static_cast<char>(sizes.size())};
  for (const std::uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes;
}

std::string gzip(const std::string& bytes) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&z, bytes.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

Tensor read_idx_bytes(const std::string& bytes) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "numbers.idx", bytes);
  return read_idx(dir / "numbers.idx");
}

IoError idx_error(const std::string& bytes) {
  return thrown_by<IoError>([&] { read_idx_bytes(bytes); });
}

std::vector<double> all_numbers(const Tensor& t) { return to(t, DType::f64).values<double>(); }

TEST(Idx, HoldsNumbersOfEveryType) {
  const Tensor bytes = read_idx_bytes(idx_header(0x08, {2, 2}) + std::string("\x00\x01\x7f\xff", 4));
  EXPECT_EQ(bytes.dtype(), DType::u8);
  EXPECT_EQ(bytes.shape(), (Shape{2, 2}));
  EXPECT_EQ(all_numbers(bytes), (std::vector<double>{0, 1, 127, 255}));
  EXPECT_EQ(all_numbers(read_idx_bytes(idx_header(0x09, {2}) + "\x7f\xfe")), (std::vector<double>{127, -2}));
  EXPECT_EQ(all_numbers(read_idx_bytes(idx_header(0x0B, {2}) + "\x01\x02\xff\xfe")),
            (std::vector<double>{258, -2}));
  EXPECT_EQ(all_numbers(read_idx_bytes(idx_header(0x0C, {1}) + "\xff\xff\xff\xfd")),
            (std::vector<double>{-3}));
  EXPECT_EQ(all_numbers(read_idx_bytes(idx_header(0x0D, {1}) + std::string("\xc0\x20\x00\x00", 4))),
            (std::vector<double>{-2.5}));
  EXPECT_EQ(all_numbers(read_idx_bytes(idx_header(0x0E, {1}) + std::string("\x40\x04\0\0\0\0\0\0", 8))),
            (std::vector<double>{2.5}));
}

TEST(Idx, MayBeEmpty) {
  EXPECT_EQ(read_idx_bytes(idx_header(0x08, {0, 28, 28})).shape(), (Shape{0, 28, 28}));
  EXPECT_EQ(read_idx_bytes(idx_header(0x08, {}) + "\x05").shape(), Shape{});
}

TEST(Idx, SaysWhatItsFileIsInstead) {
  EXPECT_THAT(idx_error("").why(), testing::HasSubstr("the file is empty"));
  EXPECT_THAT(idx_error("\x89PNG\r\n\x1a\n and so on").why(), testing::HasSubstr("PNG"));
  EXPECT_THAT(idx_error(idx_header(0x0A, {1}) + "x").why(),
              testing::HasSubstr("does not begin like an idx file"));
  EXPECT_THAT(idx_error(idx_header(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x").why(),
              testing::HasSubstr("dimensions"));
  EXPECT_EQ(idx_error("nonsense").kind(), Kind::malformed);
}

TEST(Idx, BelievesNoSizeThatTheFileCannotHold) {
  EXPECT_THAT(idx_error(idx_header(0x08, {3, 2}) + "12345").why(), testing::HasSubstr("has 5 of the 6"));
  EXPECT_THAT(idx_error(idx_header(0x08, {3, 2}) + "1234567").why(), testing::HasSubstr("longer"));
  EXPECT_THAT(idx_error(idx_header(0x08, {0xffffffff, 0xffffffff, 0xffffffff})).why(),
              testing::HasSubstr("cannot hold"));
  EXPECT_THAT(idx_error(idx_header(0x08, {60000, 28, 28}).substr(0, 11)).why(),
              testing::HasSubstr("within its header"));
  EXPECT_THAT(idx_error(gzip(idx_header(0x0E, {0xffffffff, 0xffffffff}) + "12345678")).why(),
              testing::HasSubstr("cannot hold"));
}

TEST(Idx, ReadsGzip) {
  const std::string bytes = idx_header(0x08, {300, 10}) + std::string(3000, '\x07');
  EXPECT_EQ(sum(to(read_idx_bytes(gzip(bytes)), DType::f64)).item(), 21000);
  // Members one after the other are one file.
  EXPECT_EQ(read_idx_bytes(gzip(bytes.substr(0, 100)) + gzip(bytes.substr(100))).shape(), (Shape{300, 10}));
}

TEST(Idx, NoticesDamageOfGzip) {
  const std::string bytes = idx_header(0x08, {300, 10}) + std::string(3000, '\x07'), packed = gzip(bytes);
  for (std::size_t length = 2; length < packed.size(); ++length)
    ASSERT_EQ(idx_error(packed.substr(0, length)).kind(), Kind::malformed) << length;
  EXPECT_THAT(idx_error(packed.substr(0, packed.size() - 12)).why(), testing::HasSubstr("cut off"));
  std::string wrong_sum = packed;
  wrong_sum[packed.size() - 6] ^= 1;
  EXPECT_THAT(idx_error(wrong_sum).why(), testing::HasSubstr("damaged"));
  EXPECT_THAT(idx_error(gzip(bytes.substr(0, 2000))).why(),
              testing::HasSubstr("cut off: it has 1988 of the 3000"));
  EXPECT_THAT(idx_error(gzip(bytes + "x")).why(), testing::HasSubstr("longer"));
}

TEST(Idx, ReadsMnist) {
  const std::string folder = std::string(VELDT_DATA) + "/mnist/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "there is no MNIST in VELDT_DATA";
  const Tensor images = read_idx(folder + "t10k-images-idx3-ubyte.gz");
  const Tensor labels = read_idx(folder + "t10k-labels-idx1-ubyte.gz");
  EXPECT_EQ(images.shape(), (Shape{10000, 28, 28}));
  EXPECT_EQ(labels.shape(), Shape{10000});
  // Published figures: the mean of the test pictures is 0.1325, and their first labels are 7, 2, 1, 0.
  EXPECT_NEAR(mean(to(images, DType::f64)).item() / 255, 0.1325, 5e-5);
  EXPECT_EQ(all_numbers(slice(labels, 0, 0, 4)), (std::vector<double>{7, 2, 1, 0}));
}

}  // namespace
}  // namespace veldt::io
