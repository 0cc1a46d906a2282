// NumPy's files, both ways: npy holds one array, npz is a zip of them.
// Tests: tests/io/npy_test.cpp, tests/io/peers_test.cpp, tests/fuzz/arrays.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/io/file_dtype.h"
#include "veldt/tensor/named.h"

namespace veldt::io {

// Format versions 1.0 to 3.0, either byte order, C and Fortran order (rearranged to row-major). f2 f4 f8 i4
// i8 u1 b1 keep their type; i1 i2 u2 u4 u8 become i64. Throws IoError missing, or malformed: for other
// dtypes, which it names; for a u8 beyond i64; for more than kMaxRank dimensions; for a file that is longer
// or shorter than its header says.
Tensor read_npy(const std::string& path);

// The arrays of numpy.savez or savez_compressed in the order of the archive, named as there (without ".npy").
// Stored and deflated members, zip64 too; every CRC is checked. `converted` gets those whose dtype was
// another. Throws as read_npy does.
NamedTensors read_npz(const std::string& path, std::vector<ConvertedTensor>* converted = nullptr);

// Writes all or nothing, in numpy.save's format. Throws ShapeError for bf16, which NumPy does not have;
// IoError unwritable.
void write_npy(const std::string& path, const Tensor& tensor);

struct NpzOptions {
  bool compress = false;  // deflated, as numpy.savez_compressed: small for masks and labels, slow for weights
};

// Like numpy.savez(path, **tensors). Throws ConfigError for an empty or repeated name, and as write_npy does.
void write_npz(const std::string& path, const NamedTensors& tensors, const NpzOptions& options = {});

}  // namespace veldt::io
