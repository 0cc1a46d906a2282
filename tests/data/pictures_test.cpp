// Sets of pictures from files: MNIST itself, CIFAR's format, folders; and files that are none.
#include "veldt/data/pictures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/faults.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/image.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

using test::error_of;
using test::put_bytes;
using test::TempDir;
using test::thrown_by;
using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string idx(const std::vector<unsigned>& sizes, const std::string& bytes) {
  std::string file{'\0', '\0', '\x08', static_cast<char>(sizes.size())};
  for (const unsigned size : sizes)
    file += {'\0', '\0', static_cast<char>(size >> 8), static_cast<char>(size)};
  return file + bytes;
}

TEST(Mnist, IsReadWhole) {
  const std::string folder = std::string(VELDT_DATA) + "/mnist";
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no MNIST in VELDT_DATA";
  const DatasetPtr train = mnist(folder, Part::train), test = mnist(folder, Part::test);
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(test->size(), 10000);
  const Example five = train->get(0);
  EXPECT_EQ(five[0].shape(), (Shape{1, 28, 28}));
  EXPECT_EQ(five[1].item(), 5);
  EXPECT_EQ(max(five[0]).item(), 1);
  EXPECT_EQ(train->classes().size(), 10u);
}

TEST(Mnist, SaysWhatIsWrongWithItsFiles) {
  const TempDir dir = TempDir::in_memory();
  const auto set = [&] { mnist(dir.path(), Part::test); };
  EXPECT_THAT(thrown_by<IoError>(set).summary(), HasSubstr("t10k-images-idx3-ubyte.gz"));
  EXPECT_EQ(thrown_by<IoError>(set).kind(), IoError::Kind::missing);
  const IoError too_long = thrown_by<IoError>([] { mnist("/" + std::string(5000, 'a'), Part::test); });
  EXPECT_EQ(too_long.kind(), IoError::Kind::missing);
  EXPECT_THAT(too_long.why(), HasSubstr("too long"));
  put_bytes(dir / "t10k-images-idx3-ubyte", idx({2, 2, 2}, "12345678"));
  put_bytes(dir / "t10k-labels-idx1-ubyte", idx({3}, std::string("\1\2\3", 3)));
  EXPECT_THAT(thrown_by<IoError>(set).why(), HasSubstr("there are 2 pictures"));
  put_bytes(dir / "t10k-labels-idx1-ubyte", idx({2}, std::string("\1\12", 2)));
  EXPECT_THAT(thrown_by<IoError>(set).why(), HasSubstr("a label of 10, and there are 10 classes"));
  put_bytes(dir / "t10k-labels-idx1-ubyte", idx({2}, std::string("\1\11", 2)));
  EXPECT_EQ(mnist(dir.path(), Part::test)->get(1)[1].item(), 9);
  put_bytes(dir / "t10k-images-idx3-ubyte", idx({2, 4}, "12345678"));
  EXPECT_THAT(thrown_by<IoError>(set).why(), HasSubstr("not pictures"));
  put_bytes(dir / "t10k-images-idx3-ubyte", idx({0, 28, 28}, ""));
  put_bytes(dir / "t10k-labels-idx1-ubyte", idx({0}, ""));
  const IoError none = thrown_by<IoError>(set);
  EXPECT_EQ(none.kind(), IoError::Kind::malformed);
  EXPECT_THAT(none.summary(), HasSubstr("t10k-images-idx3-ubyte"));
  EXPECT_THAT(none.why(), HasSubstr("[0, 28, 28]"));
}

