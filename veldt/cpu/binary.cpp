// Elementwise ops of two and three inputs.
#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/binary.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/binary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

template <class Op, class T> void row(const void* a_row, const void* b_row, void* to, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const T *a = static_cast<const T*>(a_row), *b = static_cast<const T*>(b_row);
  T* out = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Op::forward(Lanes<T>(hn::LoadU(d, a + i)), Lanes<T>(hn::LoadU(d, b + i))).v, d, out + i);
  if (i < n) {
    const std::size_t m = n - i;
    Op::forward(Lanes<T>::load_part(a + i, m), Lanes<T>::load_part(b + i, m)).store_part(out + i, m);
  }
}

template <class Op, class T>
void row_of_three(const void* a_row, const void* b_row, const void* c_row, void* to, std::int64_t count) {
  const hn::ScalableTag<T> d;
  const T *a = static_cast<const T*>(a_row), *b = static_cast<const T*>(b_row),
          *c = static_cast<const T*>(c_row);
  T* out = static_cast<T*>(to);
  const std::size_t n = static_cast<std::size_t>(count), lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(Op::forward(Lanes<T>(hn::LoadU(d, a + i)), Lanes<T>(hn::LoadU(d, b + i)),
                           Lanes<T>(hn::LoadU(d, c + i)))
                   .v,
               d, out + i);
  if (i < n) {
    const std::size_t m = n - i;
    Op::forward(Lanes<T>::load_part(a + i, m), Lanes<T>::load_part(b + i, m), Lanes<T>::load_part(c + i, m))
        .store_part(out + i, m);
  }
}

template <class... Op> const cpu::BinaryRows* rows(TypeList<Op...>) {
  static const cpu::BinaryRows table[] = {{&row<Op, float>, &row<Op, double>}...};
  return table;
}

template <class... Op> const cpu::TernaryRows* rows_of_three(TypeList<Op...>) {
  static const cpu::TernaryRows table[] = {{&row_of_three<Op, float>, &row_of_three<Op, double>}...};
  return table;
}

const cpu::BinaryRows* binary_table() { return rows(BinaryOps()); }
const cpu::TernaryRows* ternary_table() { return rows_of_three(TernaryOps()); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(binary_table);
VELDT_EXPORT(ternary_table);
}  // namespace
namespace cpu {
namespace {

const BinaryRows& rows_of(int op) {
  static const BinaryRows* const table = VELDT_DISPATCH(binary_table)();
  return table[op];
}

void run(BinaryRow f, const View& a, const View& b, const View& out) {
  const View* views[] = {&a, &b, &out};
  for_each_row(
      views, 3, [=](char* const* at, std::int64_t n) { f(at[0], at[1], at[2], n); }, Halves::as_f32);
}

}  // namespace

void binary(int op, const View& a, const View& b, const View& out) {
  if (!is_float(a.dtype)) return run(whole_row(op, a.dtype), a, b, out);
  run(a.dtype == DType::f64 ? rows_of(op).f64 : rows_of(op).f32, a, b, out);
}

void ternary(int op, const View& a, const View& b, const View& c, const View& out) {
  static const TernaryRows* const table = VELDT_DISPATCH(ternary_table)();
  const TernaryRow row = out.dtype == DType::f64 ? table[op].f64 : table[op].f32;
  const View* views[] = {&a, &b, &c, &out};
  for_each_row(
      views, 4, [=](char* const* at, std::int64_t n) { row(at[0], at[1], at[2], at[3], n); }, Halves::as_f32);
}

void accumulate(const View& from, const View& into) {
  binary(IndexOf<HWY_NAMESPACE::Add, HWY_NAMESPACE::BinaryOps>::value, into, from, into);
}

}  // namespace cpu
}  // namespace veldt
#endif
