// The stable order of the elements of each line.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/cpu/kernels.h"
#include "veldt/cpu/lines.h"

namespace veldt::cpu {
namespace {

template <class T> struct Keyed {
  T key;
  std::int64_t index;
};

// A NaN counts as the largest, wherever it stands.
template <class T> bool before(const Keyed<T>& a, const Keyed<T>& b) {
  return a.key < b.key || (b.key != b.key && a.key == a.key);
}
template <class T> bool after(const Keyed<T>& a, const Keyed<T>& b) {
  return a.key > b.key || (a.key != a.key && b.key == b.key);
}

template <class T> void run_argsort(const View& x, int dim, bool descending, const View& out) {
  const auto n = static_cast<std::size_t>(x.shape[dim]);
  for_each_line<2>({&x, &out}, dim, [&](const std::array<std::int64_t, 2>& at) {
    const T* from = x.as<const T>() + at[0];
    std::int64_t* to = out.as<std::int64_t>() + at[1];
    std::vector<Keyed<T>> line(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = static_cast<std::int64_t>(i);
      line[i] = {from[k * x.strides[dim]], k};
    }
    std::stable_sort(line.begin(), line.end(), descending ? after<T> : before<T>);
    for (std::size_t i = 0; i < n; ++i) to[static_cast<std::int64_t>(i) * out.strides[dim]] = line[i].index;
  });
}

}  // namespace

void argsort(const View& x, int dim, bool descending, const View& out, Stream) {
  if (numel(out.shape) == 0) return;
  switch (x.dtype) {
    case DType::f32: return run_argsort<float>(x, dim, descending, out);
    case DType::f64: return run_argsort<double>(x, dim, descending, out);
    case DType::i64: return run_argsort<std::int64_t>(x, dim, descending, out);
    case DType::i32: return run_argsort<std::int32_t>(x, dim, descending, out);
    case DType::u8:
    case DType::boolean: return run_argsort<std::uint8_t>(x, dim, descending, out);
    default:
      throw DeviceError(str("the cpu cannot sort ", x.dtype), "it has no kernel for half floats",
                        "convert the tensor to f32 first");
  }
}

}  // namespace veldt::cpu
