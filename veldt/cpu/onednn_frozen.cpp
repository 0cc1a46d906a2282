// Convolutions whose weights never change, by oneDNN: with channels last, what follows fused, the weights in
// oneDNN's own order since the first call.
#include "veldt/cpu/onednn.h"

// Not on ARM: without Arm's Compute Library, and Debian's is, oneDNN has only slow ones there.
#if VELDT_HAVE_ONEDNN && !defined(__aarch64__)
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "veldt/core/threads.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/onednn_call.h"

namespace veldt::cpu {
namespace {

using dnnl::memory;

constexpr auto kF32 = memory::data_type::f32;
constexpr double kSmall = 1 << 18;    // operations that take about as long as waking a thread
constexpr int kRow = 1, kColumn = 2;  // of three dimensions, of which the first has a size of 1

// Neighbouring rows of one example's result, from the rows of x that they read. Of a 1x1 kernel that takes
// every pixel, each pixel is a row.
struct Rows {
  ConvSizes sizes;
  std::int64_t x = 0, y = 0;  // elements before it in the example

  static ConvSizes one_example(ConvSizes s) {
    s.batch = 1;
    const bool pixels = s.groups == 1 && s.taps() == 1 && s.stride[kRow] == 1 && s.stride[kColumn] == 1 &&
                        s.inputs() == s.outputs() && s.padding[kRow] == 0 && s.padding[kColumn] == 0;
    if (pixels) {
      s.in[kRow] = s.out[kRow] = s.inputs();
      s.in[kColumn] = s.out[kColumn] = 1;
    }
    return s;
  }

  Rows(const ConvSizes& example, std::int64_t begin, std::int64_t end) : sizes(example) {
    const std::int64_t stride = sizes.stride[kRow], padding = sizes.padding[kRow];
    const std::int64_t reach = sizes.dilation[kRow] * (sizes.kernel[kRow] - 1) + 1;
    const std::int64_t first = std::max<std::int64_t>(0, begin * stride - padding);
    const std::int64_t last = std::min(sizes.in[kRow], (end - 1) * stride - padding + reach);
    sizes.in[kRow] = last - first;
    sizes.out[kRow] = end - begin;
    sizes.padding[kRow] = padding + first - begin * stride;
    x = first * example.in[kColumn] * example.groups * example.c_in;
    y = begin * example.out[kColumn] * example.groups * example.c_out;
  }

  // The padding behind, along both dimensions; at most minus a stride is unread.
  memory::dims after() const {
    memory::dims out;
    for (const int d : {kRow, kColumn})
      out.push_back((sizes.out[d] - 1) * sizes.stride[d] + sizes.dilation[d] * (sizes.kernel[d] - 1) + 1 -
                    sizes.in[d] - sizes.padding[d]);
    return out;
  }
  // What oneDNN would report as an error.
  bool fits() const {
    constexpr std::int64_t kMost = 1 << 24;
    const memory::dims behind = after();
    for (const int d : {kRow, kColumn}) {
      const std::int64_t beyond = behind[static_cast<std::size_t>(d - kRow)];
      if (sizes.in[d] < 1 || sizes.padding[d] < 0 || beyond + sizes.stride[d] <= 0 ||
          std::max({sizes.stride[d], sizes.dilation[d], sizes.padding[d], beyond}) > kMost)
        return false;
    }
    const std::int64_t channels = sizes.groups * std::max(sizes.c_in, sizes.c_out);
    return static_cast<double>(channels) *
               static_cast<double>(std::max({sizes.inputs(), sizes.outputs(), sizes.depth()})) <
           static_cast<double>(std::numeric_limits<std::int32_t>::max() / 4);
  }
};

memory::dims along_both(const std::int64_t (&numbers)[3], std::int64_t less = 0) {
  return {numbers[kRow] - less, numbers[kColumn] - less};
}

// One primitive, and its arguments for each thread that has ever run it while others did.
class Piece {
 public:
  Piece(const FrozenConv& c, const Rows& rows, bool biased, bool adds)
      : sizes_(rows.sizes), biased_(biased), adds_(adds) {
    const ConvSizes& s = sizes_;
    const auto layout = memory::format_tag::nhwc;
    const memory::desc x({1, s.groups * s.c_in, s.in[kRow], s.in[kColumn]}, kF32, layout);
    const memory::desc y({1, s.groups * s.c_out, s.out[kRow], s.out[kColumn]}, kF32, layout);
    const memory::desc w(weight_sizes(), kF32, memory::format_tag::any);
    const memory::desc bias =
        biased ? memory::desc({s.groups * s.c_out}, kF32, memory::format_tag::a) : memory::desc();
    dnnl::post_ops after;
    if (adds) after.append_binary(dnnl::algorithm::binary_add, y);
    constexpr float kMost = std::numeric_limits<float>::max();
    if (c.low == 0 && c.high > kMost)
      onednn::append(after, dnnl::algorithm::eltwise_relu, 0, 0);
    else if (std::isfinite(c.low) || std::isfinite(c.high))
      onednn::append(after, dnnl::algorithm::eltwise_clip,
                     static_cast<float>(std::max<double>(c.low, -kMost)),
                     static_cast<float>(std::min<double>(c.high, kMost)));
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attributes.set_post_ops(after);
    plan_ = onednn::plan_of<dnnl::convolution_forward>(
        attributes,
        std::tuple(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, x, w, bias, y,
                   along_both(s.stride), along_both(s.dilation, 1), along_both(s.padding), rows.after()));
    // Its plain reference is no kernel.
    if (std::string_view(plan_.impl_info_str()).starts_with("ref")) return;
    primitive_ = dnnl::convolution_forward(plan_);
    scratch_bytes_ = plan_.scratchpad_desc().get_size();
    served_ = true;
  }

