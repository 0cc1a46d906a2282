// One axis of a point in a grid: its cell, and the weights of the vertices at its two ends. For the number
// types of math-inl.h.
// Tests: tests/ops/grid_encoding_test.cpp, tests/cuda/grid_test.cpp
#if defined(VELDT_KERNELS_GRID_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef VELDT_KERNELS_GRID_INL
#undef VELDT_KERNELS_GRID_INL
#else
#define VELDT_KERNELS_GRID_INL
#endif

#include "veldt/kernels/math-inl.h"
#include "veldt/kernels/open-inl.h"

template <class F> struct GridAxis {
  F cell;       // a whole number, 0 to cells - 1
  F low, high;  // weights of the vertices `cell` and `cell` + 1, or their derivatives
};

// The weight of the upper vertex at t = 0..1 of a cell, differentiated `order` times by t.
template <class F> VELDT_FN F grid_weight(F t, bool smooth, int order) {
  if (!smooth) return order == 0 ? t : F(order == 1 ? 1 : 0);
  switch (order) {
    case 0: return t * t * (F(3) - F(2) * t);
    case 1: return F(6) * t * (F(1) - t);
    case 2: return F(6) - F(12) * t;
    default: return F(order == 3 ? -12 : 0);
  }
}

// Beyond 0..1 the grid is constant as at its border, so all derivatives there are 0. A NaN gives NaN weights,
// in an existing cell.
template <class F> VELDT_FN GridAxis<F> grid_axis(F x, double cells, bool smooth, int order) {
  const F zero(0), one(1), last(cells - 1);
  const F within = select_gt(zero, x, zero, select_gt(x, one, one, select_nan(x, zero, x)));
  const F scaled = within * F(cells), below = floor(scaled);
  const F cell = select_gt(below, last, last, below);
  const F t = select_nan(x, x, scaled - cell), high = grid_weight(t, smooth, order);
  if (order == 0) return {cell, one - high, high};
  double scale = 1;
  for (int i = 0; i < order && i < 4; ++i) scale *= cells;  // from the fifth on the derivative is 0 anyway
  const F inside = select_gt(zero, x, zero, select_gt(x, one, zero, select_nan(x, x, one)));
  const F slope = F(scale) * inside * high;
  return {cell, -slope, slope};
}

#include "veldt/kernels/close-inl.h"
#endif
