// A tile of sums that stays in registers: rows x (wide x lanes) numbers. Recursive structures rather than
// arrays, because g++ keeps an array in memory even where all its indices are constants.
// Tests: tests/cpu/matmul_test.cpp, tests/ops/mlp_test.cpp
#if defined(VELDT_CPU_REGISTER_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_CPU_REGISTER_TILE_INL
#undef VELDT_CPU_REGISTER_TILE_INL
#else
#define VELDT_CPU_REGISTER_TILE_INL
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace veldt::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// `Wide` registers of neighbouring elements.
template <class T, int Wide> struct RegisterRow {
  using D = hn::ScalableTag<T>;
  hn::Vec<D> first;
  RegisterRow<T, Wide - 1> rest;

  HWY_INLINE RegisterRow() : first(hn::Zero(D())), rest() {}
  HWY_INLINE explicit RegisterRow(const T* from) : first(hn::LoadU(D(), from)), rest(from + hn::Lanes(D())) {}
  // += scale * x
  HWY_INLINE void add_scaled(hn::Vec<D> scale, const RegisterRow& x) {
    first = hn::MulAdd(scale, x.first, first);
    rest.add_scaled(scale, x.rest);
  }
  HWY_INLINE void store(T* to) const {
    hn::StoreU(first, D(), to);
    rest.store(to + hn::Lanes(D()));
  }
  HWY_INLINE void add_to(T* to) const {
    hn::StoreU(hn::Add(hn::LoadU(D(), to), first), D(), to);
    rest.add_to(to + hn::Lanes(D()));
  }
  // The sum over each register's lanes.
  HWY_INLINE void store_sums(T* to) const {
    *to = hn::GetLane(hn::SumOfLanes(D(), first));
    rest.store_sums(to + 1);
  }
};
template <class T> struct RegisterRow<T, 0> {
  using V = hn::Vec<hn::ScalableTag<T>>;
  HWY_INLINE RegisterRow() {}
  HWY_INLINE explicit RegisterRow(const T*) {}
  HWY_INLINE void add_scaled(V, const RegisterRow&) {}
  HWY_INLINE void store(T*) const {}
  HWY_INLINE void add_to(T*) const {}
  HWY_INLINE void store_sums(T*) const {}
};

template <class T, int Rows, int Wide> struct RegisterTile {
  RegisterRow<T, Wide> row;
  RegisterTile<T, Rows - 1, Wide> rest;

  HWY_INLINE RegisterTile() : row(), rest() {}
  // Each row starts as `every`.
  HWY_INLINE explicit RegisterTile(const RegisterRow<T, Wide>& every) : row(every), rest(every) {}
  // Row i += a[i * stride] * x
  HWY_INLINE void add_outer(const T* a, std::int64_t stride, const RegisterRow<T, Wide>& x) {
    row.add_scaled(hn::Set(hn::ScalableTag<T>(), *a), x);
    rest.add_outer(a + stride, stride, x);
  }
  // Rows `stride` elements apart.
  HWY_INLINE void store(T* to, std::int64_t stride) const {
    row.store(to);
    rest.store(to + stride, stride);
  }
  HWY_INLINE void add_to(T* to, std::int64_t stride) const {
    row.add_to(to);
    rest.add_to(to + stride, stride);
  }
};
template <class T, int Wide> struct RegisterTile<T, 0, Wide> {
  HWY_INLINE RegisterTile() {}
  HWY_INLINE explicit RegisterTile(const RegisterRow<T, Wide>&) {}
  HWY_INLINE void add_outer(const T*, std::int64_t, const RegisterRow<T, Wide>&) {}
  HWY_INLINE void store(T*, std::int64_t) const {}
  HWY_INLINE void add_to(T*, std::int64_t) const {}
};

}  // namespace veldt::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
