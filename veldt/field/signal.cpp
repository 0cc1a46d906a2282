// Reads pictures and sounds line by line as levels, and between their samples by cubics; and the lines of a
// picture that are not here from its file.
#include "veldt/field/signal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/field/survey.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kSampleGrain = 1 << 14;  // samples per task

// A byte as in io::read_image(); a sound's sample as a share of its peak.
float level_of(std::uint8_t sample, float) { return static_cast<float>(sample) / 255.0f; }
float level_of(float sample, float scale) { return sample * scale; }

// Writes `count` lines of `length` samples; line i comes from line place(i) of `samples`, and is 0 if that is
// below 0.
template <class T, class Place>
void copy_lines(const Tensor& samples, std::int64_t length, std::int64_t count, float scale,
                const Place& place, float* to) {
  const T* from = samples.data<T>();
  parallel_for(count, std::max<std::int64_t>(1, kSampleGrain / length),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t at = place(i);
                   if (at < 0) {
                     std::fill_n(to + i * length, length, 0.0f);
                     continue;
                   }
                   const T* line = from + at * length;
                   for (std::int64_t j = 0; j < length; ++j) to[i * length + j] = level_of(line[j], scale);
                 }
               });
}

template <class Place>
Tensor lines(const Tensor& samples, const Shape& shape, std::int64_t length, double peak,
             const Place& place) {
  const Tensor out = empty(shape);
  const std::int64_t count = shape[0];
  if (samples.dtype() == DType::u8)
    copy_lines<std::uint8_t>(samples, length, count, 1, place, out.data<float>());
  else
    copy_lines<float>(samples, length, count, peak > 0 ? static_cast<float>(1 / peak) : 1.0f, place,
                      out.data<float>());
  return out;
}

// The colour of a fully transparent pixel is invisible, but would show between it and its neighbours: it gets
// the colour of the nearest visible pixel.
template <class T> Tensor with_colours_spread(const Tensor& picture) {
  const std::int64_t height = picture.size(0), width = picture.size(1), channels = picture.size(2);
  const Tensor out = empty(picture.shape(), picture.dtype());
  std::copy_n(picture.data<T>(), picture.numel(), out.data<T>());
  T* const levels = out.data<T>();
  const auto at = [&](std::int64_t pixel) { return levels + pixel * channels; };
  std::vector<bool> has_colour(static_cast<std::size_t>(height * width));
  std::vector<std::int64_t> queue;  // in the order of their distance
  for (std::int64_t i = 0; i < height * width; ++i)
    if (at(i)[channels - 1] > T(0)) {
      has_colour[static_cast<std::size_t>(i)] = true;
      queue.push_back(i);
    }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    const std::int64_t from = queue[next], y = from / width, x = from % width;
    for (const auto& [to_y, to_x] : {std::pair{y - 1, x}, {y + 1, x}, {y, x - 1}, {y, x + 1}}) {
      if (to_y < 0 || to_y >= height || to_x < 0 || to_x >= width) continue;
      const std::int64_t to = to_y * width + to_x;
      if (has_colour[static_cast<std::size_t>(to)]) continue;
      has_colour[static_cast<std::size_t>(to)] = true;
      std::copy_n(at(from), channels - 1, at(to));
      queue.push_back(to);
    }
  }
  return out;
}

template <class T> bool has_clear_pixel(const Tensor& picture) {
  const std::int64_t channels = picture.size(2);
  if (channels != 2 && channels != 4) return false;
  const T* const levels = picture.data<T>();
  for (std::int64_t i = channels - 1; i < picture.numel(); i += channels)
    if (levels[i] == T(0)) return true;
  return false;
}

// The picture itself if it has no clear pixels.
template <class T> Tensor with_visible_colours(const Tensor& picture) {
  return has_clear_pixel<T>(picture) ? with_colours_spread<T>(picture) : picture;
}

// Whether all levels are multiples of 1/255, as floats.
bool has_bytes(const Tensor& levels) {
  const float* const v = levels.data<float>();
  return std::all_of(v, v + levels.numel(),
                     [](float level) { return std::abs(level * 255 - std::round(level * 255)) < 1e-4f; });
}

// The weights of the samples at -1, 0, 1 and 2 for the place t between the two in the middle.
std::array<float, 4> cubic_weights(float t) {
  const float u = 1 - t;
  return {-0.5f * t * u * u, 1 - t * t * (2.5f - 1.5f * t), 1 - u * u * (2.5f - 1.5f * u), -0.5f * u * t * t};
}

// The four nearest samples along an axis of n, and their weights.
struct BilinearTaps {
  BilinearTaps(double position, std::int64_t n) {
    const double first = std::floor(position - 0.5);
    weight = cubic_weights(static_cast<float>(position - 0.5 - first));
    for (std::size_t i = 0; i < 4; ++i)
      at[i] = std::clamp<std::int64_t>(static_cast<std::int64_t>(first) - 1 + static_cast<std::int64_t>(i), 0,
                                       n - 1);
  }
  std::array<std::int64_t, 4> at;
  std::array<float, 4> weight;
};