  const ConvSizes& sizes() const { return sizes_; }
  bool adds() const { return adds_; }
  bool served() const { return served_; }  // false: oneDNN has no kernel for it
  memory::dims weight_sizes() const {
    memory::dims sizes = {sizes_.c_out, sizes_.c_in, sizes_.kernel[kRow], sizes_.kernel[kColumn]};
    if (sizes_.groups > 1) sizes.insert(sizes.begin(), sizes_.groups);
    return sizes;
  }
  memory::desc weight_order() const { return plan_.weights_desc(); }
  const std::shared_ptr<memory>& weights() const { return weights_; }
  void set_weights(std::shared_ptr<memory> w) { weights_ = std::move(w); }

  void run(const float* x, const float* bias, const float* added, float* y) {
    const auto point = [](const memory& m, const void* data) { onednn::point(m, const_cast<void*>(data)); };
    Arguments arguments = take();
    point(arguments.at(DNNL_ARG_SRC), x);
    point(arguments.at(DNNL_ARG_DST), y);
    point(arguments.at(DNNL_ARG_SCRATCHPAD), onednn::scratch(scratch_bytes_));
    if (biased_) point(arguments.at(DNNL_ARG_BIAS), bias);
    if (adds_) point(arguments.at(kAdded), added);
    primitive_.execute(onednn::stream(), arguments);
    onednn::stream().wait();
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(arguments));
  }

 private:
  using Arguments = std::unordered_map<int, memory>;
  static constexpr int kAdded = DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1;

  Arguments take() {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        Arguments out = std::move(free_.back());
        free_.pop_back();
        return out;
      }
    }
    Arguments out = {{DNNL_ARG_WEIGHTS, *weights_}};
    const auto add = [&](int argument, const memory::desc& desc) {
      out.emplace(argument, memory(desc, onednn::engine(), nullptr));
    };
    add(DNNL_ARG_SRC, plan_.src_desc());
    add(DNNL_ARG_DST, plan_.dst_desc());
    add(DNNL_ARG_SCRATCHPAD, plan_.scratchpad_desc());
    if (biased_) add(DNNL_ARG_BIAS, plan_.bias_desc());
    if (adds_) add(kAdded, plan_.dst_desc());
    return out;
  }

  ConvSizes sizes_;
  bool biased_, adds_, served_ = false;
  dnnl::convolution_forward::primitive_desc plan_;
  dnnl::convolution_forward primitive_;
  std::size_t scratch_bytes_ = 0;
  std::shared_ptr<memory> weights_;
  std::mutex mutex_;
  std::vector<Arguments> free_;
};

// All that is kept of one convolution: the last pieces that ran, and their weights, in at most two orders.
class Pieces {
 public:
  std::shared_ptr<Piece> get(const FrozenConv& c, const Rows& rows, const float* w, bool biased, bool adds) {
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const std::shared_ptr<Piece>& p) {
      return p->sizes() == rows.sizes && p->adds() == adds;
    });
    if (found != kept_.end()) {
      std::rotate(kept_.begin(), found, found + 1);
      return kept_.front();
    }
    auto made = std::make_shared<Piece>(c, rows, biased, adds);
    if (made->served()) made->set_weights(weights_for(*made, w));
    constexpr std::size_t kMost = 16;
    if (kept_.size() == kMost) kept_.pop_back();
    kept_.insert(kept_.begin(), made);
    return made;
  }

 private:
  std::shared_ptr<memory> weights_for(const Piece& piece, const float* w) {
    const memory::desc wanted = piece.weight_order();
    std::vector<std::shared_ptr<memory>> orders;
    for (const std::shared_ptr<Piece>& p : kept_) {
      if (!p->served()) continue;
      if (p->weights()->get_desc() == wanted) return p->weights();
      if (std::find(orders.begin(), orders.end(), p->weights()) == orders.end())
        orders.push_back(p->weights());
    }
    if (orders.size() > 1) kept_.clear();
    const auto plain = piece.sizes().groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw;
    const memory from({piece.weight_sizes(), kF32, plain}, onednn::engine(), const_cast<float*>(w));
    const std::size_t bytes = wanted.get_size();
    const std::shared_ptr<void> room(allocate(bytes), [bytes](void* p) { deallocate(p, bytes); });
    const auto to = std::shared_ptr<memory>(new memory(wanted, onednn::engine(), room.get()),
                                            [room](const memory* m) { delete m; });
    dnnl::reorder(from, *to).execute(onednn::stream(), const_cast<memory&>(from), *to);
    onednn::stream().wait();
    return to;
  }

  std::vector<std::shared_ptr<Piece>> kept_;  // the last one used first
};

