// Fill and copy: every dtype to every dtype, any strides.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "veldt/cpu/elementwise.h"
#include "veldt/cpu/kernels.h"
#include "veldt/kernels/convert.h"

namespace veldt::cpu {
namespace {

template <class From, class To> void convert_row(char* const* at, std::int64_t n) {
  const From* from = reinterpret_cast<const From*>(at[0]);
  To* to = reinterpret_cast<To*>(at[1]);
  for (std::int64_t i = 0; i < n; ++i) to[i] = scalar::store<To>(scalar::load(from[i]));
}

template <class T> void fill_with(const View& out, double value) {
  const T v = scalar::store<T>(value);
  const View* views[] = {&out};
  for_each_row(views, 1,
               [v](char* const* at, std::int64_t n) { std::fill_n(reinterpret_cast<T*>(at[0]), n, v); });
}

}  // namespace

void fill(const View& out, double value, Stream) {
  scalar::with_type(out.dtype, [&](auto type) { fill_with<decltype(type)>(out, value); });
}

void copy(const View& from, const View& to, Stream) {
  const View* views[] = {&from, &to};
  if (from.dtype == to.dtype) {
    const auto bytes = static_cast<std::int64_t>(size_of(to.dtype));
    return for_each_row(views, 2, [bytes](char* const* at, std::int64_t n) {
      std::memmove(at[1], at[0], static_cast<std::size_t>(n * bytes));
    });
  }
  scalar::with_type(from.dtype, [&](auto source) {
    scalar::with_type(to.dtype, [&](auto target) {
      for_each_row(views, 2, convert_row<decltype(source), decltype(target)>);
    });
  });
}

}  // namespace veldt::cpu