TEST(Cifar, HasPlanesAndTheFineLabels) {
  const TempDir dir = TempDir::in_memory();
  std::string record(3072, '\0');
  record[1024] = '\xff';  // the first pixel's green
  put_bytes(dir / "test_batch.bin", "\x03" + record + "\x09" + record);
  const DatasetPtr ten = cifar10(dir.path(), Part::test);
  EXPECT_EQ(ten->size(), 2);
  EXPECT_EQ(ten->get(1)[1].item(), 9);
  EXPECT_EQ(select(select(ten->get(0)[0], 2, 0), 1, 0).values<float>(), (std::vector<float>{0, 1, 0}));
  put_bytes(dir / "test.bin", "\x03\x2a" + record);
  put_bytes(dir / "batches.meta.txt",
            "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
  EXPECT_EQ(cifar100(dir.path(), Part::test)->get(0)[1].item(), 42);
  EXPECT_EQ(cifar10(dir.path(), Part::test)->classes()[3], "cat");
  put_bytes(dir / "test_batch.bin", "\x03" + record + "\x09");
  EXPECT_THAT(thrown_by<IoError>([&] { cifar10(dir.path(), Part::test); }).why(),
              HasSubstr("3074 bytes are not a whole number"));
  put_bytes(dir / "test_batch.bin", "\x0a" + record);
  EXPECT_THAT(thrown_by<IoError>([&] { cifar10(dir.path(), Part::test); }).why(), HasSubstr("a label of 10"));
  EXPECT_THAT(thrown_by<IoError>([&] { cifar10(dir.path(), Part::train); }).summary(),
              HasSubstr("data_batch_1.bin"));
}

TEST(PictureFolder, HasAClassForEachFolder) {
  const TempDir dir = TempDir::in_memory();
  const auto set = [&] { return picture_folder(dir.path(), {.height = 2, .width = 3}); };
  EXPECT_THAT(thrown_by<IoError>([&] { set(); }).summary(), HasSubstr("has no classes"));
  fs::create_directory(dir / "dogs");
  fs::create_directory(dir / "cats");
  io::write_image(dir / "cats/a.png", full({4, 6, 1}, 0.6));
  EXPECT_THAT(thrown_by<IoError>([&] { set(); }).summary(), HasSubstr("there is no picture in"));
  io::write_image(dir / "dogs/b.PNG", full({4, 6, 4}, 0.2));
  put_bytes(dir / "dogs/notes.txt", "not a picture");
  const DatasetPtr all = set();
  EXPECT_THAT(all->classes(), ElementsAre("cats", "dogs"));
  ASSERT_EQ(all->size(), 2);
  EXPECT_EQ(all->get(0)[0].shape(), (Shape{3, 2, 3}));
  EXPECT_NEAR(mean(all->get(1)[0]).item(), 0.2, 1e-6);
  EXPECT_EQ(all->get(1)[1].item(), 1);
  EXPECT_THAT(all->name_of(1), HasSubstr("b.PNG"));
  EXPECT_EQ(picture_folder(dir.path(), {.grey = true})->get(1)[0].shape(), (Shape{1, 4, 6}));
  EXPECT_THAT(thrown_by<IoError>([&] { picture_folder(dir / "fish"); }).summary(),
              HasSubstr("there is no folder"));
}

TEST(PictureFolder, TakesTheLabelsOfAnotherFolder) {
  const TempDir dir = TempDir::in_memory();
  for (const char* name : {"cat", "fish"}) {
    fs::create_directory(dir / name);
    io::write_image(dir / (name + std::string("/a.png")), full({4, 6, 1}, 0.6));
  }
  const DatasetPtr set = picture_folder(dir.path(), {.classes = {"cat", "dog", "fish"}});
  EXPECT_THAT(set->classes(), ElementsAre("cat", "dog", "fish"));
  EXPECT_EQ(set->get(0)[1].item(), 0);
  EXPECT_EQ(set->get(1)[1].item(), 2);
  const IoError unknown = thrown_by<IoError>([&] {
    picture_folder(dir.path(), {.classes = {"cat", "dog"}});
  });
  EXPECT_EQ(unknown.kind(), IoError::Kind::malformed);
  EXPECT_THAT(unknown.summary(), HasSubstr("'fish'"));
  EXPECT_THAT(unknown.why(), HasSubstr("cat, dog"));
}

TEST(PictureFolder, NamesAPictureThatCannotBeRead) {
  const TempDir dir = TempDir::in_memory();
  fs::create_directory(dir / "cats");
  io::write_image(dir / "cats/a.png", full({4, 6, 1}, 0.6));
  io::write_image(dir / "cats/c.png", full({4, 6, 1}, 0.7));
  const std::string whole = test::bytes_of(dir / "cats/a.png");
  put_bytes(dir / "cats/b.png", whole.substr(0, whole.size() - 20));
  const DatasetPtr all = picture_folder(dir.path());
  EXPECT_EQ(all->size(), 3);
  EXPECT_THAT(thrown_by<IoError>([&] { all->get(1); }).summary(), HasSubstr("b.png"));
  std::vector<std::string> passed_over;
  const DatasetPtr rest = picture_folder(
      dir.path(), {.on_unreadable = [&](const Error& e) { passed_over.push_back(e.summary()); }});
  EXPECT_EQ(rest->size(), 2);
  EXPECT_THAT(passed_over, ElementsAre(HasSubstr("b.png")));
}

TEST(Pictures, WantBytesAndWholeLabels) {
  EXPECT_THAT(error_of<ShapeError>([] {
                pictures(zeros({2, 1, 3, 3}), zeros({2}, DType::i64), {"a"});
              }),
              HasSubstr("f32 [2, 1, 3, 3]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                pictures(zeros({2, 1, 3, 3}, DType::u8), zeros({3}, DType::i64), {"a"});
              }),
              HasSubstr("i64 [3]"));
  EXPECT_THAT(error_of<ShapeError>([] {
                pictures(zeros({0, 1, 3, 3}, DType::u8), zeros({0}, DType::i64), {"a"});
              }),
              HasSubstr("u8 [0, 1, 3, 3]"));
}

TEST(Pictures, APictureThatIsReadTakesTheFormOfAFolder) {
  const FolderOptions form{.height = 2, .width = 3};
  const Tensor grey = picture_planes(full({4, 6, 1}, 0.5), form);
  EXPECT_EQ(grey.shape(), (Shape{3, 2, 3}));
  EXPECT_NEAR(max(grey).item(), 0.5, 1e-6);
  const Tensor bytes = picture_planes(full({2, 3, 4}, 51, DType::u8), {.grey = true});
  EXPECT_EQ(bytes.shape(), (Shape{1, 2, 3}));
  EXPECT_NEAR(min(bytes).item(), 0.2, 1e-6);
  for (const Tensor& other :
       {full({4, 6}, 0.5), full({2, 2, 5}, 0.5), full({2, 2, 1}, 1, DType::i64), zeros({0, 2, 1})})
    EXPECT_THAT(error_of<ShapeError>([&] { picture_planes(other, form); }),
                HasSubstr("[height, width, channels]"));
}

}  // namespace
}  // namespace veldt::data
