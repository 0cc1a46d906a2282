// Fill and copy: every dtype to every dtype, any strides. Plain loops, compiled for each instruction set.
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "veldt/cpu/copy.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "veldt/cpu/dispatch.h"
#include "veldt/cpu/rows.h"
#include "veldt/kernels/convert.h"

HWY_BEFORE_NAMESPACE();
namespace veldt {
namespace HWY_NAMESPACE {
namespace {

template <class From, class To> void convert_row(const void* from_row, void* to_row, std::int64_t n) {
  const From* __restrict from = static_cast<const From*>(from_row);
  To* __restrict to = static_cast<To*>(to_row);
  for (std::int64_t i = 0; i < n; ++i) to[i] = scalar::store<To>(scalar::load(from[i]));
}

template <class T> void fill_row(double value, void* to_row, std::int64_t n) {
  // Halves as their bits, because g++ does not vectorise structs.
  using Stored = std::conditional_t<std::is_class_v<T>, std::uint16_t, T>;
  Stored* to = static_cast<Stored*>(to_row);
  const auto v = std::bit_cast<Stored>(scalar::store<T>(value));
  for (std::int64_t i = 0; i < n; ++i) to[i] = v;
}

cpu::ConvertRow convert_row_of(DType from, DType to) {
  cpu::ConvertRow row = nullptr;
  scalar::with_type(from, [&](auto source) {
    using From = std::conditional_t<std::is_same_v<decltype(source), bool>, std::uint8_t, decltype(source)>;
    scalar::with_type(to, [&](auto target) { row = &convert_row<From, decltype(target)>; });
  });
  return row;
}

cpu::FillRow fill_row_of(DType dtype) {
  cpu::FillRow row = nullptr;
  scalar::with_type(dtype, [&](auto type) { row = &fill_row<decltype(type)>; });
  return row;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace veldt
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veldt {
namespace {
VELDT_EXPORT(convert_row_of);
VELDT_EXPORT(fill_row_of);
}  // namespace
namespace cpu {

void fill(const View& out, double value) {
  const View* views[] = {&out};
  const FillRow row = VELDT_DISPATCH(fill_row_of)(out.dtype);
  for_each_row(views, 1, [=](char* const* at, std::int64_t n) { row(value, at[0], n); });
}

void copy(const View& from, const View& to) {
  const View* views[] = {&from, &to};
  if (from.dtype == to.dtype) {
    const auto bytes = static_cast<std::int64_t>(size_of(to.dtype));
    return for_each_row(views, 2, [bytes](char* const* at, std::int64_t n) {
      std::memmove(at[1], at[0], static_cast<std::size_t>(n * bytes));
    });
  }
  const ConvertRow row = VELDT_DISPATCH(convert_row_of)(from.dtype, to.dtype);
  for_each_row(views, 2, [row](char* const* at, std::int64_t n) { row(at[0], at[1], n); });
}

}  // namespace cpu
}  // namespace veldt
#endif
