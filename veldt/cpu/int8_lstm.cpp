// The steps of an LSTM of integers: the state becomes bytes, which are multiplied, and the cells read the
// sums while they lie in the cache, 16 elements of the state at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/int8_lstm.cpp"
#include "hwy/foreach_target.h"  // first: it includes this file again for each target

#include <algorithm>
#include <cstdint>
#include <memory>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/int8_bytes-inl.h"
#include "veldt/cpu/int8_weights.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/room.h"
#include "veldt/kernels/lstm-inl.h"

#ifndef VELDT_CPU_INT8_LSTM_TASK
#define VELDT_CPU_INT8_LSTM_TASK
namespace veldt::cpu {
namespace {

// Up to 16 elements of the state, for up to 32 rows of one step.
struct Int8Cells {
  const std::int32_t* sums;  // [2][32][32]: of the gates i and f, then g and o, each 16 columns
  Int8Finish finish;         // of these 64 columns
  Affine8 as;                // of the state's bytes
  std::int64_t rows, count, hidden;
  const float* inputs;  // the gates are `hidden` apart, rows 4 hidden
  float *cell, *out;    // rows hidden apart; cell: before, and then after
  std::uint8_t* bytes;  // of the state after
  std::int64_t bytes_row;
};

}  // namespace
}  // namespace veldt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = veldt::HWY_NAMESPACE::Lanes<float>;
constexpr hn::ScalableTag<float> kFloat;
static_assert(hn::MaxLanes(kFloat) <= kGateColumns);

void cells(const Int8Cells& s) {
  const hn::Rebind<std::uint8_t, decltype(kFloat)> d8;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(kFloat));
  using D = hn::ScalableTag<float>;
  const ToBytes<D> in_bytes(s.as);
  for (std::int64_t j = 0; j < s.count; j += lanes) {
    const std::int64_t n = std::min(lanes, s.count - j);
    const auto load = [&](const float* from) HWY_ATTR {
      return n == lanes ? Floats(hn::LoadU(kFloat, from))
                        : Floats::load_part(from, static_cast<std::size_t>(n));
    };
    const auto store = [&](Floats x, float* to) HWY_ATTR {
      if (n == lanes) return hn::StoreU(x.v, kFloat, to);
      x.store_part(to, static_cast<std::size_t>(n));
    };
    const auto columns = [&](std::int64_t k)
                             HWY_ATTR { return ColumnNumbers<D>(s.as, s.finish, k * kGateColumns + j); };
    const ColumnNumbers<D> i = columns(0), f = columns(1), g = columns(2), o = columns(3);
    for (std::int64_t r = 0; r < s.rows; ++r) {
      // What a gate's function is given: its input, and its sum of integers as a number.
      const auto gate = [&](std::int64_t k, const ColumnNumbers<D>& numbers) HWY_ATTR {
        const std::int64_t column = (k * kGateColumns + j) % kInt8Block;
        const std::int32_t* const c = s.sums + (k / 2 * kInt8Block + r) * kInt8Block + column;
        return load(s.inputs + (4 * r + k) * s.hidden + j) + Floats(numbers(c));
      };
      const auto y = veldt::HWY_NAMESPACE::lstm_gates(
          veldt::HWY_NAMESPACE::LstmGates<Floats>{gate(0, i), gate(1, f), gate(2, g), gate(3, o)});
      const std::int64_t at = r * s.hidden + j;
      const Floats c = veldt::HWY_NAMESPACE::lstm_cell(y, load(s.cell + at)),
                   h = veldt::HWY_NAMESPACE::lstm_output(y, c);
      store(c, s.cell + at);
      store(h, s.out + at);
      // Weights beyond the last element are 0.
      hn::StoreU(in_bytes(h.v), d8, s.bytes + r * s.bytes_row + j);
    }
  }
}

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(cells);

constexpr std::int64_t kGates = 4;

class Int8Lstm {
 public:
  // All as core/entries.inc has them.
  Int8Lstm(const QuantizedConv& layer, bool reverse, const View& inputs, const View& w, const View& scale,
           const View* bias, const View& input, const View& out, const View& cell)
      : time_(inputs.shape[0]),
        n_(inputs.shape[1]),
        hidden_(w.shape[1]),
        chunks_((hidden_ + kGateColumns - 1) / kGateColumns),
        reverse_(reverse),
        inputs_(inputs.as<const float>()),
        out_(out.as<float>()),
        cell_(cell.as<float>()),
        as_{input.as<const float>()[0], input.as<const float>()[1]},
        kernels_(int8_kernels(hidden_)) {
    const View rows{nullptr, DType::u8, {n_, hidden_}, {hidden_, 1}},
        sums{nullptr, DType::f32, {n_, kGates * hidden_}, {kGates * hidden_, 1}};
    const ConvSizes sizes({.dims = 0}, ConvViews(ConvPart::output, rows, w, sums));
    weights_ = kept_weights(layer, sizes, {&kernels_, 1, true}, w, scale, bias);
  }

