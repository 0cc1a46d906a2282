// The comparisons that exclude most elements of a long line in a search for its first few.
#include "veldt/cpu/topk_filter.h"

#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/topk_filter.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/kernels/order_key.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Numbers as they are.
template <class T> struct Numbers {
  using Lane = T;
  template <class V> static HWY_INLINE V order(V x) { return x; }
  template <class V> static HWY_INLINE auto is_nan(V x) {
    if constexpr (std::is_floating_point_v<T>)
      return hn::IsNaN(x);
    else
      return hn::Ne(x, x);
  }
};

// Halves as integers in the same order: for those below 0 all bits except the sign are inverted.
template <class T> struct Halves {
  using Lane = std::int16_t;
  template <class V> static HWY_INLINE V order(V x) {
    const hn::DFromV<V> d;
    return hn::Xor(x, hn::And(hn::ShiftRight<15>(x), hn::Set(d, std::int16_t{0x7fff})));
  }
  template <class V> static HWY_INLINE auto is_nan(V x) {
    const hn::DFromV<V> d;
    return hn::Gt(hn::And(x, hn::Set(d, std::int16_t{0x7fff})),
                  hn::Set(d, static_cast<std::int16_t>(FloatBits<T>::infinity)));
  }
};

template <class T> using Kind = std::conditional_t<std::is_class_v<T>, Halves<T>, Numbers<T>>;

template <class T, bool kDescending>
std::int64_t filter(const typename Kind<T>::Lane* line, std::int64_t begin, std::int64_t end,
                    std::int64_t bound_at) {
  using Lane = typename Kind<T>::Lane;
  const hn::CappedTag<Lane, static_cast<std::size_t>(kFiltered)> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto given = hn::Set(d, line[bound_at]), bound = Kind<T>::order(given);
  if (!kDescending && !hn::AllFalse(d, Kind<T>::is_nan(given))) return begin;  // all may come before it
  for (; begin + kFiltered <= end; begin += kFiltered) {
    auto any = hn::Ne(given, given);
    for (std::int64_t i = begin; i < begin + kFiltered; i += lanes) {
      const auto x = hn::LoadU(d, line + i);
      if constexpr (kDescending)
        any = hn::Or(any, hn::Or(hn::Gt(Kind<T>::order(x), bound), Kind<T>::is_nan(x)));
      else
        any = hn::Or(any, hn::Lt(Kind<T>::order(x), bound));
    }
    if (!hn::AllFalse(d, any)) break;
  }
  return begin;
}

template <class T>
std::int64_t filter_of(const void* line, std::int64_t begin, std::int64_t end, std::int64_t bound,
                       bool descending) {
  const auto* x = static_cast<const typename Kind<T>::Lane*>(line);
  return descending ? filter<T, true>(x, begin, end, bound) : filter<T, false>(x, begin, end, bound);
}

TopkFilter best_filter(DType dtype) {
  TopkFilter found = nullptr;
  scalar::with_type(dtype, [&](auto type) {
    using T = decltype(type);
    found = &filter_of<std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>>;
  });
  return found;
}

}  // namespace
}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt::cpu {
namespace {
VELDT_EXPORT(best_filter);
}

TopkFilter topk_filter(DType dtype) { return VELDT_DISPATCH(best_filter)(dtype); }

}  // namespace veldt::cpu
#endif
