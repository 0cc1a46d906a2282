// The encodings of coordinates: as they are, waves of doubling or of random frequency, the grid.
#include "veldt/field/encoding.h"

#include <cmath>
#include <numbers>

#include "veldt/core/error.h"
#include "veldt/nn/init.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kMaxFrequencies = 65536;
constexpr std::int64_t kMaxTable = std::int64_t{1} << 30;  // numbers: 4 GB
constexpr double kMaxSigma = 1e6;
// A line's grid of more cells is read in f64. In f32 each rounding of a place moves it by up to 2^-25 of the
// line; in f64 only the rounding of the coordinate itself remains, which is half as large.
constexpr std::int32_t kWideCells = 1 << 16;
constexpr double kTableStart = 1e-4;  // as in the grid's paper

GridLayout layout_of(GridOptions options, std::int64_t inputs) {
  options.dims = static_cast<int>(std::min<std::int64_t>(inputs, GridLayout::kMaxDims + 1));
  return grid_layout(options);
}

// One function per kind; overload resolution picks one.
template <class... Fns> struct ByKind : Fns... { using Fns::operator()...; };
template <class... Fns> ByKind(Fns...) -> ByKind<Fns...>;

[[noreturn]] void refuse(const std::string& what, const std::string& bounds) {
  throw ConfigError(what, bounds, "choose a value within these bounds");
}

// Sines, then cosines of z [n, m] -> [n, 2m]
Tensor waves(const Tensor& z) { return cat({sin(z), cos(z)}, 1); }

Tensor octaves_of(const Tensor& x, int octaves) {
  std::vector<Tensor> z;
  for (int k = 0; k < octaves; ++k) z.push_back(affine(x, std::numbers::pi * std::exp2(k), 0));
  return waves(cat(z, 1));
}

// x [n, dims] of -1..1 -> [n, levels * features]
Tensor read_grid(const Tensor& x, const Tensor& table, const GridLayout& grid) {
  if (grid.dims > 1 || grid.level[0].cells <= kWideCells)
    return grid_encoding(affine(x, 0.5, 0.5), table, grid);
  const Tensor places = affine(to(x, DType::f64), 0.5, 0.5);
  return to(grid_encoding(places, to(table, DType::f64), grid), x.dtype());
}

}  // namespace

void check(const EncodingOptions& options, std::int64_t inputs) {
  std::visit(
      ByKind{[](const IdentityOptions&) {},
             [](const FrequencyOptions& o) {
               if (o.octaves < 1 || o.octaves > 24)
                 refuse(str("an encoding cannot have ", o.octaves, " octaves"), "there are 1 to 24");
             },
             [](const FourierOptions& o) {
               if (o.frequencies < 1 || o.frequencies > kMaxFrequencies)
                 refuse(str("an encoding cannot have ", o.frequencies, " frequencies"),
                        str("there are 1 to ", kMaxFrequencies));
               if (!(o.sigma > 0 && o.sigma <= kMaxSigma))
                 refuse(str("sigma cannot be ", o.sigma), str("it is above 0 and at most ", kMaxSigma));
             },
             [inputs](const GridOptions& o) {
               const GridLayout grid = layout_of(o, inputs);
               if (grid.entries() * grid.features > kMaxTable)
                 throw ConfigError(str("a grid cannot have ", grid.entries(), " entries of ", grid.features),
                                   str("at most ", kMaxTable, " numbers fit"),
                                   "use fewer levels, or a smaller log2_entries");
             }},
      options);
}

std::int64_t features_of(const EncodingOptions& options, std::int64_t inputs) {
  return std::visit(
      ByKind{[inputs](const IdentityOptions&) { return inputs; },
             [inputs](const FrequencyOptions& o) { return 2 * inputs * o.octaves; },
             [](const FourierOptions& o) { return 2 * o.frequencies; },
             [](const GridOptions& o) { return static_cast<std::int64_t>(o.levels) * o.features; }},
      options);
}

std::int64_t trained_by(const EncodingOptions& options, std::int64_t inputs) {
  const auto* grid = std::get_if<GridOptions>(&options);
  return grid ? layout_of(*grid, inputs).entries() * grid->features : 0;
}

std::int64_t stored_by(const EncodingOptions& options, std::int64_t inputs) {
  const auto* fourier = std::get_if<FourierOptions>(&options);
  return fourier ? fourier->frequencies * inputs : trained_by(options, inputs);
}

Encoding::Encoding(std::int64_t inputs, const EncodingOptions& options, Rng& rng) : options_(options) {
  check(options, inputs);
  if (const auto* fourier = std::get_if<FourierOptions>(&options)) {
    frequencies_ = empty({fourier->frequencies, inputs});
    nn::init::normal(frequencies_, 0, fourier->sigma, rng);
  } else if (const auto* grid = std::get_if<GridOptions>(&options)) {
    grid_ = layout_of(*grid, inputs);
    table_ = nn::parameter(empty({grid_.entries(), grid_.features}));
    nn::init::uniform(table_, -kTableStart, kTableStart, rng);
  }
}

Tensor Encoding::forward(const Tensor& x) const {
  return std::visit(ByKind{[&](const IdentityOptions&) { return x; },
                           [&](const FrequencyOptions& o) { return octaves_of(x, o.octaves); },
                           [&](const FourierOptions&) {
                             return waves(affine(linear(x, frequencies_), 2 * std::numbers::pi, 0));
                           },
                           [&](const GridOptions&) { return read_grid(x, table_, grid_); }},
                    options_);
}

std::string Encoding::title() const {
  return std::visit(
      ByKind{[](const IdentityOptions&) { return std::string("Identity"); },
             [](const FrequencyOptions& o) { return str("Frequencies(", o.octaves, ")"); },
             [](const FourierOptions& o) { return str("Fourier(", o.frequencies, ", ", o.sigma, ")"); },
             [](const GridOptions& o) {
               return str("Grid(", o.levels, " levels, ", o.coarsest, "..", o.finest, ", 2^", o.log2_entries,
                          " x ", o.features, ")");
             }},
      options_);
}

Encodings::Encodings(std::int64_t inputs, const std::vector<EncodingOptions>& options, Rng& rng)
    : features_(options.empty() ? inputs : 0) {
  for (const EncodingOptions& o : options) {
    parts_.emplace_back(inputs, o, rng);
    features_ += features_of(o, inputs);
  }
}

Tensor Encodings::forward(const Tensor& x) const {
  if (parts_.empty()) return x;
  if (parts_.size() == 1) return parts_[0](x);
  std::vector<Tensor> features;
  for (const Encoding& part : parts_) features.push_back(part(x));
  return cat(features, 1);
}

}  // namespace veldt::field
