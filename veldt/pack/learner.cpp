// Bands of rows go over the threads; each band has sums of its own, which are added in order.
#include "veldt/pack/learner.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/threads.h"

namespace veldt::pack {
namespace {

using codec::kColours;
using codec::kDetail;
using codec::kLevels;

constexpr std::int64_t kBands = 8;
constexpr std::int64_t kRows = 16;  // of a piece of work that adds up nothing
constexpr float kBeta1 = 0.8f, kBeta2 = 0.95f;
constexpr double kEpsilon = 0.3;  // of Adam, in gradients of one bit

std::int64_t band_rows(std::int64_t height) {
  return std::max<std::int64_t>((height + kBands - 1) / kBands, 16);
}

// run(y0, y1, sum) over bands of rows; the sums are added to `total` in order. Returns the sum of what it
// returns.
template <class Sum, class Run> double by_bands(std::int64_t height, Sum* total, Run&& run) {
  const std::int64_t rows = band_rows(height), bands = (height + rows - 1) / rows;
  std::vector<Sum> sums(total != nullptr ? static_cast<std::size_t>(bands) : 0);
  std::vector<double> results(static_cast<std::size_t>(bands));
  parallel_for(height, rows, [&](std::int64_t y0, std::int64_t y1) {
    const auto band = static_cast<std::size_t>(y0 / rows);
    if (total != nullptr) sums[band] = Sum{};
    results[band] = run(y0, y1, total != nullptr ? &sums[band] : nullptr);
  });
  double result = 0;
  for (const double r : results) result += r;
  if (total != nullptr) {
    auto* to = reinterpret_cast<float*>(total);
    for (const Sum& sum : sums) {
      const auto* from = reinterpret_cast<const float*>(&sum);
      for (std::size_t i = 0; i < sizeof(Sum) / sizeof(float); ++i) to[i] += from[i];
    }
  }
  return result;
}

template <class Run> void by_rows(std::int64_t height, Run&& run) {
  parallel_for(height, kRows, [&](std::int64_t y0, std::int64_t y1) {
    for (std::int64_t y = y0; y < y1; ++y) run(y);
  });
}

void repeat(const Plane& coarse, int shift, Plane& fine) {
  by_rows(fine.height(), [&](std::int64_t y) {
    const float* from = coarse.row(y >> shift);
    float* to = fine.row(y);
    for (std::int64_t x = 0; x < fine.width(); ++x) to[x] = from[x >> shift];
  });
}

void add_repeated(const Plane& d_fine, int shift, Plane& d_coarse) {
  by_rows(d_coarse.height(), [&](std::int64_t y) {
    float* to = d_coarse.row(y);
    for (std::int64_t row = y << shift; row < std::min((y + 1) << shift, d_fine.height()); ++row) {
      const float* from = d_fine.row(row);
      for (std::int64_t x = 0; x < d_fine.width(); ++x) to[x >> shift] += from[x];
    }
  });
}

void add_row(const float* from, float* to, std::int64_t count) {
  for (std::int64_t x = 0; x < count; ++x) to[x] += from[x];
}

using FilterSums = std::array<float, codec::kUpsampling>;

// The model of a level.
auto& model_at(auto& networks, std::size_t level) {
  return networks.models[static_cast<std::size_t>(codec::model_of(static_cast<int>(level)))];
}

std::vector<Plane> planes(int count, Size size) {
  return std::vector<Plane>(static_cast<std::size_t>(count), Plane(size));
}

}  // namespace

Learner::Level::Level(Size s)
    : size(s),
      latents(s),
      mean(s),
      square(s),
      rounded(s),
      slopes(s),
      d_rounded(s),
      parent(s),
      grandparent(s),
      d_parent(s),
      d_grandparent(s),
      wide({(s.width + 1) / 2, s.height}) {}

Learner::Learner(Size size, std::span<const float> colours)
    : size_(size),
      target_(planes(kColours, size)),
      colours_(planes(kColours, size)),
      detail_(planes(kDetail, size)),
      out_(planes(kColours, size)),
      d_out_(planes(kColours, size)),
      d_detail_(planes(kDetail, size)),
      d_colours_(planes(kColours, size)) {
  for (int l = 0; l < kLevels; ++l) {
    levels_.emplace_back(codec::level_size(size, l));
    levels_.back().features = planes(kLevels - l, levels_.back().size);
    levels_.back().d_features = planes(kLevels - l, levels_.back().size);
  }
  look_at(colours);
}

void Learner::look_at(std::span<const float> colours) {
  std::size_t i = 0;
  for (std::int64_t y = 0; y < size_.height; ++y)
    for (std::int64_t x = 0; x < size_.width; ++x)
      for (Plane& plane : target_) plane.row(y)[x] = colours[i++];
}

void Learner::begin_with(int level, std::span<const float> latents) {
  Plane& to = levels_[static_cast<std::size_t>(level)].latents;
  for (std::int64_t y = 0; y < to.height(); ++y)
    std::copy_n(latents.data() + y * to.width(), to.width(), to.row(y));
}

std::vector<float> Learner::gradient(int level) const {
  const Level& from = levels_[static_cast<std::size_t>(level)];
  std::vector<float> gradient;
  for (std::int64_t y = 0; y < from.size.height; ++y)
    for (std::int64_t x = 0; x < from.size.width; ++x)
      gradient.push_back(from.d_rounded.row(y)[x] * from.slopes.row(y)[x]);
  return gradient;
}

void Learner::round(const Rounding& how, const codec::Synthesis<float>& network) {
  for (std::size_t l = 0; l < kLevels; ++l) {
    Level& level = levels_[l];
    by_rows(level.size.height, [&](std::int64_t y) {
      round_latents(level.latents.row(y), level.rounded.row(y), level.slopes.row(y), level.size.width, how,
                    static_cast<std::uint32_t>(y + (std::int64_t{1} << 20) * static_cast<std::int64_t>(l)));
      // Beyond the end there are zeros, which neither noise nor rounding keeps.
      std::fill(level.rounded.row(y) + level.size.width,
                level.rounded.row(y) + level.rounded.stride() - 2 * Plane::kBlock, 0.0f);
      std::fill(level.slopes.row(y) + level.size.width,
                level.slopes.row(y) + level.slopes.stride() - 2 * Plane::kBlock, 0.0f);
    });
  }
  for (std::size_t l = 0; l < kLevels; ++l) {
    if (l + 1 < kLevels) repeat(levels_[l + 1].rounded, 1, levels_[l].parent);
    if (l + 2 < kLevels) repeat(levels_[l + 2].rounded, 2, levels_[l].grandparent);
  }
  upsample(network);
}

Cost Learner::measure(const codec::Networks<float>& networks, const Rounding& how) {
  round(how, networks.synthesis);
  Cost cost;
  for (std::size_t l = 0; l < kLevels; ++l) cost.bits += level_model(l, model_at(networks, l));
  cost.square_error = synthesis(networks.synthesis);
  return cost;
}

Cost Learner::differentiate(const codec::Networks<float>& networks, const Rounding& how, double lambda,
                            codec::Networks<float>* gradient) {
  round(how, networks.synthesis);
  for (Level& level : levels_) {
    level.d_rounded.clear();
    level.d_parent.clear();
    level.d_grandparent.clear();
  }
  Cost cost;
  const auto scale = static_cast<float>(lambda / pixels());
  for (std::size_t l = 0; l < kLevels; ++l)
    cost.bits += level_model_gradient(l, model_at(networks, l), scale,
                                      gradient != nullptr ? &model_at(*gradient, l) : nullptr);
  for (std::size_t l = 0; l < kLevels; ++l) {
    if (l + 1 < kLevels) add_repeated(levels_[l].d_parent, 1, levels_[l + 1].d_rounded);
    if (l + 2 < kLevels) add_repeated(levels_[l].d_grandparent, 2, levels_[l + 2].d_rounded);
  }
  cost.square_error = synthesis(networks.synthesis);
  synthesis_gradient(networks.synthesis, gradient != nullptr ? &gradient->synthesis : nullptr);
  return cost;
}

double Learner::level_model(std::size_t l, const codec::ContextModel<float>& model) {
  const Level& level = levels_[l];
  const LevelRows rows{&level.rounded, &level.parent, &level.grandparent};
  return by_bands<codec::ContextModel<float>>(
      level.size.height, nullptr, [&](std::int64_t y0, std::int64_t y1, codec::ContextModel<float>*) {
        return model_rows(rows, y0, y1, model, 0, nullptr, nullptr);
      });
}

double Learner::level_model_gradient(std::size_t l, const codec::ContextModel<float>& model, float scale,
                                     codec::ContextModel<float>* gradient) {
  Level& level = levels_[l];
  const LevelRows rows{&level.rounded,   &level.parent,   &level.grandparent,
                       &level.d_rounded, &level.d_parent, &level.d_grandparent};
  const std::int64_t height = level.size.height, step = band_rows(height);
  std::vector<BandGradients> beside(static_cast<std::size_t>((height + step - 1) / step),
                                    BandGradients(level.size));
  const double bits =
      by_bands(height, gradient, [&](std::int64_t y0, std::int64_t y1, codec::ContextModel<float>* sum) {
        return model_rows(rows, y0, y1, model, scale, sum, &beside[static_cast<std::size_t>(y0 / step)]);
      });
  for (std::size_t b = 0; b < beside.size(); ++b) {
    const std::int64_t y0 = static_cast<std::int64_t>(b) * step, y1 = std::min(y0 + step, height);
    for (std::int64_t k = 0; k < 3; ++k)
      if (y0 - 3 + k >= 0) add_row(beside[b].own.row(k), level.d_rounded.row(y0 - 3 + k), level.size.width);
    if (y0 > 0) add_row(beside[b].above.row(0), level.d_parent.row(y0 - 1), level.size.width);
    if (y1 < height) add_row(beside[b].below.row(0), level.d_parent.row(y1), level.size.width);
  }
  return bits;
}

Learner::Filters Learner::filters_of(const codec::Synthesis<float>& network) {
  Filters filters;
  for (std::size_t l = 0; l < filters.size(); ++l)
    std::ranges::copy(network.upsampling[l], filters[l].begin());
  return filters;
}

void Learner::upsample(const codec::Synthesis<float>& network) {
  filters_ = filters_of(network);
  for (std::size_t l = kLevels; l-- > 0;) {
    Level& level = levels_[l];
    level.features[0] = level.rounded;
    for (std::size_t k = 1; k < level.features.size(); ++k) {
      const Plane& coarse = levels_[l + 1].features[k - 1];
      parallel_for(level.size.height, kRows, [&](std::int64_t y0, std::int64_t y1) {
        std::vector<float> line(static_cast<std::size_t>(coarse.stride()));
        for (std::int64_t y = y0; y < y1; ++y)
          upsample_row(coarse, y, network.upsampling[l], line.data() + Plane::kBlock, level.features[k]);
      });
    }
  }
}

void Learner::upsample_adjoint(const codec::Synthesis<float>& network, codec::Synthesis<float>* gradient) {
  for (std::size_t l = 0; l < kLevels; ++l) {
    Level& level = levels_[l];
    by_rows(level.size.height, [&](std::int64_t y) {
      add_row(level.d_features[0].row(y), level.d_rounded.row(y), level.size.width);
    });
    for (std::size_t k = 1; k < level.d_features.size(); ++k) {
      const float* filter = network.upsampling[l];
      Level& coarser = levels_[l + 1];
      parallel_for(level.size.height, kRows, [&](std::int64_t y0, std::int64_t y1) {
        std::vector<float> lines;
        for (std::int64_t y = y0; y < y1; ++y)
          upsample_adjoint_row(level.d_features[k], y, filter, lines, level.wide);
      });
      if (gradient != nullptr) {
        const Plane& coarse = coarser.features[k - 1];
        FilterSums total{};
        by_bands(level.size.height, &total, [&](std::int64_t y0, std::int64_t y1, FilterSums* sums) {
          std::vector<float> line(static_cast<std::size_t>(coarse.stride()));
          for (std::int64_t y = y0; y < y1; ++y)
            upsample_filter_gradient(coarse, level.d_features[k], level.wide, y, filter,
                                     line.data() + Plane::kBlock, sums->data());
          return 0.0;
        });
        add_row(total.data(), gradient->upsampling[l], codec::kUpsampling);
      }
      Plane& to = coarser.d_features[k - 1];
      to.clear();
      by_rows(coarser.size.height,
              [&](std::int64_t y) { upsample_adjoint_column(level.wide, level.size.height, y, filter, to); });
    }
  }
}

double Learner::bits_again(int model, const codec::ContextModel<float>& network) {
  double bits = 0;
  for (int l = 0; l < kLevels; ++l)
    if (codec::model_of(l) == model) bits += level_model(static_cast<std::size_t>(l), network);
  return bits;
}

double Learner::error_again(const codec::Synthesis<float>& network) {
  if (filters_ != filters_of(network)) upsample(network);
  return synthesis(network);
}

double Learner::synthesis(const codec::Synthesis<float>& network) {
  const std::int64_t height = size_.height;
  const std::vector<Plane>& features = levels_[0].features;
  const auto over = [&](auto&& rows) { parallel_for(height, kRows, rows); };
  over([&](std::int64_t y0, std::int64_t y1) { colour_rows(features, y0, y1, network, colours_); });
  repeat_edges(colours_);
  over([&](std::int64_t y0, std::int64_t y1) { detail_rows(colours_, y0, y1, network, detail_); });
  repeat_edges(detail_);
  over([&](std::int64_t y0, std::int64_t y1) { close_rows(colours_, detail_, y0, y1, network, out_); });
  const double numbers = pixels() * kColours;
  const double square = by_bands<codec::Synthesis<float>>(
      height, nullptr, [&](std::int64_t y0, std::int64_t y1, codec::Synthesis<float>*) {
        double sum = 0;
        for (std::int64_t y = y0; y < y1; ++y)
          for (std::size_t c = 0; c < kColours; ++c)
            sum += difference_row(out_[c].row(y), target_[c].row(y), d_out_[c].row(y), size_.width,
                                  static_cast<float>(1 / numbers));
        return sum;
      });
  return square / numbers;
}

// Of what synthesis() computed last.
void Learner::synthesis_gradient(const codec::Synthesis<float>& network, codec::Synthesis<float>* gradient) {
  const std::int64_t height = size_.height;
  using Sum = codec::Synthesis<float>;
  by_bands(height, gradient, [&](std::int64_t y0, std::int64_t y1, Sum* sum) {
    close_gradient_rows(detail_, d_out_, y0, y1, network, d_detail_, sum);
    return 0.0;
  });
  by_bands(height, gradient, [&](std::int64_t y0, std::int64_t y1, Sum* sum) {
    detail_gradient_rows(colours_, d_detail_, d_out_, y0, y1, network, d_colours_, sum);
    return 0.0;
  });
  by_bands(height, gradient, [&](std::int64_t y0, std::int64_t y1, Sum* sum) {
    colour_gradient_rows(levels_[0].features, y0, y1, network, d_colours_, levels_[0].d_features, sum);
    return 0.0;
  });
  upsample_adjoint(network, gradient);
}

void Learner::update(double rate, double lambda) {
  ++updates_;
  const auto n = static_cast<double>(updates_);
  AdamStep step{0,
                kBeta1,
                kBeta2,
                static_cast<float>(1 / (1 - std::pow(static_cast<double>(kBeta1), n))),
                static_cast<float>(1 / (1 - std::pow(static_cast<double>(kBeta2), n))),
                static_cast<float>(kEpsilon * lambda / pixels())};
  for (std::size_t l = 0; l < kLevels; ++l) {
    Level& level = levels_[l];
    step.rate = static_cast<float>(rate * std::min(1 << l, 16));
    by_rows(level.size.height, [&](std::int64_t y) {
      adam_row(level.latents.row(y), level.mean.row(y), level.square.row(y), level.d_rounded.row(y),
               level.slopes.row(y), level.size.width, step);
    });
  }
}

codec::Pyramid Learner::rounded() const {
  codec::Pyramid pyramid = codec::whole_pyramid(size_);
  for (std::size_t l = 0; l < kLevels; ++l)
    for (std::int64_t y = 0; y < levels_[l].size.height; ++y)
      for (std::int64_t x = 0; x < levels_[l].size.width; ++x)
        pyramid[l].row(y)[x] = static_cast<std::int16_t>(std::clamp(
            std::nearbyint(levels_[l].latents.row(y)[x]), -static_cast<float>(codec::kLargestLatent),
            static_cast<float>(codec::kLargestLatent)));
  return pyramid;
}

}  // namespace veldt::pack
