// Group after group, each once. A group belongs to a model or to the synthesis, and of the loss nothing else
// is measured again.
#include "veldt/pack/network_coding.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "veldt/codec/base_networks.h"

namespace veldt::pack {
namespace {

using codec::kModels;
using codec::Networks;

constexpr int kFinestShift = 3;
constexpr std::size_t kGroupsOfAModel = 7;

double coded_bits(const Networks<std::int32_t>& base, const CodedNetworks& coded) {
  codec::RangeEncoder out;
  encode_networks(out, base, coded.networks, coded.shifts);
  return 8 * static_cast<double>(out.finish().size());
}

double part_of_loss(const Networks<std::int32_t>& networks, std::size_t part, Learner& learner,
                    double a_bit) {
  const Networks<float> floats = codec::to_floats(networks);
  return part < kModels ? a_bit * learner.bits_again(static_cast<int>(part), floats.models[part])
                        : learner.error_again(floats.synthesis);
}

}  // namespace

CodedNetworks round_networks(int base, const Networks<float>& learned, int shift) {
  CodedNetworks coded;
  coded.shifts.fill(shift);
  coded.networks = rounded(codec::base_networks(base), codec::to_integers(learned), coded.shifts);
  coded.bits = coded_bits(codec::base_networks(base), coded);
  return coded;
}

CodedNetworks code_networks(int base, const Networks<float>& learned, Learner& learner, double lambda) {
  const Networks<std::int32_t>& from = codec::base_networks(base);
  const Networks<std::int32_t> wanted = codec::to_integers(learned);
  const double a_bit = lambda / learner.pixels();
  CodedNetworks best = round_networks(base, learned, kFinestShift);
  learner.measure(codec::to_floats(best.networks), {.soft = false});
  std::array<double, kModels + 1> parts;
  for (std::size_t part = 0; part < parts.size(); ++part)
    parts[part] = part_of_loss(best.networks, part, learner, a_bit);
  double loss = std::accumulate(parts.begin(), parts.end(), a_bit * best.bits);
  for (std::size_t g = 0; g < codec::kGroups; ++g) {
    const std::size_t part = std::min<std::size_t>(g / kGroupsOfAModel, kModels);
    const codec::Group group = codec::groups()[g];
    // The last one is the base itself.
    for (const int shift : {4, 5, 6, 7, 8, 10, 12, 14, codec::kMostShift + 1}) {
      CodedNetworks tried = best;
      tried.shifts[g] = std::min(shift, codec::kMostShift);
      const Networks<std::int32_t> numbers =
          shift > codec::kMostShift ? from : rounded(from, wanted, tried.shifts);
      std::copy_n(numbers.numbers().begin() + static_cast<std::ptrdiff_t>(group.first), group.count,
                  tried.networks.numbers().begin() + static_cast<std::ptrdiff_t>(group.first));
      const auto changes = [&](const Networks<std::int32_t>& n) {
        return n.numbers().subspan(group.first, group.count);
      };
      const bool is_base = std::ranges::equal(changes(tried.networks), changes(from));
      tried.bits = coded_bits(from, tried);
      std::array<double, kModels + 1> now = parts;
      now[part] = part_of_loss(tried.networks, part, learner, a_bit);
      const double all = std::accumulate(now.begin(), now.end(), a_bit * tried.bits);
      if (all < loss) {
        loss = all;
        parts = now;
        best = tried;
      }
      if (is_base) break;  // so are coarser steps
    }
  }
  return best;
}

}  // namespace veldt::pack
