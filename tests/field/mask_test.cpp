// The k-th pixel of a set and of its complement are the same as in a walk along all pixels.
#include "veldt/field/mask.h"

#include <gtest/gtest.h>

#include <functional>

#include "veldt/core/rng.h"

namespace veldt::field {
namespace {

void expect_found(std::int64_t size, const std::function<bool(std::int64_t)>& in) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>((size + 63) / 64));
  std::vector<std::int64_t> members[2];
  for (std::int64_t i = 0; i < size; ++i) {
    members[in(i) ? 1 : 0].push_back(i);
    words[static_cast<std::size_t>(i / 64)] |= std::uint64_t{in(i)} << (i % 64);
  }
  const Mask mask(words, size);
  for (const bool wanted : {false, true}) {
    const auto& expected = members[wanted ? 1 : 0];
    ASSERT_EQ(mask.count(wanted), static_cast<std::int64_t>(expected.size()));
    for (std::size_t k = 0; k < expected.size(); ++k)
      ASSERT_EQ(mask.find(wanted, static_cast<std::int64_t>(k)), expected[k]) << size << ' ' << k;
  }
}

TEST(Mask, FindsEveryMemberAndEveryOtherPixel) {
  const Rng rng(3, 1);
  for (const std::int64_t size : {1, 63, 64, 65, 511, 512, 513, 5000}) {
    expect_found(size, [](std::int64_t) { return true; });
    expect_found(size, [](std::int64_t) { return false; });
    expect_found(size, [size](std::int64_t i) { return i == size - 1; });
    for (const std::uint32_t one_in : {2u, 40u})
      expect_found(size, [&](std::int64_t i) { return rng.at(static_cast<std::uint64_t>(i)) % one_in == 0; });
    expect_found(size, [](std::int64_t i) { return i / 700 % 2 == 0; });
  }
}

}  // namespace
}  // namespace veldt::field