// The rows beside a pixel that between() looks at: its position is within the pixel, and the four nearest
// centres are of its own row and those up to two away.
constexpr std::int64_t kBeside = 2;
constexpr std::int64_t kReadBytes = std::int64_t{1} << 20;

}  // namespace

// Of a signal that is shared.
struct Signal::Share {
  Share(const std::string& path, const io::ReadOptions& options, dist::Communicator& ranks_of_it)
      : ranks(ranks_of_it), file(path, options) {
    own.begin = file.height() * ranks.rank() / ranks.size();
    own.end = file.height() * (ranks.rank() + 1) / ranks.size();
    here.begin = std::max<std::int64_t>(own.begin - kBeside, 0);
    here.end = std::min(own.end + kBeside, file.height());
  }

  dist::Communicator& ranks;
  io::ImageReader file;
  Rows own, here;
  Survey seen;
};

Signal::Signal(const Tensor& picture) {
  if (picture.rank() != 3 || (picture.dtype() != DType::f32 && picture.dtype() != DType::u8) ||
      picture.numel() == 0)
    throw ShapeError(str("cannot fit a tensor of ", picture.dtype(), ' ', picture.shape()),
                     "a picture is f32 or u8 [height, width, channels] and not empty",
                     "read one with io::read_image()");
  const Tensor given = contiguous(picture.detach());
  samples_ = given.dtype() == DType::u8 ? with_visible_colours<std::uint8_t>(given)
                                        : with_visible_colours<float>(given);
  rows_ = samples_.size(0);
  bits_ = samples_.dtype() == DType::u8 || has_bytes(samples_) ? 8 : 16;
}

std::optional<Signal> Signal::shared(const std::string& path, const io::ReadOptions& options,
                                     dist::Communicator& ranks) {
  Signal signal;
  signal.share_ = std::make_shared<Share>(path, options, ranks);
  io::ImageReader& file = signal.share_->file;
  const Rows here = signal.share_->here;
  signal.rows_ = file.height();
  signal.samples_ = empty({here.end - here.begin, file.width(), file.channels()}, file.dtype());
  const bool has_u8 = file.dtype() == DType::u8;
  const std::int64_t row_bytes = file.width() * file.channels() * (has_u8 ? 1 : 4);
  const std::int64_t most = std::max<std::int64_t>(1, kReadBytes / row_bytes);
  bool is_of_bytes = true;
  Surveyor surveyor(file.height(), file.width(), file.channels(), file.dtype());
  // To the end, on every rank: damage is found by all before the first step.
  for (std::int64_t first = 0; first < file.height(); first += most) {
    const std::int64_t end = std::min(first + most, file.height());
    const Tensor rows = file.read_rows(end - first);
    if (has_u8 ? has_clear_pixel<std::uint8_t>(rows) : has_clear_pixel<float>(rows)) return std::nullopt;
    surveyor.add(
        rows, lines(rows, rows.shape(), file.width() * file.channels(), 1, [](std::int64_t i) { return i; }));
    is_of_bytes = is_of_bytes && (has_u8 || has_bytes(rows));
    const std::int64_t from = std::max(first, here.begin), to = std::min(end, here.end);
    if (from < to)
      slice(signal.samples_, 0, from - here.begin, to - here.begin)
          .assign(slice(rows, 0, from - first, to - first));
  }
  signal.share_->seen = surveyor.survey();
  signal.bits_ = is_of_bytes ? 8 : 16;
  return signal;
}

dist::Communicator* Signal::ranks() const { return share_ ? &share_->ranks : nullptr; }
const Survey* Signal::survey() const { return share_ ? &share_->seen : nullptr; }
Signal::Rows Signal::own() const { return share_ ? share_->own : Rows{0, rows_}; }
std::int64_t Signal::first_here() const { return share_ ? share_->here.begin : 0; }
bool Signal::is_here(std::int64_t first, std::int64_t count) const {
  return !share_ || (first >= share_->here.begin && first + count <= share_->here.end);
}

Signal Signal::sound(const Tensor& samples, std::int64_t rate) {
  if (samples.rank() != 2 || samples.dtype() != DType::f32 || samples.numel() == 0)
    throw ShapeError(str("cannot fit a tensor of ", samples.dtype(), ' ', samples.shape(), " as a sound"),
                     "a sound is f32 [frames, channels] and not empty", "read one with io::read_sound()");
  if (rate < 1)
    throw ConfigError(str("a sound cannot have ", rate, " frames a second"), "there is 1 or more",
                      "give the rate that it was recorded with");
  Signal signal;
  signal.samples_ = reshape(contiguous(samples.detach()), {samples.size(0), 1, samples.size(1)});
  signal.rows_ = samples.size(0);
  signal.rate_ = rate;
  const float* at = signal.samples_.data<float>();
  double peak = 0, squares = 0;
  for (std::int64_t i = 0; i < samples.numel(); ++i) {
    if (!std::isfinite(at[i]))
      throw Error("cannot fit a sound with a sample that is not a number",
                  str("frame ", i / samples.size(1), " holds ", at[i]), "check the source of the sound");
    peak = std::max(peak, std::abs(static_cast<double>(at[i])));
    squares += static_cast<double>(at[i]) * static_cast<double>(at[i]);
  }
  signal.peak_ = peak;
  signal.power_ = peak > 0 ? squares / static_cast<double>(samples.numel()) / (peak * peak) : 0;
  return signal;
}

