// Layers of integers: the input becomes bytes, windows become rows, blocks of sums are multiplied, and become
// numbers again while they lie in the cache.
#include "veldt/core/quantized.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "veldt/core/threads.h"
#include "veldt/cpu/int8_loops.h"
#include "veldt/cpu/int8_product.h"
#include "veldt/cpu/int8_weights.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/room.h"

namespace veldt::cpu {
namespace {

constexpr const char* kOfIntegers = "a layer of integers";

std::int64_t grain_for(std::int64_t elements) {
  return std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, elements));
}

// Sixteen bytes at a time, so up to 15 more than `count` where those may be read, before `end`; the next
// copy, or weights of 0, are for what they overwrite.
void copy_bytes(std::uint8_t* to, const std::uint8_t* from, std::int64_t count, const std::uint8_t* end) {
  if (from + count + 15 > end) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (std::int64_t i = 0; i < count; i += 16) std::memcpy(to + i, from + i, 16);
}

// The input as bytes, with the padding around it: [example][position][channel], and the rows that its windows
// are. In place, or gathered.
class InputBytes {
 public:
  // `depth`: of a row, filled up.
  InputBytes(const ConvSizes& sizes, std::int64_t depth, const View& x, const View* input)
      : sizes_(sizes), depth_(depth), channels_(sizes.groups * sizes.c_in), pitch_(channels_) {
    bool pads = false;
    for (int d = 0; d < 3; ++d) {
      const std::int64_t read =
          (sizes.out[d] - 1) * sizes.stride[d] + (sizes.kernel[d] - 1) * sizes.dilation[d] + 1;
      pads = pads || sizes.padding[d] > 0 || read > sizes.in[d];
      size_[d] = read;
    }
    if (!pads) std::copy_n(sizes.in, 3, size_);
    pointwise_ = sizes.groups == 1 && sizes.taps() == 1 && !pads && sizes.outputs() == sizes.inputs();
    affine_.resize(static_cast<std::size_t>(sizes.batch));
    find_affine(x, input);
    if (x.dtype == DType::u8 && !pads) {
      data_ = x.as<const std::uint8_t>();
      rows_ = sizes.batch * sizes.inputs();
      end_ = data_ + rows_ * channels_;
    } else {
      fill(x);
    }
    joins_ = sizes.groups == 1 && sizes.dilation[2] == 1 && pitch_ == channels_;
    for (std::int64_t a = 0; a < sizes.kernel[0]; ++a)
      for (std::int64_t b = 0; b < sizes.kernel[1]; ++b)
        for (std::int64_t c = 0; c < (joins_ ? 1 : sizes.kernel[2]); ++c)
          runs_.push_back(position(a * sizes.dilation[0], b * sizes.dilation[1], c * sizes.dilation[2]) *
                          pitch_);
  }

  Affine8 affine(std::int64_t example) const { return affine_[static_cast<std::size_t>(example)]; }
  // Where each run of bytes of a window begins, from its first one on; a run is a tap, or a row of them.
  const std::vector<std::int64_t>& runs() const { return runs_; }

  // An output, and what it reads first.
  struct Place {
    std::int64_t example, at[3];
  };
  Place place_of(std::int64_t row) const {
    Place p{row / sizes_.outputs(), {}};
    std::int64_t rest = row % sizes_.outputs();
    for (int d = 2; d >= 0; --d) p.at[d] = rest % sizes_.out[d], rest /= sizes_.out[d];
    return p;
  }
  void advance(Place& p) const {
    for (int d = 2; d >= 0; --d) {
      if (++p.at[d] < sizes_.out[d]) return;
      p.at[d] = 0;
    }
    ++p.example;
  }
  const std::uint8_t* first_of(const Place& p) const {
    const std::int64_t at =
        position(p.at[0] * sizes_.stride[0], p.at[1] * sizes_.stride[1], p.at[2] * sizes_.stride[2]);
    return data_ + (p.example * size_[0] * size_[1] * size_[2] + at) * pitch_;
  }

