// Tries roundings of a field's numbers from coarse to fine, and packs the first whose drawings stay the same.
#include "veldt/publish/packed.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/field/image_field.h"
#include "veldt/field/sound_field.h"
#include "veldt/core/base64.h"
#include "veldt/publish/touched.h"

namespace veldt::publish {
namespace {

constexpr double kClosingStep = 1.0 / 1020;            // a quarter of an 8-bit level
constexpr double kSoundClosingStep = 1.0 / (1 << 17);  // a quarter of a 16-bit step
constexpr std::int64_t kWholeSide = 384, kPartSide = 192, kParts = 4, kCuts = 8;
constexpr std::int64_t kComparedFrames = 1 << 16;

// How the numbers are rounded. spread: of a grid's features, the error that a rounding may bring into the
// first layer's sums, or 0; bits: of the layers' weights.
struct Rounding {
  double spread = 0;
  int bits = 32;
};

struct RunWriter {
  std::vector<Run> runs;
  std::string bytes;

  void put_planes(const void* from, std::size_t count, std::size_t width) {
    const auto* data = static_cast<const char*>(from);
    for (std::size_t plane = 0; plane < width; ++plane)
      for (std::size_t i = 0; i < count; ++i) bytes += data[i * width + plane];
  }
  // Rounds the numbers in place.
  void put(const std::string& name, float* from, std::size_t count, double step) {
    if (count == 0) return;
    float largest = 0;
    for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(from[i]));
    const double whole = step > 0 ? std::round(static_cast<double>(largest) / step) : 1e9;
    Run run{name, static_cast<std::int64_t>(count), whole <= 127 ? 8 : whole <= 32767 ? 16 : 32, 1};
    if (run.bits == 32) {
      put_planes(from, count, 4);
    } else {
      run.step = step;
      std::vector<std::int8_t> small;
      std::vector<std::int16_t> large;
      for (std::size_t i = 0; i < count; ++i) {
        const auto n = static_cast<std::int16_t>(std::lround(static_cast<double>(from[i]) / step));
        run.bits == 8 ? small.push_back(static_cast<std::int8_t>(n)) : large.push_back(n);
        from[i] = static_cast<float>(n * step);
      }
      if (run.bits == 8)
        put_planes(small.data(), count, 1);
      else
        put_planes(large.data(), count, 2);
    }
    runs.push_back(run);
  }
};

double step_for(const std::vector<float>& numbers, int bits) {
  if (bits >= 32) return 0;
  float largest = 0;
  for (const float x : numbers) largest = std::max(largest, std::abs(x));
  return static_cast<double>(largest) / ((1 << (bits - 1)) - 1);
}

// How strongly the first layer takes `count` features from `first` on: the largest norm of their columns.
double strength(const Dense& layer, std::int64_t first, std::int64_t count) {
  double most = 0;
  for (std::int64_t c = first; c < first + count; ++c) {
    double sum = 0;
    for (std::int64_t r = 0; r < layer.out; ++r)
      sum += std::pow(static_cast<double>(layer.weight[static_cast<std::size_t>(r * layer.in + c)]), 2);
    most = std::max(most, std::sqrt(sum));
  }
  return most;
}

RunWriter write(Parts& parts, const Rounding& rounding) {
  RunWriter out;
  std::int64_t feature = 0;
  for (std::size_t i = 0; i < parts.encodings.size(); ++i) {
    EncodingPart& e = parts.encodings[i];
    const std::string name = "e" + std::to_string(i);
    if (e.grid.levels == 0) out.put(name, e.numbers.data(), e.numbers.size(), 0);
    for (int l = 0; l < e.grid.levels; ++l) {
      const double felt = strength(parts.layers[0], feature + l * e.grid.features, e.grid.features);
      const auto at =
          static_cast<std::size_t>(e.grid.level[static_cast<std::size_t>(l)].first * e.grid.features);
      const auto count = static_cast<std::size_t>(e.grid.entries_of(l) * e.grid.features);
      out.put(name, e.numbers.data() + at, count, felt > 0 ? rounding.spread / felt : rounding.spread);
    }
    feature += field::features_of(e.options, parts.options.inputs());
  }
  for (std::size_t i = 0; i < parts.layers.size(); ++i) {
    Dense& layer = parts.layers[i];
    out.put("w" + std::to_string(i), layer.weight.data(), layer.weight.size(),
            step_for(layer.weight, rounding.bits));
    out.put("b" + std::to_string(i), layer.bias.data(), layer.bias.size(), 0);
  }
  const bool is_sound = parts.options.is_sound();
  if (rounding.bits < 32)
    out.put("closing", parts.closing.data(), parts.closing.size(),
            is_sound ? kSoundClosingStep : kClosingStep);
  else
    out.put("closing", parts.closing.data(), parts.closing.size(), 0);
  return out;
}

// What both fields draw, and by how much it differs.
class Comparison {
 public:
  explicit Comparison(const field::Field& field) {
    const field::FieldOptions& o = field.options();
    if (o.is_sound())
      add_sound(field);
    else
      add_picture(field);
  }
  // See Packed::worst.
  double with(const field::Field& other) const {
    double worst = 0;
    for (const Drawn& d : drawn_) {
      const std::vector<float> levels =
          d.is_sound ? samples(other, d.from, d.to)
                     : field::ImageField(other).render(d.size, {.region = d.region}).values<float>();
      const auto channels = static_cast<std::size_t>(other.options().channels);
      std::size_t changed = 0;
      double largest = 0;
      for (std::size_t i = 0; i < levels.size(); i += channels) {
        double most = 0;
        for (std::size_t c = i; c < i + channels; ++c)
          most = std::max(most, std::abs(static_cast<double>(levels[c]) - static_cast<double>(d.levels[c])));
        changed += most > kLargestChange ? 1 : 0;
        largest = std::max(largest, most);
      }
      const double share = static_cast<double>(changed * channels) / static_cast<double>(levels.size());
      worst = std::max(worst, d.is_sound ? largest : share);
    }
    return worst;
  }

