// Packs weights of integers.
#include "veldt/cpu/int8_weights.h"

#include "veldt/cpu/room.h"

namespace veldt::cpu {
namespace {

bool is_depthwise(const ConvSizes& s) { return s.groups > 1 && s.c_in == 1 && s.c_out == 1; }

// Columns of a group, each with a row of weights and how many positions further its window begins.
struct Column {
  std::int64_t channel, right;
};

class Packing {
 public:
  Packing(const ConvSizes& s, const Int8Form& form, const View& w)
      : s_(s),
        wide_(joined(s, form.joined)),
        kernels_(*form.kernels),
        from_(w.as<const std::int8_t>()),
        made_(std::make_shared<PackedInt8>()) {
    made_->form = form;
    made_->depthwise = is_depthwise(s);
    made_->terms = rounded_up(wide_.depth(), kernels_.step);
    made_->depth = rounded_up(wide_.depth(), kInt8Depth);
    used_ = form.by_gates ? 4 * rounded_up(s.c_out / 4, kGateColumns) : wide_.c_out;
    made_->columns = made_->depthwise ? 1 : rounded_up(used_, kInt8Block);
  }

  std::shared_ptr<PackedInt8> of(const View& scale, const View* bias) {
    PackedInt8& p = *made_;
    const auto all = static_cast<std::size_t>(s_.groups * p.columns);
    const std::size_t whole = all + kInt8Block;  // what finishes sums reads whole registers
    p.sums.assign(whole, 0);
    p.scales.assign(whole, 0);
    p.biases.assign(whole, 0);
    const std::size_t numbers = all * static_cast<std::size_t>(p.depth);
    if (p.depthwise)
      p.panels.assign(static_cast<std::size_t>(s_.taps() * s_.groups), 0);
    else if (kernels_.wide_product)
      p.wide_panels.assign(numbers, 0);
    else
      p.panels.assign(numbers, 0);
    for (std::int64_t g = 0; g < s_.groups; ++g)
      for (std::int64_t j = 0; j < used_; ++j) {
        const Column column = column_of(j);
        if (column.channel < 0) continue;
        const std::int64_t channel = g * s_.c_out + column.channel;
        const auto at = static_cast<std::size_t>(g * p.columns + j);
        p.scales[at] = scale.as<const float>()[channel];
        if (bias) p.biases[at] = bias->as<const float>()[channel];
        const std::int8_t* const row = from_ + channel * s_.depth();  // [c_in][taps]
        for (std::int64_t i = 0; i < s_.depth(); ++i) p.sums[at] += row[i];
        p.depthwise ? put_taps(g, row) : put_terms(g, j, column.right, row);
      }
    return made_;
  }

 private:
  // channel -1: one that fills up.
  Column column_of(std::int64_t j) const {
    if (!made_->form.by_gates) return {j % s_.c_out, j / s_.c_out * s_.stride[2]};
    const std::int64_t hidden = s_.c_out / 4, gate = j / kGateColumns % 4,
                       element = j / (4 * kGateColumns) * kGateColumns + j % kGateColumns;
    return {element < hidden ? gate * hidden + element : -1, 0};
  }

  void put_taps(std::int64_t channel, const std::int8_t* row) {
    for (std::int64_t t = 0; t < s_.taps(); ++t)
      made_->panels[static_cast<std::size_t>(t * s_.groups + channel)] = row[t];
  }

  void put_terms(std::int64_t g, std::int64_t j, std::int64_t right, const std::int8_t* row) {
    const std::int64_t taps = s_.taps();
    for (std::int64_t t = 0; t < taps; ++t)
      for (std::int64_t c = 0; c < s_.c_in; ++c) {
        const std::int64_t tap = t / s_.kernel[2] * wide_.kernel[2] + t % s_.kernel[2] + right;
        put(g * made_->columns + j, tap * s_.c_in + c, row[c * taps + t]);
      }
  }

  void put(std::int64_t column, std::int64_t k, std::int8_t value) {
    // Of a panel's width, in steps of so many terms.
    const auto place = [&](std::int64_t width, std::int64_t step) {
      return static_cast<std::size_t>(column / width * width * made_->depth + k / step * step * width +
                                      column % width * step + k % step);
    };
    if (kernels_.wide_product)
      made_->wide_panels[place(kWideColumns, 2)] = value;
    else
      made_->panels[place(kInt8Block, 4)] = value;
  }

  const ConvSizes& s_;
  ConvSizes wide_;
  const Int8Kernels& kernels_;
  const std::int8_t* from_;
  std::int64_t used_ = 0;  // columns
  std::shared_ptr<PackedInt8> made_;
};

}  // namespace

ConvSizes joined(ConvSizes s, std::int64_t count) {
  s.kernel[2] += (count - 1) * s.stride[2];
  s.stride[2] *= count;
  s.out[2] /= count;
  s.c_out *= count;
  return s;
}

// The fewest products for each output, with one block of terms more for what is around a product, and as many
// again to gather.
std::int64_t best_joined(const ConvSizes& s, const Int8Kernels& kernels) {
  if (s.groups > 1 || s.taps() == 1 || s.dilation[2] != 1) return 1;
  const auto cost = [&](std::int64_t count) {
    const auto terms = static_cast<double>(rounded_up(joined(s, count).depth(), kernels.step)),
               columns = static_cast<double>(rounded_up(count * s.c_out, kernels.columns));
    return (2 * terms / kInt8Depth * columns / kInt8Block + 1) / static_cast<double>(count);
  };
  std::int64_t best = 1;
  for (std::int64_t count = 2; count * s.c_out <= kInt8Block && count <= s.out[2]; ++count)
    if (s.out[2] % count == 0 && cost(count) < cost(best)) best = count;
  return best;
}

void PackedInt8::widen(Int8Terms& t) const {
  if (!form.kernels->wide_product) return;
  thread_local Room<std::int16_t> room;
  std::int16_t* const to = room.of(kInt8Block * depth, "a product of integers");
  for (std::int64_t r = 0; r < t.count; ++r) widen_bytes(t.bytes + r * t.row, terms, to + r * depth);
  t.wide = to;
}

void PackedInt8::multiply(const Int8Terms& t, std::int64_t at, std::int64_t count, std::int32_t* c) const {
  if (t.wide)
    form.kernels->wide_product(t.wide, depth, t.count, count, terms, wide_panels.data() + at * depth, depth,
                               c);
  else
    form.kernels->product(t.bytes, t.row, t.count, terms, panels.data() + at * depth, c);
}

Int8Finish PackedInt8::finish(std::int64_t at, float low, float high) const {
  const auto i = static_cast<std::size_t>(at);
  return {&sums[i], &scales[i], &biases[i], low, high};
}

std::shared_ptr<const PackedInt8> kept_weights(const QuantizedConv& layer, const ConvSizes& s,
                                               const Int8Form& form, const View& w, const View& scale,
                                               const View* bias) {
  using Forms = std::vector<std::shared_ptr<const PackedInt8>>;
  const std::scoped_lock lock(layer.kept->mutex);
  auto forms = std::static_pointer_cast<Forms>(layer.kept->made);
  if (!forms || layer.kept->state != layer.state) {
    layer.kept->made = forms = std::make_shared<Forms>();
    layer.kept->state = layer.state;
  }
  for (const auto& made : *forms)
    if (made->form == form) return made;
  return forms->emplace_back(Packing(s, form, w).of(scale, bias));
}

}  // namespace veldt::cpu