  // The rows of the block that begins at `first`, 32 of them to be read.
  const std::uint8_t* rows_at(std::int64_t first, std::int64_t count, std::int64_t group,
                              std::int64_t* stride) const {
    *stride = depth_;
    if (pointwise_ && pitch_ == depth_ && first + kInt8Block <= rows_) return data_ + first * pitch_;
    thread_local Room<std::uint8_t> room;
    std::uint8_t* const rows = room.of(kInt8Block * depth_ + 16, kOfIntegers);
    const std::int64_t run = sizes_.c_in * (joins_ ? sizes_.kernel[2] : 1);
    Place p = place_of(first);
    for (std::int64_t r = 0; r < count; ++r, advance(p)) {
      std::uint8_t* to = rows + r * depth_;
      // Weights there are 0, but for those of the terms, which are written next.
      std::memset(to + depth_ - kInt8Depth, 0, kInt8Depth);
      const std::uint8_t* const from = first_of(p) + group * sizes_.c_in;
      for (const std::int64_t at : runs_) {
        copy_bytes(to, from + at, run, end_);
        to += run;
      }
    }
    if (count < kInt8Block)
      std::memset(rows + count * depth_, 0, static_cast<std::size_t>((kInt8Block - count) * depth_));
    return rows;
  }

 private:
  std::int64_t position(std::int64_t z, std::int64_t y, std::int64_t x) const {
    return (z * size_[1] + y) * size_[2] + x;
  }

  void find_affine(const View& x, const View* input) {
    if (input) {
      const auto* const given = input->as<const float>();
      std::fill(affine_.begin(), affine_.end(), Affine8{given[0], given[1]});
      return;
    }
    const std::int64_t count = sizes_.inputs() * channels_;
    parallel_for(sizes_.batch, grain_for(count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t e = begin; e < end; ++e) {
        float low, high;
        range_of_numbers(x.as<const float>() + e * count, count, &low, &high);
        affine_[static_cast<std::size_t>(e)] = affine8_of(low, high);
      }
    });
  }

  // Bytes of x, and the zero point around them.
  void fill(const View& x) {
    if (pointwise_) pitch_ = rounded_up(channels_, kInt8Depth);
    const std::int64_t lines = sizes_.batch * size_[0] * size_[1], width = size_[2] * pitch_;
    rows_ = rounded_up(lines * size_[2], kInt8Block);
    thread_local Room<std::uint8_t> room;
    std::uint8_t* const to = room.of(rows_ * pitch_ + 16, kOfIntegers);
    data_ = to;
    end_ = to + rows_ * pitch_ + 16;
    std::memset(to + lines * width, 0, static_cast<std::size_t>(rows_ * pitch_ + 16 - lines * width));
    const std::int64_t left = sizes_.padding[2],
                       whole = std::max<std::int64_t>(0, std::min(sizes_.in[2], size_[2] - left));
    parallel_for(lines, grain_for(width), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t e = i / (size_[0] * size_[1]), z = i / size_[1] % size_[0] - sizes_.padding[0],
                           y = i % size_[1] - sizes_.padding[1];
        const Affine8 as = affine(e);
        std::uint8_t* const line = to + i * width;
        const bool inside = z >= 0 && z < sizes_.in[0] && y >= 0 && y < sizes_.in[1];
        if (!inside || whole < size_[2] || pitch_ > channels_)
          std::memset(line, static_cast<int>(as.zero), static_cast<std::size_t>(width));
        if (inside)
          copy_line(x, (((e * sizes_.in[0] + z) * sizes_.in[1] + y) * sizes_.in[2]) * channels_, whole, as,
                    line + left * pitch_);
      }
    });
  }
  void copy_line(const View& x, std::int64_t from, std::int64_t count, Affine8 as, std::uint8_t* to) const {
    if (x.dtype == DType::u8) {
      std::memcpy(to, x.as<const std::uint8_t>() + from, static_cast<std::size_t>(count * channels_));
    } else if (pitch_ == channels_) {
      to_bytes(x.as<const float>() + from, count * channels_, as, to);
    } else {
      for (std::int64_t i = 0; i < count; ++i)
        to_bytes(x.as<const float>() + from + i * channels_, channels_, as, to + i * pitch_);
    }
  }

  const ConvSizes& sizes_;
  std::int64_t depth_, channels_, pitch_;
  std::int64_t size_[3];  // with the padding
  bool pointwise_ = false, joins_ = false;
  const std::uint8_t *data_ = nullptr, *end_ = nullptr;  // the bytes that may be read
  std::int64_t rows_ = 0;                                // positions that may be
  std::vector<Affine8> affine_;                          // of each example
  std::vector<std::int64_t> runs_;
};