  void run(const float* h) {
    const std::int64_t blocks = (n_ + kInt8Block - 1) / kInt8Block, threads = threads_here();
    const double of_a_step = 2.0 * static_cast<double>(n_ * kGates * hidden_) * static_cast<double>(hidden_);
    constexpr std::int64_t kLeastRows = 4;  // of a thread
    constexpr double kShared = 1 << 20;     // operations of a step that threads should share
    constexpr double kSmallWork = 1 << 18;  // of all steps, which no second thread is worth
    if (threads > 1 && n_ < kLeastRows * threads && of_a_step >= kShared) return run_together(h, blocks);
    const bool alone = of_a_step * static_cast<double>(time_) < kSmallWork;
    parallel_for(n_, alone ? n_ : even_grain(n_, kInt8Block, kLeastRows),
                 [&](std::int64_t begin, std::int64_t end) {
                   thread_local Room<std::uint8_t> room;
                   std::uint8_t* const bytes = room.of(room_of(1), kWhat);
                   kernels_.begin();
                   for (; begin < end; begin += kInt8Block) {
                     Rows rows = rows_of(begin, std::min(kInt8Block, end - begin), h, bytes);
                     for (std::int64_t step = 0; step < time_; ++step) {
                       const Int8Terms terms = terms_of(rows);
                       for (std::int64_t i = 0; i < chunks_; ++i) chunk(step, rows, terms, i);
                       std::swap(rows.now, rows.next);
                     }
                   }
                   kernels_.end();
                 });
  }

 private:
  static constexpr const char* kWhat = "the steps of an LSTM of integers";

  // Rows of the batch, and their states as bytes: of the step before, and of this one.
  struct Rows {
    std::int64_t first, count;
    std::uint8_t *now, *next;
  };
  std::int64_t room_of(std::int64_t blocks) const { return 2 * blocks * kInt8Block * weights_->depth; }

  Rows rows_of(std::int64_t first, std::int64_t count, const float* h, std::uint8_t* bytes) const {
    const std::int64_t depth = weights_->depth;
    std::fill_n(bytes, room_of(1), std::uint8_t{0});
    for (std::int64_t r = 0; r < count; ++r)
      to_bytes(h + (first + r) * hidden_, hidden_, as_, bytes + r * depth);
    return {first, count, bytes, bytes + kInt8Block * depth};
  }

  Int8Terms terms_of(const Rows& rows) const {
    Int8Terms terms{rows.now, weights_->depth, rows.count};
    weights_->widen(terms);
    return terms;
  }

  // Elements 16 `i` .. of the state after a step.
  void chunk(std::int64_t step, const Rows& rows, const Int8Terms& terms, std::int64_t i) const {
    const std::int64_t j = i * kGateColumns, at = kGates * j,
                       row = (reverse_ ? time_ - 1 - step : step) * n_ + rows.first;
    const float* const inputs = inputs_ + row * kGates * hidden_ + j;
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t gate = 0; gate < kGates; ++gate)
        hwy::Prefetch(inputs + (r * kGates + gate) * hidden_);
    alignas(64) std::int32_t sums[2 * kInt8Block * kInt8Block];
    weights_->multiply(terms, at, kInt8Block, sums);
    weights_->multiply(terms, at + kInt8Block, kInt8Block, sums + kInt8Block * kInt8Block);
    VELDT_DISPATCH(cells)
    ({sums, weights_->finish(at, 0, 0), as_, rows.count, std::min(kGateColumns, hidden_ - j), hidden_, inputs,
      cell_ + rows.first * hidden_ + j, out_ + row * hidden_ + j, rows.next + j, weights_->depth});
  }

  // Too few rows for the threads: they do each step together, by elements.
  void run_together(const float* h, std::int64_t blocks) const {
    thread_local Room<std::uint8_t> room;
    std::uint8_t* const bytes = room.of(room_of(blocks), kWhat);
    std::vector<Rows> all;
    for (std::int64_t b = 0; b < blocks; ++b)
      all.push_back(
          rows_of(b * kInt8Block, std::min(kInt8Block, n_ - b * kInt8Block), h, bytes + b * room_of(1)));
    const std::int64_t tasks = blocks * chunks_;
    for (std::int64_t step = 0; step < time_; ++step) {
      parallel_for(tasks, even_grain(tasks, tasks, 1), [&](std::int64_t begin, std::int64_t end) {
        kernels_.begin();
        Int8Terms terms{};
        for (std::int64_t i = begin; i < end; ++i) {
          const Rows& rows = all[static_cast<std::size_t>(i / chunks_)];
          if (i == begin || i % chunks_ == 0) terms = terms_of(rows);
          chunk(step, rows, terms, i % chunks_);
        }
        kernels_.end();
      });
      for (Rows& rows : all) std::swap(rows.now, rows.next);
    }
  }

  std::int64_t time_, n_, hidden_, chunks_;
  bool reverse_;
  const float* inputs_;
  float *out_, *cell_;
  Affine8 as_;
  const Int8Kernels& kernels_;
  std::shared_ptr<const PackedInt8> weights_;
};

}  // namespace

void lstm_quantized(const QuantizedConv& layer, bool reverse, const View& inputs, const View& w,
                    const View& scale, const View* bias, const View& input, const View& h, const View& c,
                    const View& out, const View& cell) {
  std::copy_n(c.as<const float>(), numel(c.shape), cell.as<float>());
  if (numel(out.shape) == 0) return;
  Int8Lstm(layer, reverse, inputs, w, scale, bias, input, out, cell).run(h.as<const float>());
}

}  // namespace veldt::cpu
#endif
