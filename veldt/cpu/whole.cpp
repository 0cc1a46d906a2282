// Elementwise ops of one and two integers: each formula with an integer form, for i64, i32 and u8, as plain
// loops.
#include <cmath>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/whole.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/formula_name.h"
#include "veldt/kernels/unary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {
using cpu::BinaryRow;
using cpu::UnaryForward;

// Below 2^53 a quotient in double, which is faster, is on the same side of each integer as the exact one. 0
// for a division by 0; the lowest i32 over -1 wraps.
template <class I> HWY_INLINE I floor_quotient(I a, I b) {
  const double x = static_cast<double>(a), y = b == I(0) ? 1 : static_cast<double>(b);
  const auto floored = static_cast<std::int64_t>(std::floor(x / y));
  return b == I(0) ? I(0) : static_cast<I>(floored);
}

template <class I> bool all_below_2_to_53(const I* x, std::int64_t n) {
  if constexpr (sizeof(I) <= 4) return true;
  std::int64_t bits = 0;
  for (std::int64_t i = 0; i < n; ++i) bits |= static_cast<std::int64_t>(x[i] < 0 ? ~x[i] : x[i]);
  return bits < std::int64_t{1} << 53;
}

template <class Op, class I> void row(const void* a_row, const void* b_row, void* to, std::int64_t n) {
  const I *a = static_cast<const I*>(a_row), *b = static_cast<const I*>(b_row);
  I* out = static_cast<I*>(to);
  if constexpr (std::is_same_v<Op, FloorDivide>)
    if (all_below_2_to_53(a, n) && all_below_2_to_53(b, n)) {
      for (std::int64_t i = 0; i < n; ++i) out[i] = floor_quotient(a[i], b[i]);
      return;
    }
  for (std::int64_t i = 0; i < n; ++i) out[i] = Op::whole(a[i], b[i]);
}

template <class Op, class I> void unary_row(Scalars s, const void* from, void* to, std::int64_t n) {
  const Op op = formula<Op>(s.a, s.b);
  const I* x = static_cast<const I*>(from);
  I* y = static_cast<I*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i] = op.whole(x[i]);
}

template <class Op, class I> constexpr BinaryRow row_of() {
  if constexpr (requires(I x) { Op::whole(x, x); })
    return &row<Op, I>;
  else
    return nullptr;
}
template <class Op, class I> constexpr UnaryForward unary_row_of() {
  if constexpr (requires(Op op, I x) { op.whole(x); })
    return &unary_row<Op, I>;
  else
    return nullptr;
}

template <class I, class... Op> BinaryRow row_of(int op, TypeList<Op...>) {
  static constexpr BinaryRow table[] = {row_of<Op, I>()...};
  return table[op];
}
template <class I, class... Op> UnaryForward unary_row_of(int op, TypeList<Op...>) {
  static constexpr UnaryForward table[] = {unary_row_of<Op, I>()...};
  return table[op];
}

BinaryRow best_row(int op, DType dtype) {
  if (dtype == DType::i64) return row_of<std::int64_t>(op, BinaryOps());
  if (dtype == DType::i32) return row_of<std::int32_t>(op, BinaryOps());
  if (dtype == DType::i8) return row_of<std::int8_t>(op, BinaryOps());
  return row_of<std::uint8_t>(op, BinaryOps());  // booleans too
}
UnaryForward best_unary_row(int op, DType dtype) {
  if (dtype == DType::i64) return unary_row_of<std::int64_t>(op, UnaryOps());
  if (dtype == DType::i32) return unary_row_of<std::int32_t>(op, UnaryOps());
  if (dtype == DType::i8) return unary_row_of<std::int8_t>(op, UnaryOps());
  return unary_row_of<std::uint8_t>(op, UnaryOps());
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(best_row);
VELDT_EXPORT(best_unary_row);

template <class Row> Row checked(Row found, Entry entry, int op, DType dtype) {
  if (!found) refuse_dtype(cpu::kName, formula_name(entry, op), dtype, kFloats);
  return found;
}

}  // namespace
namespace cpu {

BinaryRow whole_row(int op, DType dtype) {
  return checked(VELDT_DISPATCH(best_row)(op, dtype), Entry::binary, op, dtype);
}

UnaryForward whole_unary_row(int op, DType dtype) {
  return checked(VELDT_DISPATCH(best_unary_row)(op, dtype), Entry::unary, op, dtype);
}

}  // namespace cpu
}  // namespace veldt
#endif
