// Reads MNIST, CIFAR and folders of pictures, and refuses files whose content is not what their name says.
#include "veldt/data/pictures.h"

#include <algorithm>
#include <filesystem>

#include "veldt/core/error.h"
#include "veldt/data/resample.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/idx.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

namespace fs = std::filesystem;

IoError malformed(const std::string& path, const std::string& why, const std::string& fix) {
  return {IoError::Kind::malformed, "cannot read " + path, why, fix};
}

// Checks that all labels are classes; `where`: their source.
void check_labels(const Tensor& labels, std::size_t classes, const std::string& where) {
  const double low = min(to(labels, DType::f64)).item(), high = max(to(labels, DType::f64)).item();
  if (low < 0 || high >= static_cast<double>(classes))
    throw malformed(where,
                    str("it has a label of ", low < 0 ? low : high, ", and there are ", classes, " classes"),
                    str("labels are 0 to ", classes - 1));
}

class PictureSet final : public Dataset {
 public:
  PictureSet(Tensor pictures, Tensor labels, std::vector<std::string> classes)
      : pictures_(std::move(pictures)), labels_(std::move(labels)), classes_(std::move(classes)) {}

  std::int64_t size() const override { return pictures_.size(0); }
  Example get(std::int64_t i) const override {
    const Tensor picture = empty({pictures_.size(1), pictures_.size(2), pictures_.size(3)});
    const std::int64_t count = picture.numel();
    const std::uint8_t* const from = pictures_.data<std::uint8_t>() + i * count;
    float* const to = picture.data<float>();
    for (std::int64_t j = 0; j < count; ++j) to[j] = static_cast<float>(from[j]) * (1.0f / 255);
    return {picture, select(labels_, 0, i)};
  }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  Tensor pictures_, labels_;  // contiguous
  std::vector<std::string> classes_;
};

// The first of the names that is there.
std::string find_file(const std::string& folder, const std::vector<std::string>& names,
                      const std::string& from) {
  for (const std::string& name : names)
    if (const std::string path = (fs::path(folder) / name).string(); io::exists(path)) return path;
  throw IoError(
      IoError::Kind::missing, str("there is no ", names[0], " in ", folder),
      io::is_directory(folder) ? "the folder exists, but has no such file" : "there is no such folder",
      str("name the folder that holds it, or download it from ", from));
}

struct Cifar {
  const char* name;
  std::size_t label_bytes;  // the last one is used
  std::size_t classes;
  std::vector<std::string> train, test;
  const char* class_file;
};

Tensor read_cifar_file(const Cifar& kind, const std::string& path, std::vector<std::int64_t>& labels) {
  constexpr std::size_t kPixels = 3 * 32 * 32;
  io::InputFile file(path);
  const std::size_t record = kind.label_bytes + kPixels;
  if (file.size() == 0 || file.size() % record != 0)
    throw malformed(path, str("its ", file.size(), " bytes are not a whole number of pictures of ", record),
                    str("give the binary version of ", kind.name, ", or download it again"));
  const auto count = static_cast<std::int64_t>(file.size() / record);
  const Tensor pictures = empty({count, 3, 32, 32}, DType::u8);
  for (std::int64_t i = 0; i < count; ++i) {
    unsigned char label[2];
    file.read_exactly(label, kind.label_bytes);
    labels.push_back(label[kind.label_bytes - 1]);
    file.read_exactly(pictures.data<std::uint8_t>() + i * static_cast<std::int64_t>(kPixels), kPixels);
  }
  return pictures;
}

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines(1);
  for (const char c : io::read_file(path, 1 << 16))
    if (c == '\n')
      lines.emplace_back();
    else if (c != '\r')
      lines.back() += c;
  std::erase(lines, std::string());
  return lines;
}

