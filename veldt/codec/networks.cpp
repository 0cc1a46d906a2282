// How many fractional bits each kind of number has, and the two ways between floats and integers.
#include "veldt/codec/networks.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace veldt::codec {
namespace {

struct NumberKind {
  std::size_t count;
  int bits;
};

constexpr std::size_t kWide = kContexts;
constexpr NumberKind kContextModelKinds[] = {{kWide * kWide, 10}, {kWide, 16},     {kWide * kWide, 10},
                                             {kWide, 16},         {2 * kWide, 10}, {2, 16},
                                             {2 * kWide, 10}};
constexpr NumberKind kSynthesisKinds[] = {{kHidden * kLevels, 14},
                                          {kHidden, 22},
                                          {kColours * kHidden, 12},
                                          {kColours, 24},
                                          {kColours * kLevels, 14},
                                          {kDetail * kColours * kTaps, 12},
                                          {kDetail, 24},
                                          {kColours * kDetail * kTaps, 12},
                                          {kColours, 24},
                                          {(kLevels - 1) * kUpsampling, 10}};

std::array<Group, kGroups> all_groups() {
  std::array<Group, kGroups> groups{};
  std::size_t at = 0, first = 0;
  const auto add = [&](std::span<const NumberKind> kinds) {
    for (const NumberKind kind : kinds) {
      groups[at++] = {first, kind.count, kind.bits};
      first += kind.count;
    }
  };
  for (int m = 0; m < kModels; ++m) add(kContextModelKinds);
  add(kSynthesisKinds);
  return groups;
}

// The scale of laplace.h is 8 (6 + log2 b) = this times (out[1] - 4), and 48.
constexpr float kScaleSteps = 8 * std::numbers::log2e_v<float>;

// Calls f(number, steps) for the weights of a model's second output, and f for its bias with what is to be
// added.
template <class T, class Weight, class Bias>
void second_output(Networks<T>& networks, Weight&& weight, Bias&& bias) {
  for (ContextModel<T>& m : networks.models) {
    for (T& w : m.last[1]) weight(w);
    for (T& w : m.skip[1]) weight(w);
    bias(m.last_bias[1]);
  }
}

}  // namespace

std::span<const Group> groups() {
  static const std::array<Group, kGroups> all = all_groups();
  return all;
}

Networks<std::int32_t> to_integers(const Networks<float>& networks) {
  Networks<float> scaled = networks;
  second_output(
      scaled, [](float& w) { w *= kScaleSteps; }, [](float& b) { b = (b - 4) * kScaleSteps + 48; });
  Networks<std::int32_t> integers{};
  for (const Group& g : groups())
    for (std::size_t i = g.first; i < g.first + g.count; ++i)
      integers.numbers()[i] = static_cast<std::int32_t>(
          std::lround(std::clamp(std::ldexp(scaled.numbers()[i], g.bits), -1073741824.0f, 1073741824.0f)));
  return integers;
}

Networks<float> to_floats(const Networks<std::int32_t>& networks) {
  Networks<float> floats{};
  for (const Group& g : groups())
    for (std::size_t i = g.first; i < g.first + g.count; ++i)
      floats.numbers()[i] = std::ldexp(static_cast<float>(networks.numbers()[i]), -g.bits);
  second_output(
      floats, [](float& w) { w /= kScaleSteps; }, [](float& b) { b = (b - 48) / kScaleSteps + 4; });
  return floats;
}

}  // namespace veldt::codec
