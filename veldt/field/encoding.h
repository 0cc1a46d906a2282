// Encodings of a field's coordinates before its first layer. All take points [n, inputs] with coordinates in
// -1..1, and return features [n, features].
// Tests: tests/field/encoding_test.cpp
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/nn/module.h"
#include "veldt/ops/grid_encoding.h"

namespace veldt::field {

// The coordinates as they are.
struct IdentityOptions {
  friend bool operator==(const IdentityOptions&, const IdentityOptions&) = default;
};

// sin(2^k pi x) of each coordinate for k = 0 .. octaves - 1, then the cosines: Mildenhall et al. 2020
// (NeRF), arXiv:2003.08934.
struct FrequencyOptions {
  int octaves = 10;  // 1 to 24
  friend bool operator==(const FrequencyOptions&, const FrequencyOptions&) = default;
};

// sin(2 pi b x) for each row b of a matrix drawn from N(0, sigma^2), then the cosines: Tancik et al. 2020,
// arXiv:2006.10739. The matrix is not trained.
struct FourierOptions {
  std::int64_t frequencies = 256;  // 1 to 65,536
  double sigma = 5;                // in waves per unit of a coordinate
  friend bool operator==(const FourierOptions&, const FourierOptions&) = default;
};

// Or a grid over -1..1 along each axis, see ops/grid_encoding.h; its `dims` are the inputs.
using EncodingOptions = std::variant<IdentityOptions, FrequencyOptions, FourierOptions, GridOptions>;

// Throws ConfigError for numbers beyond the bounds above.
void check(const EncodingOptions& options, std::int64_t inputs);
// The number of features, of trained numbers, and of numbers that a file has to hold.
std::int64_t features_of(const EncodingOptions& options, std::int64_t inputs);
std::int64_t trained_by(const EncodingOptions& options, std::int64_t inputs);
std::int64_t stored_by(const EncodingOptions& options, std::int64_t inputs);

// One encoding: "table" [entries, features] of a grid, which starts U(-1e-4, 1e-4), or the buffer
// "frequencies" [frequencies, inputs].
class Encoding : public nn::Module {
 public:
  // Throws ConfigError as check() does.
  Encoding(std::int64_t inputs, const EncodingOptions& options, Rng& rng);

  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("table", table_)("frequencies", frequencies_); }
  std::string title() const override;
  const EncodingOptions& options() const { return options_; }

 private:
  EncodingOptions options_;
  GridLayout grid_{};
  Tensor table_, frequencies_;
};

// Several encodings of the same points, their features side by side; of none, the points themselves.
class Encodings : public nn::Module {
 public:
  Encodings(std::int64_t inputs, const std::vector<EncodingOptions>& options, Rng& rng);

  Tensor forward(const Tensor& x) const override;
  void fields(nn::Fields& f) override { f("parts", parts_); }
  std::int64_t features() const { return features_; }
  const std::vector<Encoding>& parts() const { return parts_; }

 private:
  std::vector<Encoding> parts_;
  std::int64_t features_;
};

}  // namespace veldt::field
