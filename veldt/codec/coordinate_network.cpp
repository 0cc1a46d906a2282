// Evaluates, writes and reads networks of integers.
#include "veldt/codec/coordinate_network.h"

#include <cmath>
#include <numbers>

#include "veldt/codec/laplace.h"
#include "veldt/core/threads.h"

namespace veldt::codec {
namespace {

constexpr int kActivation = 12;  // fractional bits of a sine
constexpr std::int64_t kOneCoordinate = 1 << 16;

// sin(pi i / 512) with 15 fractional bits, i from 0 to 256: by its series in 30 bits.
struct Sines {
  Sines() {
    constexpr std::int64_t kPi30 = 3373259426;  // pi with 30 fractional bits
    for (std::int64_t i = 0; i <= 256; ++i) {
      const std::int64_t x = kPi30 * i / 512, square = (x * x) >> 30;
      std::int64_t term = x, sum = x;
      for (std::int64_t n = 2; n < 14; n += 2) {
        term = -((term * square) >> 30) / (n * (n + 1));
        sum += term;
      }
      quarter[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((sum + (1 << 14)) >> 15);
    }
  }
  std::int32_t quarter[257];
};

// Of an angle where 2^32 is a whole turn, with 12 fractional bits.
std::int32_t sine(std::uint32_t angle) {
  static const Sines table;
  const std::uint32_t quadrant = angle >> 30, within = angle & 0x3fffffff;
  const std::uint32_t along = quadrant % 2 == 0 ? within : 0x40000000 - within;
  const std::uint32_t cell = along >> 22;
  if (cell == 256) return quadrant < 2 ? 4096 : -4096;
  const auto part = static_cast<std::int32_t>(along >> 10 & 4095);
  const std::int32_t low = table.quarter[cell], high = table.quarter[cell + 1];
  const std::int32_t value = (low + ((high - low) * part >> 12) + 4) >> 3;
  return quadrant < 2 ? value : -value;
}

// Largest sum: 65 inputs of 2^12 (3 of 2^18) times 2^11, well within 32 bits times a step of 2^20.
std::int64_t sum_of(const CoordinateLayer& layer, std::int64_t unit, const std::int32_t* inputs,
                    std::int64_t one) {
  const std::int32_t* const weights = layer.weights.data() + unit * (layer.in + 1);
  std::int64_t sum = weights[layer.in] * one;
  for (std::int64_t i = 0; i < layer.in; ++i) sum += std::int64_t{weights[i]} * inputs[i];
  return sum;
}

}  // namespace

std::uint32_t size_of_step(int step) {
  constexpr std::uint32_t kQuarters[4] = {65536, 77936, 92682, 110218};  // 2^(i/4) with 16 fractional bits
  return static_cast<std::uint32_t>(std::uint64_t{kQuarters[step % 4]} << (step / 4) >> 16);
}

double worth_of_step(int step, bool first, bool last) {
  const double size = size_of_step(step);
  if (last) return size / 65536;
  return 2 * std::numbers::pi * size / (first ? 65536.0 : 1048576.0);
}

std::int64_t CoordinateNetwork::products() const {
  std::int64_t count = 0;
  for (const CoordinateLayer& layer : layers) count += (layer.in + 1) * layer.out;
  return count;
}

void CoordinateNetwork::at(std::int32_t x, std::int32_t y, std::int32_t* outputs) const {
  std::int32_t now[kMostWidth], next[kMostWidth];
  now[0] = std::clamp(x, -(1 << 18), 1 << 18);
  now[1] = std::clamp(y, -(1 << 18), 1 << 18);
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
    const CoordinateLayer& layer = layers[i];
    const std::uint32_t step = size_of_step(layer.step);
    const std::int64_t one = i == 0 ? kOneCoordinate : 1 << kActivation;
    for (std::int64_t unit = 0; unit < layer.out; ++unit)
      next[unit] = sine(static_cast<std::uint32_t>(sum_of(layer, unit, now, one)) * step);
    std::copy(next, next + layer.out, now);
  }
  const CoordinateLayer& last = layers.back();
  const std::int64_t step = size_of_step(last.step);
  for (std::int64_t c = 0; c < last.out; ++c) {
    const std::int64_t output = sum_of(last, c, now, 1 << kActivation) * step >> 12;
    outputs[c] = static_cast<std::int32_t>(std::clamp<std::int64_t>(output, -(1 << 24), 1 << 24));
  }
}

std::vector<std::int32_t> CoordinateNetwork::draw(Size size) const {
  const std::int64_t longer = std::max(size.width, size.height), n = channels();
  std::vector<std::int32_t> outputs(static_cast<std::size_t>(size.width * size.height * n));
  const auto place = [longer](std::int64_t i, std::int64_t count) {
    return static_cast<std::int32_t>((2 * i + 1 - count) * kOneCoordinate / longer);
  };
  parallel_for(size.height, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t y = begin; y < end; ++y)
      for (std::int64_t x = 0; x < size.width; ++x)
        at(place(x, size.width), place(y, size.height),
           outputs.data() + static_cast<std::size_t>((y * size.width + x) * n));
  });
  return outputs;
}