Signal Signal::clip(const Tensor& frames, const std::vector<double>& seconds) {
  if (frames.rank() != 4 || frames.dtype() != DType::u8 || frames.numel() == 0 ||
      frames.size(0) != std::ssize(seconds))
    throw ShapeError(str("cannot fit a tensor of ", frames.dtype(), ' ', frames.shape(), " with ",
                         seconds.size(), " times"),
                     "a clip is u8 [frames, height, width, channels], not empty, with a time for each frame",
                     "read one with io::read_clip()");
  double all = 0;
  std::vector<double> times;
  for (const double each : seconds) {
    if (!(each > 0 && each <= 1e9))
      throw ConfigError(str("a frame cannot be shown for ", each, " seconds"), "its time is above 0",
                        "give each frame a time");
    times.push_back(all + each / 2);
    all += each;
  }
  for (double& time : times) time /= all;
  Signal signal(reshape(contiguous(frames.detach()),
                        {frames.size(0) * frames.size(1), frames.size(2), frames.size(3)}));
  signal.times_ = std::move(times);
  signal.seconds_ = all;
  return signal;
}

// As stored.
Tensor Signal::from_file(std::int64_t first, std::int64_t count) const {
  io::ImageReader& file = share_->file;
  if (first < file.next_row()) file.rewind();
  file.skip_rows(first - file.next_row());
  return file.read_rows(count);
}

Tensor Signal::read(std::int64_t first, std::int64_t count) const {
  const bool here = is_here(first, count);
  const std::int64_t from = here ? first - first_here() : 0;
  return lines(here ? samples_ : from_file(first, count), {count, columns(), channels()},
               columns() * channels(), peak_, [from](std::int64_t i) { return from + i; });
}

// Each point is 0 on all ranks but the one that has it, so that their sum is exact.
Tensor Signal::at(const Tensor& indices) const {
  const auto* index = indices.data<std::int64_t>();
  const Shape shape{indices.numel(), channels()};
  if (!share_) return lines(samples_, shape, channels(), peak_, [index](std::int64_t i) { return index[i]; });
  const std::int64_t width = columns(), begin = first_here() * width;
  const Rows own = share_->own;
  const Tensor out = lines(samples_, shape, channels(), peak_,
                           [=](std::int64_t i) { return own.has(index[i] / width) ? index[i] - begin : -1; });
  share_->ranks.all_reduce(out);
  return out;
}

double Signal::time_at(double frame) const {
  if (!is_clip()) return 0.5;
  const double at = std::clamp(frame, 0.0, static_cast<double>(frames() - 1));
  const auto first = static_cast<std::int64_t>(at), next = std::min(first + 1, frames() - 1);
  return std::lerp(time_of(first), time_of(next), at - static_cast<double>(first));
}

Tensor Signal::between(const double* positions, std::int64_t n, const double* frames) const {
  const Tensor out = zeros({n, channels()});
  const std::int64_t count = channels(), begin = first_here(), height = rows_a_frame();
  const Rows own = this->own();
  const auto read = [&](const auto* samples, float scale) {
    // Adds the levels of one frame, which begins with this row of the samples.
    const auto add = [&](const double* position, std::int64_t first_row, float share, float* to) {
      const BilinearTaps across(position[0], columns()), down(position[1], height);
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j) {
          const auto* pixel = samples + ((first_row + down.at[i]) * columns() + across.at[j]) * count;
          const float weight = share * down.weight[i] * across.weight[j];
          for (std::int64_t c = 0; c < count; ++c) to[c] += weight * level_of(pixel[c], scale);
        }
    };
    parallel_for(n, kSampleGrain / 16, [&](std::int64_t first, std::int64_t end) {
      for (std::int64_t p = first; p < end; ++p) {
        const double* const position = positions + 2 * p;
        float* const to = out.data<float>() + p * count;
        if (frames == nullptr) {
          if (!share_ || own.has(static_cast<std::int64_t>(std::floor(position[1]))))
            add(position, -begin, 1, to);
          continue;
        }
        const double at = std::clamp(frames[p], 0.0, static_cast<double>(this->frames() - 1));
        const auto frame = static_cast<std::int64_t>(at);
        const auto later = static_cast<float>(at - static_cast<double>(frame));
        add(position, frame * height, 1 - later, to);
        if (later > 0) add(position, (frame + 1) * height, later, to);
      }
    });
  };
  if (samples_.dtype() == DType::u8)
    read(samples_.data<std::uint8_t>(), 1);
  else
    read(samples_.data<float>(), peak_ > 0 ? static_cast<float>(1 / peak_) : 1.0f);
  if (share_) share_->ranks.all_reduce(out);
  return out;
}

double decibels(const Signal& signal, double mean_squared_error) {
  // Silence is drawn as silence, whatever the network's output: its peak is 0.
  if (signal.power() == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(signal.power() / mean_squared_error);
}

}  // namespace veldt::field