DatasetPtr read_cifar(const Cifar& kind, const std::string& folder, Part part) {
  std::vector<std::int64_t> labels;
  std::vector<Tensor> parts;
  const char* const from = "https://www.cs.toronto.edu/~kriz/cifar.html";
  for (const std::string& name : part == Part::train ? kind.train : kind.test)
    parts.push_back(read_cifar_file(kind, find_file(folder, {name}, from), labels));
  const Tensor list = empty({std::ssize(labels)}, DType::i64);
  std::copy(labels.begin(), labels.end(), list.data<std::int64_t>());
  check_labels(list, kind.classes, folder);
  std::vector<std::string> classes;
  if (const std::string names = (fs::path(folder) / kind.class_file).string(); io::exists(names))
    classes = lines_of(names);
  if (classes.size() != kind.classes) {
    classes.clear();
    for (std::size_t i = 0; i < kind.classes; ++i) classes.push_back(std::to_string(i));
  }
  return pictures(cat(parts, 0), list, std::move(classes));
}

// [height, width, channels] as read_image() returns it, to [channels, height, width].
Tensor planes(Tensor image, const FolderOptions& o) {
  if (image.size(2) == 2 || image.size(2) == 4) image = slice(image, 2, 0, image.size(2) - 1);
  if (o.grey && image.size(2) == 3)  // the luma of ITU-R BT.601
    image = sum(image * Tensor::of({3}, {0.299, 0.587, 0.114}), {2}, true);
  if (!o.grey && image.size(2) == 1) image = expand(image, {image.size(0), image.size(1), 3});
  const std::int64_t height = o.height > 0 ? o.height : image.size(0),
                     width = o.width > 0 ? o.width : image.size(1);
  if (height != image.size(0) || width != image.size(1))
    image = clamp(resample(contiguous(image), {width, height}, Filter::bilinear), 0, 1);
  return contiguous(permute(image, {2, 0, 1}));
}

class PictureFolder final : public Dataset {
 public:
  PictureFolder(const std::string& folder, FolderOptions options) : options_(std::move(options)) {
    if (!io::is_directory(folder))
      throw IoError(IoError::Kind::missing, "there is no folder " + folder, "it is missing, or is a file",
                    "name a folder that has a folder of pictures for each class");
    std::vector<std::string> found;
    for (const std::string& name : io::list_directory(folder))
      if (io::is_directory(folder + '/' + name)) found.push_back(name);
    if (found.empty())
      throw IoError(IoError::Kind::missing, folder + " has no classes", "there is no folder in it",
                    "give each class a folder of its own, with its pictures");
    classes_ = options_.classes.empty() ? found : options_.classes;
    for (const std::string& name : found) add_class(fs::path(folder) / name, label_of(name, folder));
    if (options_.on_unreadable) drop_unreadable();
  }

  std::int64_t size() const override { return std::ssize(files_); }
  Example get(std::int64_t i) const override {
    const File& file = files_.at(static_cast<std::size_t>(i));
    return {planes(io::read_image(file.path), options_),
            full({}, static_cast<double>(file.label), DType::i64)};
  }
  std::string name_of(std::int64_t i) const override { return files_.at(static_cast<std::size_t>(i)).path; }
  std::vector<std::string> classes() const override { return classes_; }

 private:
  struct File {
    std::string path;
    std::size_t label;
  };

  std::size_t label_of(const std::string& name, const std::string& folder) const {
    const auto found = std::find(classes_.begin(), classes_.end(), name);
    if (found != classes_.end()) return static_cast<std::size_t>(found - classes_.begin());
    std::string known;
    for (const std::string& each : classes_) known += str(known.empty() ? "" : ", ", each);
    throw IoError(IoError::Kind::malformed, str(folder, " has a class '", name, "' that is not known"),
                  str("the classes are ", known),
                  "rename or remove the folder, or train with that class too");
  }

  void add_class(const fs::path& folder, std::size_t label) {
    std::vector<std::string> found;
    for (const std::string& name : io::list_directory(folder.string())) {
      const fs::path path = folder / name;
      if (io::is_picture_name(name) && !io::is_directory(path.string())) found.push_back(path.string());
    }
    if (found.empty())
      throw IoError(IoError::Kind::missing, "there is no picture in " + folder.string(),
                    "every folder is a class, and needs pictures whose names end as such: .png, .jpg, .webp",
                    "put some there, or remove the folder");
    for (std::string& path : found) files_.push_back({std::move(path), label});
  }

  void drop_unreadable() {
    std::erase_if(files_, [&](const File& file) {
      try {
        io::read_image(file.path);
        return false;
      } catch (const IoError& e) {
        options_.on_unreadable(e);
        return true;
      }
    });
  }