class QuantizedCall {
 public:
  QuantizedCall(const QuantizedConv& layer, const View& x, const View& w, const View& scale, const View* bias,
                const View* input, const View* output, const View& out)
      : layer_(layer),
        plain_(layer.layout, ConvViews(ConvPart::output, x, w, out)),
        kernels_(int8_kernels(plain_.depth())),
        sizes_(joined(plain_, best_joined(plain_, kernels_))),
        output_(output),
        out_(out),
        weights_(kept_weights(layer, plain_, {&kernels_, sizes_.c_out / plain_.c_out}, w, scale, bias)),
        input_(sizes_, weights_->depth, x, input) {}

  void run() {
    if (weights_->depthwise) return run_depthwise();
    const std::int64_t rows = sizes_.batch * sizes_.outputs(), blocks = (rows + kInt8Block - 1) / kInt8Block;
    const std::int64_t panels = weights_->columns / kInt8Block, threads = threads_here();
    // Few rows leave the columns to the threads.
    const std::int64_t parts =
        threads == 1 || blocks >= 2 * threads
            ? 1
            : std::min(panels, (2 * threads + blocks * sizes_.groups - 1) / (blocks * sizes_.groups));
    const std::int64_t tasks = blocks * sizes_.groups * parts;
    constexpr double kSmallWork = 1 << 18;  // operations that no second thread is worth
    parallel_for(tasks, plain_.flops() < kSmallWork ? tasks : 1, [&](std::int64_t begin, std::int64_t end) {
      kernels_.begin();
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t part = i % parts, group = i / parts % sizes_.groups;
        block(i / (parts * sizes_.groups) * kInt8Block, group, part * panels / parts,
              (part + 1) * panels / parts);
      }
      kernels_.end();
    });
  }

 private:
  // Sums of `rows` from the row `first` on: from `column` of all channels, `at` of the packed ones.
  void finish(const std::int32_t* c, std::int64_t first, std::int64_t rows, const Affine8* affine,
              std::int64_t column, std::int64_t at, std::int64_t columns) const {
    const Int8Finish f = weights_->finish(at, layer_.low, layer_.high);
    const std::int64_t channels = sizes_.groups * sizes_.c_out, to = first * channels + column;
    const Int8Rows sums{c, rows, columns, affine};
    if (!output_) return finish_numbers(sums, f, out_.as<float>() + to, channels);
    const auto* const as = output_->as<const float>();
    finish_bytes(sums, f, {as[0], as[1]}, out_.as<std::uint8_t>() + to, channels);
  }

  void block(std::int64_t first, std::int64_t group, std::int64_t panel, std::int64_t end) const {
    const std::int64_t count = std::min(kInt8Block, sizes_.batch * sizes_.outputs() - first);
    std::int64_t stride;
    const std::uint8_t* const rows = input_.rows_at(first, count, group, &stride);
    Affine8 affine[kInt8Block];
    for (std::int64_t r = 0; r < count; ++r) affine[r] = input_.affine((first + r) / sizes_.outputs());
    alignas(64) std::int32_t sums[kInt8Block * kInt8Block];
    Int8Terms terms{rows, stride, count};
    weights_->widen(terms);
    for (; panel < end; ++panel) {
      const std::int64_t j = panel * kInt8Block, at = group * weights_->columns + j,
                         columns = std::min(kInt8Block, sizes_.c_out - j);
      weights_->multiply(terms, at, columns, sums);
      finish(sums, first, count, affine, group * sizes_.c_out + j, at, columns);
    }
  }

  void run_depthwise() const {
    const std::int64_t channels = sizes_.groups, taps = sizes_.taps();
    const auto rows = [&](std::int64_t begin, std::int64_t end) {
      std::vector<const std::uint8_t*> from(static_cast<std::size_t>(taps));
      std::vector<std::int32_t> sums(static_cast<std::size_t>(rounded_up(channels, kInt8Block)));
      InputBytes::Place p = input_.place_of(begin);
      for (std::int64_t row = begin; row < end; ++row, input_.advance(p)) {
        const Affine8 affine = input_.affine(p.example);
        const std::uint8_t* const first = input_.first_of(p);
        for (std::size_t t = 0; t < from.size(); ++t) from[t] = first + input_.runs()[t];
        depthwise_sums(from.data(), weights_->panels.data(), taps, channels, sums.data());
        finish(sums.data(), row, 1, &affine, 0, 0, channels);
      }
    };
    parallel_for(sizes_.batch * sizes_.outputs(), grain_for(taps * channels), rows);
  }

  const QuantizedConv& layer_;
  ConvSizes plain_;
  const Int8Kernels& kernels_;
  ConvSizes sizes_;  // plain_, with outputs joined
  const View* output_;
  const View& out_;
  std::shared_ptr<const PackedInt8> weights_;
  InputBytes input_;
};

}  // namespace

