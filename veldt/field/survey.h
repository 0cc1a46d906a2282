// What the choices of a fit need to know of a picture, and its digest, from one reading of its rows: where it
// is not in memory.
// Tests: tests/field/shared_signal_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/field/picture_facts.h"
#include "veldt/field/spectrum_lines.h"
#include "veldt/io/digest.h"
#include "veldt/tensor/tensor.h"

namespace veldt::field {

struct Survey {
  PictureFacts facts;     // facts_of()
  Spectrum across, down;  // spectrum_of()
  std::string digest;     // of its levels as f32, row by row
};

class Surveyor {
 public:
  Surveyor(std::int64_t rows, std::int64_t columns, std::int64_t channels, DType dtype);
  // The next rows, [n, columns, channels], as they are stored, and as f32.
  void add(const Tensor& stored, const Tensor& levels);
  // After the last row.
  Survey survey();

 private:
  FactsCounter facts_;
  SpectrumLines across_, down_;
  io::Digest digest_;
};

}  // namespace veldt::field
