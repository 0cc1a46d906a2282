// The idx files of MNIST and similar sets: a magic number, sizes, numbers (LeCun, Cortes, Burges,
// http://yann.lecun.com/exdb/mnist). Compressed by gzip or not.
// Tests: tests/io/idx_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <string>

#include "veldt/tensor/tensor.h"

namespace veldt::io {

// u8, f32 and f64 keep their type, i32 too; i8 and i16 become i32. Throws IoError missing, or malformed: for
// another magic number, for more than kMaxRank dimensions, and for a file that is longer or shorter than its
// header says.
Tensor read_idx(const std::string& path);

}  // namespace veldt::io
