// Calls oneDNN's convolutions piece by piece, one thread each, and detects unsupported ones.
#include "veldt/cpu/onednn.h"

#if VELDT_HAVE_ONEDNN
#include <atomic>
#include <unordered_map>

#include "veldt/core/threads.h"
#include "veldt/cpu/convolution_cut.h"
#include "veldt/cpu/onednn_call.h"

namespace veldt::cpu {
namespace {

using dnnl::memory;

struct Key {
  ConvSizes sizes;
  ConvSteps steps;
  ConvPart part;
  bool biased;
  friend bool operator==(const Key&, const Key&) = default;
};

// The sizes in oneDNN's form, without leading dimensions of size 1.
struct Form {
  memory::dims x, w, y, stride, dilation, before, after;
  memory::desc x_plain, w_plain, y_plain;

  Form(const ConvSizes& s, const ConvSteps& steps) {
    const bool flat = s.in[0] == 1 && s.out[0] == 1 && s.kernel[0] == 1 && s.padding[0] == 0;
    x = {s.batch, s.groups * s.c_in};
    y = {s.batch, s.groups * s.c_out};
    if (s.groups > 1) w = {s.groups};
    w.insert(w.end(), {s.c_out, s.c_in});
    for (int d = flat ? 1 : 0; d < 3; ++d) {
      x.push_back(s.in[d]);
      y.push_back(s.out[d]);
      w.push_back(s.kernel[d]);
      stride.push_back(s.stride[d]);
      dilation.push_back(s.dilation[d] - 1);
      before.push_back(s.padding[d]);
      const std::int64_t reach = (s.out[d] - 1) * s.stride[d] + s.dilation[d] * (s.kernel[d] - 1) + 1;
      after.push_back(reach - s.in[d] - s.padding[d]);
    }
    x_plain = plain(x, {steps.x_example, steps.x_channel});
    y_plain = plain(y, {steps.y_example, steps.y_channel});
    w_plain = s.groups > 1 ? plain(w, {}) : plain(w, {steps.w_channel});
  }

  // Cases that oneDNN would report as errors: rows of x that no step reaches (a transpose may have them), and
  // sizes beyond its ints.
  bool serves() const {
    constexpr std::int64_t kMost = 1 << 24;
    for (std::size_t d = 0; d < after.size(); ++d)
      if (after[d] + stride[d] <= 0 || std::max({stride[d], dilation[d], before[d], after[d]}) > kMost)
        return false;
    return std::max({x_plain.get_size(), w_plain.get_size(), y_plain.get_size()}) < std::size_t{1} << 31;
  }

 private:
  // Row-major, except for the strides of the first dimensions.
  static memory::desc plain(const memory::dims& sizes, const memory::dims& first) {
    memory::dims strides(sizes.size());
    std::int64_t step = 1;
    for (std::size_t i = sizes.size(); i-- > 0; step *= sizes[i]) strides[i] = step;
    std::copy(first.begin(), first.end(), strides.begin());
    return {sizes, memory::data_type::f32, strides};
  }
};

memory::desc any(const memory::dims& sizes) {
  return {sizes, memory::data_type::f32, memory::format_tag::any};
}

// A tensor in the layout that a primitive needs, which may differ from Veldt's.
class Operand {
 public:
  Operand() = default;
  Operand(const memory::desc& plain, const memory::desc& wanted, bool written)
      : plain_(plain, onednn::engine(), nullptr),
        inner_(wanted, onednn::engine(), nullptr),
        written_(written) {
    if (wanted == plain) return;
    bytes_ = (wanted.get_size() + 63) / 64 * 64;
    reorder_ = written ? dnnl::reorder(inner_, plain_) : dnnl::reorder(plain_, inner_);
  }

  std::size_t bytes() const { return bytes_; }  // bytes of memory that the call has to provide

  void begin(float* data, char* room) {
    onednn::point(plain_, data);
    onednn::point(inner_, bytes_ > 0 ? static_cast<void*>(room) : data);
    if (bytes_ > 0 && !written_) reorder_.execute(onednn::stream(), plain_, inner_);
  }
  void end() {
    if (bytes_ > 0 && written_) reorder_.execute(onednn::stream(), inner_, plain_);
  }
  const memory& inner() const { return inner_; }

 private:
  memory plain_, inner_;
  dnnl::reorder reorder_;
  bool written_ = false;
  std::size_t bytes_ = 0;
};

// A part of a convolution, built for one shape and kept.
class ConvolutionPart {
 public:
  explicit ConvolutionPart(const Key& key) : key_(key) {
    const Form f(key.sizes, key.steps);
    const memory::desc x = any(f.x), w = any(f.w), y = any(f.y);
    const memory::desc bias =
        key.biased ? memory::desc({f.y[1]}, memory::data_type::f32, memory::format_tag::a) : memory::desc();
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const auto forward = onednn::plan_of<dnnl::convolution_forward>(
        attributes, std::tuple(dnnl::prop_kind::forward_training, kDirect, x, w, bias, y, f.stride,
                               f.dilation, f.before, f.after));
    const std::tuple backward(kDirect, x, w, y, f.stride, f.dilation, f.before, f.after);
    switch (key.part) {
      case ConvPart::output:
        primitive_ = dnnl::convolution_forward(forward);
        take(f, forward.src_desc(), forward.weights_desc(), forward.dst_desc(), forward.scratchpad_desc());
        break;
      case ConvPart::input_gradient: {
        const auto plan = onednn::plan_of<dnnl::convolution_backward_data>(attributes, backward, forward);
        primitive_ = dnnl::convolution_backward_data(plan);
        take(f, plan.diff_src_desc(), plan.weights_desc(), plan.diff_dst_desc(), plan.scratchpad_desc());
        break;
      }
      case ConvPart::weight_gradient: {
        const auto plan = onednn::plan_of<dnnl::convolution_backward_weights>(attributes, backward, forward);
        primitive_ = dnnl::convolution_backward_weights(plan);
        take(f, plan.src_desc(), plan.diff_weights_desc(), plan.diff_dst_desc(), plan.scratchpad_desc());
        break;
      }
    }
    if (key.biased) bias_ = memory(bias, onednn::engine(), nullptr);
  }

