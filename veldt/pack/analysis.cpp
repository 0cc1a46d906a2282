// Strided convolutions downwards, with the mean colours of each size beside them; all heads look at one
// trunk.
#include "veldt/pack/analysis.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "veldt/codec/pyramid.h"
#include "veldt/core/base64.h"
#include "veldt/io/host_bytes.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/pooling.h"
#include "veldt/ops/unary.h"
#include "veldt/pack/texts.h"

namespace veldt::pack {
namespace {

using codec::kLevels;

constexpr std::int64_t kChannels = 32;
constexpr std::size_t kTrunks = 2;           // of level 2, and of those above
constexpr std::size_t kHeads = kLevels - 1;  // the first is of levels 0 and 1

}  // namespace

Analysis::Analysis(Rng& rng)
    : first_(12, kChannels, 3, {.padding = 1}, rng), second_(kChannels, kChannels, 3, {.padding = 1}, rng) {
  for (std::size_t i = 0; i < kTrunks; ++i) {
    down_.emplace_back(kChannels, kChannels, 4, nn::ConvLayerOptions{.stride = 2, .padding = 1}, rng);
    colour_.emplace_back(3, kChannels, 1, nn::ConvLayerOptions{.bias = false}, rng);
    same_.emplace_back(kChannels, kChannels, 3, nn::ConvLayerOptions{.padding = 1}, rng);
  }
  for (int b = 0; b < codec::kBaseNetworks; ++b)
    for (std::size_t h = 0; h < kHeads; ++h)
      heads_.emplace_back(kChannels, h == 0 ? 5 : 1, 3, nn::ConvLayerOptions{.padding = 1}, rng);
}

void Analysis::fields(nn::Fields& f) {
  f("first", first_)("second", second_)("down", down_)("colour", colour_)("same", same_)("heads", heads_);
}

std::vector<Tensor> Analysis::features(const Tensor& picture) const {
  Tensor colours = picture - 0.5;
  const Tensor half = relu(first_(pixel_unshuffle(colours, 2)));
  std::vector<Tensor> features = {half + relu(second_(half))};
  colours = avg_pool2d(colours, 2);
  for (std::size_t level = 2; level < kLevels; ++level) {
    const std::size_t trunk = std::min(level - 2, kTrunks - 1);
    colours = avg_pool2d(colours, 2);
    const Tensor smaller = relu(down_[trunk](features.back()) + colour_[trunk](colours));
    features.push_back(smaller + relu(same_[trunk](smaller)));
  }
  return features;
}

std::vector<Tensor> Analysis::latents(const std::vector<Tensor>& features, int base) const {
  const nn::Conv2d* heads = heads_.data() + static_cast<std::size_t>(base) * kHeads;
  const Tensor fine = heads[0](features[0]);
  std::vector<Tensor> latents = {pixel_shuffle(narrow(fine, 1, 0, 4), 2), narrow(fine, 1, 4, 1)};
  for (std::size_t h = 1; h < kHeads; ++h) latents.push_back(heads[h](features[h]));
  for (std::size_t level = 0; level < kLevels; ++level)
    latents[level] = select(select(latents[level], 0, 0), 0, 0) *
                     static_cast<double>(1 << std::min<std::size_t>(level, 4));
  return latents;
}

const Analysis& learned_analysis() {
  static const Analysis analysis = [] {
    Rng rng(1);
    Analysis read(rng);
    std::string text(analysis_base64);
    std::erase(text, '\n');
    const std::string bytes = from_base64(text).value();
    std::span<const std::byte> left = std::as_bytes(std::span(bytes));
    NamedTensors state = read.named_parameters();
    for (NamedTensor& named : state) {
      const auto size = static_cast<std::size_t>(2 * named.tensor.numel());
      named.tensor = to(Tensor::from_bytes(named.tensor.shape(), DType::f16, left.first(size)), DType::f32);
      left = left.subspan(size);
    }
    read.load_state_dict(state);
    return read;
  }();
  return analysis;
}

std::string to_text(const Analysis& analysis) {
  std::string bytes;
  for (const NamedTensor& named : analysis.named_parameters()) {
    const io::HostBytes half(to(named.tensor, DType::f16));
    bytes.append(static_cast<const char*>(half.data()), half.size());
  }
  return to_base64(bytes);
}

}  // namespace veldt::pack