  FolderOptions options_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

}  // namespace

DatasetPtr pictures(const Tensor& all, const Tensor& labels, std::vector<std::string> classes) {
  if (all.dtype() != DType::u8 || all.rank() != 4 || all.numel() == 0 || labels.dtype() != DType::i64 ||
      labels.shape() != Shape{all.size(0)})
    throw ShapeError(str("a set of pictures cannot have ", all.dtype(), ' ', all.shape(), " with labels ",
                         labels.dtype(), ' ', labels.shape()),
                     "it needs u8 [n, channels, height, width] and i64 [n], n above 0",
                     "reshape() them, or convert with to()");
  if (classes.empty())
    throw ShapeError("a set of pictures needs the names of its classes", "none were given",
                     "give one for each label");
  try {
    check_labels(labels, classes.size(), "the labels");
  } catch (const IoError& e) {
    throw ShapeError("the pictures have labels that are not a class", e.why(), e.fix());
  }
  return std::make_shared<PictureSet>(contiguous(to(all, Device{})), contiguous(to(labels, Device{})),
                                      std::move(classes));
}

DatasetPtr mnist(const std::string& folder, Part part) {
  const std::string stem = part == Part::train ? "train" : "t10k";
  const auto find = [&](const std::string& what, const std::string& rank) {
    const std::string name = stem + "-" + what + "-idx" + rank + "-ubyte",
                      dotted = stem + "-" + what + ".idx" + rank + "-ubyte";
    return find_file(folder, {name + ".gz", name, dotted + ".gz", dotted},
                     "https://ossci-datasets.s3.amazonaws.com/mnist/");
  };
  const std::string pictures_path = find("images", "3"), labels_path = find("labels", "1");
  const Tensor all = io::read_idx(pictures_path), labels = io::read_idx(labels_path);
  const char* const fix = "give the files of MNIST, or of a set in MNIST's format";
  if (all.dtype() != DType::u8 || all.rank() != 3)
    throw malformed(pictures_path,
                    str("it holds ", all.dtype(), ' ', all.shape(), ", which are not pictures"), fix);
  if (all.numel() == 0) throw malformed(pictures_path, str("it holds ", all.shape(), ": no pixels"), fix);
  if (labels.dtype() != DType::u8 || labels.shape() != Shape{all.size(0)})
    throw malformed(
        labels_path,
        str("it holds ", labels.dtype(), ' ', labels.shape(), ", and there are ", all.size(0), " pictures"),
        fix);
  check_labels(labels, 10, labels_path);
  return pictures(unsqueeze(all, 1), to(labels, DType::i64),
                  {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
}

DatasetPtr cifar10(const std::string& folder, Part part) {
  return read_cifar(
      {"CIFAR-10",
       1,
       10,
       {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
       {"test_batch.bin"},
       "batches.meta.txt"},
      folder, part);
}

DatasetPtr cifar100(const std::string& folder, Part part) {
  return read_cifar({"CIFAR-100", 2, 100, {"train.bin"}, {"test.bin"}, "fine_label_names.txt"}, folder, part);
}

DatasetPtr picture_folder(const std::string& folder, FolderOptions options) {
  return std::make_shared<PictureFolder>(folder, std::move(options));
}

Tensor read_picture(const std::string& path, const FolderOptions& options) {
  return planes(io::read_image(path), options);
}

Tensor picture_planes(const Tensor& picture, const FolderOptions& options) {
  const bool has_form = picture.rank() == 3 && picture.numel() > 0 && picture.size(2) <= 4 &&
                        (picture.dtype() == DType::f32 || picture.dtype() == DType::u8);
  if (!has_form)
    throw ShapeError(str("a picture cannot be ", picture.dtype(), ' ', picture.shape()),
                     "it is f32 [height, width, channels] in 0..1, or u8, with 1 to 4 channels",
                     "permute() it, or convert it with to()");
  const Tensor levels = to(picture, Device{});
  return planes(levels.dtype() == DType::u8 ? to(levels, DType::f32) / 255 : levels, options);
}

}  // namespace veldt::data