  const Key& key() const { return key_; }

  void run(float* x, float* w, const float* bias, float* y) {
    dnnl::stream& stream = onednn::stream();
    char* room = onednn::scratch(x_.bytes() + w_.bytes() + y_.bytes() + scratch_.get_desc().get_size());
    for (const auto& [operand, data] : {std::pair{&x_, x}, std::pair{&w_, w}, std::pair{&y_, y}}) {
      operand->begin(data, room);
      room += operand->bytes();
    }
    onednn::point(scratch_, room);
    const bool gives_x = key_.part == ConvPart::input_gradient,
               gives_w = key_.part == ConvPart::weight_gradient;
    std::unordered_map<int, memory> arguments = {
        {gives_x ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x_.inner()},
        {gives_w ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w_.inner()},
        {gives_x || gives_w ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, y_.inner()},
        {DNNL_ARG_SCRATCHPAD, scratch_}};
    if (bias != nullptr) {
      onednn::point(bias_, const_cast<float*>(bias));
      arguments.emplace(DNNL_ARG_BIAS, bias_);
    }
    primitive_.execute(stream, arguments);
    for (Operand* operand : {&x_, &w_, &y_}) operand->end();
    stream.wait();
  }

 private:
  void take(const Form& f, const memory::desc& x, const memory::desc& w, const memory::desc& y,
            const memory::desc& scratch) {
    x_ = Operand(f.x_plain, x, key_.part == ConvPart::input_gradient);
    w_ = Operand(f.w_plain, w, key_.part == ConvPart::weight_gradient);
    y_ = Operand(f.y_plain, y, key_.part == ConvPart::output);
    scratch_ = memory(scratch, onednn::engine(), nullptr);
  }

  Key key_;
  dnnl::primitive primitive_;
  Operand x_, w_, y_;
  memory bias_, scratch_;
};

// False if oneDNN has no such kernel.
bool run(const ConvPiece& piece, ConvPart part, float* x, float* w, const float* bias, float* y) {
  try {
    const onednn::OneThread alone;
    const Key key = {piece.sizes, piece.steps, part, bias != nullptr};
    onednn::primitive_for<ConvolutionPart>(key).run(x, w, bias, y);
    return true;
  } catch (const dnnl::error& error) {
    const ConvSizes& s = piece.sizes;
    return onednn::done(error.status, [&] {
      return str("oneDNN cannot convolve ", s.batch, " examples of ", s.groups * s.c_in, " channels into ",
                 s.groups * s.c_out);
    });
  }
}

}  // namespace

bool onednn_convolve(const ConvSizes& sizes, ConvPart part, float* x, float* w, const float* bias, float* y) {
  if (sizes.batch == 0 || sizes.c_in == 0 || sizes.c_out == 0) return false;
  const ConvCut cut(sizes, part);
  const std::int64_t w_size = sizes.groups * sizes.c_out * sizes.depth(), pieces = cut.count();
  for (const std::int64_t i : {std::int64_t{0}, pieces - 1})  // between them there is no padding
    if (const ConvPiece piece = cut.piece(i); !Form(piece.sizes, piece.steps).serves()) return false;
  // The sums of all pieces except the first. Kept, because a step needs the same sizes repeatedly.
  thread_local std::vector<float> room;
  const auto more = static_cast<std::size_t>(cut.sums() ? (pieces - 1) * w_size : 0);
  if (room.size() < more) room.resize(more);
  float* const partial = room.data();  // this thread's, for all threads
  std::atomic<bool> served = true;
  parallel_for(pieces, 1, [&](std::int64_t i, std::int64_t) {
    const ConvPiece piece = cut.piece(i);
    float* const to = cut.sums() && i > 0 ? partial + (i - 1) * w_size : w + piece.w;
    if (!run(piece, part, x + piece.x, to, bias ? bias + piece.bias : nullptr, y + piece.y)) served = false;
  });
  if (cut.sums() && served)
    parallel_for(w_size, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = 0; p + 1 < pieces; ++p)
        for (std::int64_t i = begin; i < end; ++i) w[i] += partial[p * w_size + i];
    });
  return served;
}

}  // namespace veldt::cpu

#else

namespace veldt::cpu {
bool onednn_convolve(const ConvSizes&, ConvPart, float*, float*, const float*, float*) { return false; }
}  // namespace veldt::cpu

#endif
