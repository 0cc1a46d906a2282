// Sums of integers as numbers, and numbers as bytes, a register at a time.
// Tests: tests/cpu/quantized_test.cpp, tests/cpu/int8_lstm_test.cpp
#if defined(VELDT_CPU_INT8_BYTES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_INT8_BYTES_INL
#undef VELDT_CPU_INT8_BYTES_INL
#else
#define VELDT_CPU_INT8_BYTES_INL
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "veldt/cpu/affine8.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x, or `other` where it is NaN: for the first operand of Min and Max with `other`. x86's give the second one
// for a NaN, so that there nothing is to be done; others' give the NaN.
template <class V> HWY_INLINE V number_or(V x, V other) {
#if HWY_ARCH_X86
  (void)other;
  return x;
#else
  return hn::IfThenElse(hn::IsNaN(x), other, x);
#endif
}

// Numbers as bytes: round(x / scale + zero), halves to even, within 0 .. 255; NaN: 0.
template <class D> class ToBytes {
 public:
  HWY_INLINE explicit ToBytes(Affine8 as)
      : inverse_(hn::Set(D(), 1 / as.scale)),
        low_(hn::Set(D(), -as.zero)),
        high_(hn::Set(D(), 255 - as.zero)),
        shift_(hn::Set(D(), kShift)),
        zero_(hn::Set(Whole(), static_cast<std::int32_t>(as.zero) - kShiftBits)) {}

  HWY_INLINE auto operator()(hn::Vec<D> x) const {
    const auto within = hn::Min(hn::Max(number_or(hn::Mul(x, inverse_), low_), low_), high_);
    const auto q = hn::Add(hn::BitCast(Whole(), hn::Add(within, shift_)), zero_);
    return hn::DemoteTo(hn::Rebind<std::uint8_t, D>(), q);
  }

 private:
  using Whole = hn::RebindToSigned<D>;
  // A number of so few bits plus this one is rounded to whole ones, which are the last bits then.
  static constexpr float kShift = 12582912;  // 1.5 * 2^23
  static constexpr std::int32_t kShiftBits = 0x4B400000;

  hn::Vec<D> inverse_, low_, high_, shift_;
  hn::Vec<Whole> zero_;
};

// Sums of a register of columns as numbers, without bounds.
template <class D> class ColumnNumbers {
 public:
  // Of columns from j on.
  HWY_INLINE ColumnNumbers(Affine8 as, const Int8Finish& f, std::int64_t j)
      : of_zero_(
            hn::Mul(hn::Set(Whole(), static_cast<std::int32_t>(as.zero)), hn::LoadU(Whole(), f.w_sum + j))),
        scale_(hn::Mul(hn::Set(D(), as.scale), hn::LoadU(D(), f.w_scale + j))),
        bias_(hn::LoadU(D(), f.bias + j)) {}

  HWY_INLINE hn::Vec<D> operator()(const std::int32_t* c) const {
    const auto sum = hn::Sub(hn::LoadU(Whole(), c), of_zero_);
    return hn::Add(hn::Mul(hn::ConvertTo(D(), sum), scale_), bias_);
  }

 private:
  using Whole = hn::RebindToSigned<D>;
  hn::Vec<Whole> of_zero_;
  hn::Vec<D> scale_, bias_;
};

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
