// Comparisons as plain loops, and where() in registers, compiled for each instruction set.
#include <cstdint>

#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/compare.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/compare.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {
using cpu::BinaryRow;

template <class Op, class T>
void compare_row(const void* a_row, const void* b_row, void* to, std::int64_t n) {
  const T* __restrict a = static_cast<const T*>(a_row), * __restrict b = static_cast<const T*>(b_row);
  std::uint8_t* __restrict out = static_cast<std::uint8_t*>(to);
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op::holds(a[i], b[i]) ? 1 : 0;
}

template <class T, class... Op> BinaryRow compare_row_of(int op, TypeList<Op...>) {
  static constexpr BinaryRow table[] = {&compare_row<Op, T>...};
  return table[op];
}

BinaryRow best_compare_row(int op, DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::bf16:
    case DType::f16: return compare_row_of<float>(op, CompareOps());
    case DType::f64: return compare_row_of<double>(op, CompareOps());
    case DType::i64: return compare_row_of<std::int64_t>(op, CompareOps());
    case DType::i32: return compare_row_of<std::int32_t>(op, CompareOps());
    case DType::i8: return compare_row_of<std::int8_t>(op, CompareOps());
    case DType::u8:
    case DType::boolean: break;
  }
  return compare_row_of<std::uint8_t>(op, CompareOps());
}

namespace hn = hwy::HWY_NAMESPACE;

// Booleans, each in a lane as wide as the numbers that it selects.
template <class D> HWY_INLINE auto conditions(D d, const std::uint8_t* from) {
  const hn::Rebind<std::uint8_t, D> bytes;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const hn::Rebind<std::uint32_t, D> half;
    return hn::PromoteTo(d, hn::PromoteTo(half, hn::LoadU(bytes, from)));
  } else if constexpr (sizeof(hn::TFromD<D>) > 1) {
    return hn::PromoteTo(d, hn::LoadU(bytes, from));
  } else {
    return hn::LoadU(d, from);
  }
}

template <class T>
void where_row(const std::uint8_t* condition, const void* a_row, const void* b_row, void* to,
               std::int64_t n) {
  const hn::ScalableTag<T> d;
  const T *a = static_cast<const T*>(a_row), *b = static_cast<const T*>(b_row);
  T* out = static_cast<T*>(to);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto holds = hn::Ne(conditions(d, condition + i), hn::Zero(d));
    hn::StoreU(hn::IfThenElse(holds, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  for (; i < n; ++i) out[i] = condition[i] != 0 ? a[i] : b[i];
}

cpu::WhereRow best_where_row(std::size_t bytes) {
  switch (bytes) {
    case 1: return &where_row<std::uint8_t>;
    case 2: return &where_row<std::uint16_t>;
    case 4: return &where_row<std::uint32_t>;
    default: return &where_row<std::uint64_t>;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(best_compare_row);
VELDT_EXPORT(best_where_row);
}  // namespace
namespace cpu {

void compare(int op, const View& a, const View& b, const View& out) {
  const BinaryRow row = VELDT_DISPATCH(best_compare_row)(op, a.dtype);
  const View* views[] = {&a, &b, &out};
  for_each_row(
      views, 3, [=](char* const* at, std::int64_t n) { row(at[0], at[1], at[2], n); }, Halves::as_f32);
}

void where(const View& condition, const View& a, const View& b, const View& out) {
  const WhereRow row = VELDT_DISPATCH(best_where_row)(size_of(a.dtype));
  const View* views[] = {&condition, &a, &b, &out};
  for_each_row(views, 4, [=](char* const* at, std::int64_t n) {
    row(reinterpret_cast<const std::uint8_t*>(at[0]), at[1], at[2], at[3], n);
  });
}

}  // namespace cpu
}  // namespace veldt
#endif
