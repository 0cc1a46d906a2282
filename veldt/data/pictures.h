// Sets of labelled pictures: {f32 [channels, height, width] in 0..1, label i64 []}.
// Tests: tests/data/pictures_test.cpp, tests/fuzz/pictures.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "veldt/data/dataset.h"

namespace veldt {
class Error;
}

namespace veldt::data {

enum class Part : std::uint8_t { train, test };

// Pictures u8 [n, channels, height, width] and labels i64 [n], stored unchanged and scaled one by one. Throws
// ShapeError for other tensors, for none, and for labels that are not a class.
DatasetPtr pictures(const Tensor& pictures, const Tensor& labels, std::vector<std::string> classes);

// The idx files of MNIST, or of a set in its format such as Fashion-MNIST, from a folder, with or without
// .gz: train-images-idx3-ubyte and so on. Throws IoError missing, naming the file; malformed unless it is a
// set of pictures [n, height, width] with a label of 0..9 each.
DatasetPtr mnist(const std::string& folder, Part part);

// The binary version of CIFAR-10 or CIFAR-100 (Krizhevsky 2009) from a folder: data_batch_1.bin and so on, or
// train.bin; classes of CIFAR-100 are its fine ones. Throws as mnist() does.
DatasetPtr cifar10(const std::string& folder, Part part);
DatasetPtr cifar100(const std::string& folder, Part part);

struct FolderOptions {
  std::int64_t height = 0, width = 0;  // all are resized to this; 0: they keep their sizes
  bool grey = false;                   // one channel; else three, without alpha
  // Called for each unreadable picture, which is left out; without it, reading one is an error.
  std::function<void(const Error&)> on_unreadable = {};
  // The classes of another folder, whose labels these get: one may be missing, a new one is refused. Empty:
  // the folders are the classes.
  std::vector<std::string> classes = {};
};

// One picture, in the form of picture_folder(): f32 [channels, height, width] in 0..1. Throws IoError.
Tensor read_picture(const std::string& path, const FolderOptions& options);
// The same of a picture that is already read: f32 [height, width, channels] in 0..1 or u8, as
// io::read_image() gives it. Throws ShapeError for another form.
Tensor picture_planes(const Tensor& picture, const FolderOptions& options);

// The pictures (io::is_picture_name) of a folder's folders, each of which is a class, both in the order of
// their names. They are read when needed; with on_unreadable all are also read once in advance. Throws
// IoError missing if there is no folder, no class, or a class without a picture, malformed for a class that
// is not among those given.
DatasetPtr picture_folder(const std::string& folder, FolderOptions options = {});

}  // namespace veldt::data