std::uint8_t level_of_output(std::int32_t output) {
  const std::int64_t level = (std::clamp<std::int64_t>(output, -65536, 65536) + 65536) * 255 + 65536;
  return static_cast<std::uint8_t>(level >> 17);
}

void encode(RangeEncoder& out, const CoordinateNetwork& network) {
  out.bits(static_cast<std::uint32_t>(network.layers.size() - 2), 2);
  for (std::size_t i = 0; i + 1 < network.layers.size(); ++i)
    out.bits(static_cast<std::uint32_t>(network.layers[i].out - 1), 6);
  for (const CoordinateLayer& layer : network.layers) {
    out.bits(static_cast<std::uint32_t>(layer.step), 7);
    // The scale that takes the fewest bits; the constants of a layer have one of their own.
    for (const bool constant : {false, true}) {
      const auto each = [&](const auto& use) {
        for (std::size_t k = 0; k < layer.weights.size(); ++k)
          if ((static_cast<std::int64_t>(k) % (layer.in + 1) == layer.in) == constant) use(layer.weights[k]);
      };
      int best = 0;
      double least = 1e300;
      for (int scale = 0; scale < kScales; ++scale) {
        double bits = 0;
        each([&](std::int32_t w) { bits += bits_of({0, scale}, w); });
        if (bits < least) least = bits, best = scale;
      }
      out.bits(static_cast<std::uint32_t>(best), 7);
      each([&](std::int32_t w) { encode(out, {0, best}, w); });
    }
  }
}

CoordinateNetwork decode_network(RangeDecoder& in, std::int64_t channels) {
  CoordinateNetwork network;
  const std::uint32_t hidden = in.bits(2) + 1;
  std::vector<std::int64_t> sizes{2};
  for (std::uint32_t i = 0; i < hidden; ++i) sizes.push_back(in.bits(6) + 1);
  sizes.push_back(channels);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    CoordinateLayer layer{sizes[i], sizes[i + 1], std::min(static_cast<int>(in.bits(7)), kSteps - 1), {}};
    layer.weights.resize(static_cast<std::size_t>((layer.in + 1) * layer.out));
    for (const bool constant : {false, true}) {
      const int scale = static_cast<int>(in.bits(7));
      for (std::size_t k = 0; k < layer.weights.size(); ++k)
        if ((static_cast<std::int64_t>(k) % (layer.in + 1) == layer.in) == constant)
          layer.weights[k] = std::clamp(decode(in, {0, scale}), -kMostWeight, kMostWeight);
    }
    network.layers.push_back(std::move(layer));
  }
  return network;
}

}  // namespace veldt::codec