 private:
  struct Drawn {
    std::vector<float> levels;
    Size size{};
    field::Region region{};
    bool is_sound = false;
    double from = 0, to = 0;
  };

  void draw(const field::ImageField& field, Size size, const field::Region& region) {
    drawn_.push_back({field.render(size, {.region = region}).values<float>(), size, region});
    if (drawn_.size() == 1) size_ = size, channels_ = field.options().channels;
  }
  // As shares of the peak.
  static std::vector<float> samples(const field::Field& field, double from, double to) {
    const field::SoundField sound(field);
    std::vector<float> out = sound.render({.from = from, .to = to}).values<float>();
    const double peak = field.options().peak;
    for (float& x : out) x = peak > 0 ? static_cast<float>(static_cast<double>(x) / peak) : 0;
    return out;
  }
  // The whole, and its busiest parts enlarged.
  void add_picture(const field::Field& field) {
    const field::FieldOptions& o = field.options();
    const std::int64_t longest = std::max(o.width, o.height);
    const auto size = [&](std::int64_t side, std::int64_t pixels) {
      return std::max<std::int64_t>(1, side * std::min(pixels, longest) / longest);
    };
    const field::ImageField picture(field);
    const Size whole{size(o.width, kWholeSide), size(o.height, kWholeSide)};
    draw(picture, whole, {});
    std::vector<std::pair<double, field::Region>> parts;
    for (int y = 0; y < kCuts; ++y)
      for (int x = 0; x < kCuts; ++x)
        parts.emplace_back(-busyness(drawn_[0].levels, x, y),
                           field::Region{x / double{kCuts}, y / double{kCuts}, 1.0 / kCuts, 1.0 / kCuts});
    std::stable_sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < kParts; ++i)
      draw(picture,
           {std::max<std::int64_t>(1, kPartSide * o.width / longest),
            std::max<std::int64_t>(1, kPartSide * o.height / longest)},
           parts[i].second);
  }
  // The beginning, the middle and the end.
  void add_sound(const field::Field& field) {
    const double all = field::SoundField(field).seconds();
    const double part = std::min(all, static_cast<double>(kComparedFrames) / field.options().rate);
    for (const double from : {0.0, (all - part) / 2, all - part}) {
      drawn_.push_back({samples(field, from, from + part), {}, {}, true, from, from + part});
      if (part == all) break;
    }
  }
  // The sum of the steps between neighbours in one of kCuts x kCuts parts of the whole.
  double busyness(const std::vector<float>& levels, int column, int row) const {
    double sum = 0;
    for (std::int64_t y = size_.height * row / kCuts; y < size_.height * (row + 1) / kCuts; ++y)
      for (std::int64_t x = size_.width * column / kCuts + 1; x < size_.width * (column + 1) / kCuts; ++x)
        for (std::int64_t c = 0; c < channels_; ++c) {
          const auto at = static_cast<std::size_t>((y * size_.width + x) * channels_ + c);
          sum += std::abs(static_cast<double>(levels[at] - levels[at - static_cast<std::size_t>(channels_)]));
        }
    return sum;
  }

  std::vector<Drawn> drawn_;
  Size size_{};
  std::int64_t channels_ = 1;
};

std::vector<Rounding> roundings_of(const Parts& parts) {
  std::vector<Rounding> out;
  const bool has_grid = std::any_of(parts.encodings.begin(), parts.encodings.end(),
                                    [](const EncodingPart& e) { return e.grid.levels > 0; });
  if (has_grid)
    for (double spread = 1.0 / 4; spread > 1e-6; spread /= std::sqrt(2.0)) out.push_back({spread, 16});
  else
    for (const int bits : {8, 9, 10, 11, 12, 13, 14, 16}) out.push_back({0, bits});
  out.push_back({});
  return out;
}

std::string in_words(const RunWriter& w) {
  int fewest = 32, most = 0;
  for (const Run& run : w.runs)
    if (run.name[0] != 'b') fewest = std::min(fewest, run.bits), most = std::max(most, run.bits);
  return fewest == most ? str("numbers of ", most, " bits")
                        : str("numbers of ", fewest, " to ", most, " bits");
}

}  // namespace

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION) != Z_OK)
    throw OutOfMemory("cannot compress the numbers of a field", "there is no memory for zlib",
                      "close other programs");
  out.resize(size);
  return out;
}

Packed packed(const field::Field& field) {
  Parts whole = parts_of(field);
  if (!whole.options.is_sound()) clear_untouched(whole);
  const Comparison comparison(field);
  // From the coarsest on each is finer; the last one rounds nothing.
  const std::vector<Rounding> roundings = roundings_of(whole);
  for (const Rounding& rounding : roundings) {
    Parts parts = whole;
    RunWriter written = write(parts, rounding);
    const double worst = comparison.with(field_of(parts));
    const bool is_last = &rounding == &roundings.back();
    if (worst > (whole.options.is_sound() ? kLargestSoundChange : kMostChanged) && !is_last) continue;
    const std::string rounding_in_words = in_words(written);
    return {std::move(written.runs), to_base64(deflated(written.bytes)), std::move(parts), worst,
            rounding_in_words};
  }
  return {};
}

}  // namespace veldt::publish