bool multiplies_integers() { return true; }
bool steps_integers() { return true; }

void convolve_quantized(const QuantizedConv& layer, const View& x, const View& w, const View& scale,
                        const View* bias, const View* input, const View* output, const View& out) {
  if (numel(out.shape) == 0) return;
  QuantizedCall(layer, x, w, scale, bias, input, output, out).run();
}

namespace {

template <class Q>
void multiply_by(const View& x, const View& w, const View& scale, const View* bias, const View& out) {
  const std::int64_t m = x.shape[0], k = x.shape[1], n = out.shape[1], row = w.shape[1],
                     scales_row = scale.shape.rank() == 2 ? scale.shape[1] : 1;
  const auto* const integers = w.as<const Q>();
  const auto *const scales = scale.as<const float>(), *const added = bias ? bias->as<const float>() : nullptr;
  auto* const to = out.as<float>();
  constexpr std::int64_t kFewRows = 8;  // for more, decoding once and a product of floats is faster
  if (m <= kFewRows) {
    const std::int64_t most = std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, k));
    return parallel_for(n, even_grain(n, most, 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t j = begin; j < end; ++j) {
        narrow_dots(x.as<const float>(), k, m, integers + j * row, scales + j * scales_row, k, to + j, n);
        for (std::int64_t r = 0; added && r < m; ++r) to[r * n + j] += added[j];
      }
    });
  }
  constexpr std::int64_t kColumns = 256;
  thread_local Room<float> room;
  float* const numbers = room.of(std::min(n, kColumns) * k, kOfIntegers);
  for (std::int64_t j = 0; j < n; j += kColumns) {
    const std::int64_t count = std::min(kColumns, n - j);
    parallel_for(count, 8, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        decode_row(integers + (j + i) * row, scales + (j + i) * scales_row, k, numbers + i * k);
    });
    View b{};
    if (added) b = {const_cast<float*>(added + j), DType::f32, {1, m, count}, {0, 0, 1}};
    matmul({x.data, DType::f32, {1, m, k}, {0, k, 1}}, {numbers, DType::f32, {1, k, count}, {0, 1, k}},
           added ? &b : nullptr, {to + j, DType::f32, {1, m, count}, {0, n, 1}});
  }
}

}  // namespace

void multiply_narrow(const View& x, const View& w, const View& scale, const View* bias, const View& out) {
  if (numel(out.shape) == 0) return;
  w.dtype == DType::i8 ? multiply_by<std::int8_t>(x, w, scale, bias, out)
                       : multiply_by<std::uint8_t>(x, w, scale, bias, out);
}

}  // namespace veldt::cpu