// How an example is cut: not at all if each thread has an example of its own.
std::int64_t cuts_of(const ConvSizes& whole, const ConvSizes& example) {
  const std::int64_t threads = threads_here(), rows = example.out[kRow];
  if (threads == 1 || whole.flops() < kSmall || whole.batch % threads == 0 || whole.batch >= 4 * threads)
    return 1;
  // Several for each thread, if each is long, so that one that is held up does not keep the others waiting.
  constexpr double kLong = 1 << 24;
  constexpr std::int64_t kRows = 8;
  const auto more = std::min<std::int64_t>(
      {4, static_cast<std::int64_t>(whole.flops() / kLong) / threads, rows / (kRows * threads)});
  return std::min(rows, threads * std::max<std::int64_t>(1, more));
}

}  // namespace

// What oneDNN 2.6 adds to a result is wrong in its kernels for SSE4.1.
bool onednn_freezes() {
  static const bool has_avx2 =
      (static_cast<int>(dnnl::get_effective_cpu_isa()) & static_cast<int>(dnnl::cpu_isa::avx2)) ==
      static_cast<int>(dnnl::cpu_isa::avx2);
  return has_avx2;
}

bool onednn_convolve_frozen(const FrozenConv& convolution, const ConvSizes& sizes, const float* x,
                            const float* w, const float* bias, const float* added, float* y) {
  const ConvSizes example = Rows::one_example(sizes);
  if (sizes.c_in == 0 || sizes.c_out == 0 || sizes.in[0] != 1 || sizes.kernel[0] != 1) return false;
  const std::int64_t x_step = sizes.groups * sizes.c_in * sizes.inputs(),
                     y_step = sizes.groups * sizes.c_out * sizes.outputs();
  struct Part {
    std::shared_ptr<Piece> piece;
    std::int64_t x, y;
  };
  std::vector<Part> parts;
  try {
    const auto make = [&](std::int64_t cuts) {
      const onednn::OneThread alone;
      const std::scoped_lock lock(convolution.kept->mutex);
      if (!convolution.kept->made) convolution.kept->made = std::make_shared<Pieces>();
      Pieces& pieces = *static_cast<Pieces*>(convolution.kept->made.get());
      parts.clear();
      for (std::int64_t i = 0; i < cuts; ++i) {
        const std::int64_t all = example.out[kRow];
        const Rows rows(example, i * all / cuts, (i + 1) * all / cuts);
        if (!rows.fits()) return false;
        parts.push_back(
            {pieces.get(convolution, rows, w, bias != nullptr, added != nullptr), rows.x, rows.y});
        if (!parts.back().piece->served()) return false;
      }
      return true;
    };
    const std::int64_t cuts = cuts_of(sizes, example);
    if (!make(cuts) && (cuts == 1 || !make(1))) return false;
    const auto count = static_cast<std::int64_t>(parts.size()), all = sizes.batch * count;
    parallel_for(all, sizes.flops() < kSmall ? all : 1, [&](std::int64_t begin, std::int64_t end) {
      const onednn::OneThread alone;
      for (std::int64_t i = begin; i < end; ++i) {
        const Part& part = parts[static_cast<std::size_t>(i % count)];
        const std::int64_t at = i / count * y_step + part.y;
        part.piece->run(x + i / count * x_step + part.x, bias, added ? added + at : nullptr, y + at);
      }
    });
    return true;
  } catch (const dnnl::error& error) {
    return onednn::done(error.status, [&] {
      return str("oneDNN cannot convolve ", sizes.batch, " examples of ", sizes.groups * sizes.c_in,
                 " channels into ", sizes.groups * sizes.c_out);
    });
  }
}

}  // namespace veldt::cpu

#else

namespace veldt::cpu {
bool onednn_freezes() { return false; }
bool onednn_convolve_frozen(const FrozenConv&, const ConvSizes&, const float*, const float*, const float*,
                            const float*, float*) {
  return false;
}
}  // namespace veldt::cpu

#endif
