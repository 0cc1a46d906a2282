// The kernels of a stack of layers (mlp.cpp), all f32. A matrix of activations is stored in panels of kPanel
// columns, [columns / kPanel][rows][kPanel], so that strides are at most four cache lines; a panel's columns
// are in steps of kColumns, and columns beyond the layer's own are zero or unused.
// Tests: tests/ops/mlp_test.cpp
#pragma once

#include <cstdint>

#include "veldt/core/mlp.h"

namespace veldt::cpu {

struct MlpKernels {
  static constexpr std::int64_t kPanel = 64, kColumns = 16;
  static constexpr std::int64_t kRows = 6;  // rows that product() takes at a time

  // z[row] = bias + a[row] w for `rows` rows (a multiple of kRows) and the first `columns` of a panel. a: its
  // panels of `steps` columns in all, `panel_stride` floats apart; w [steps][kPanel].
  void (*product)(const float* a, std::int64_t panel_stride, std::int64_t steps, const float* w,
                  const float* bias, float* z, std::int64_t rows, std::int64_t columns);
  // out[n][k] += d[r][n] a[r][k] over the rows of two panels, for the first n and k columns of them; out
  // [kPanel][kPanel]. Rounded up, n to a multiple of kRows and k to one of kColumns.
  void (*outer)(const float* d, const float* a, std::int64_t rows, std::int64_t n, std::int64_t k,
                float* out);
  // The same for few n: out[n][k] with d [r][d_stride].
  void (*outer_thin)(const float* d, std::int64_t d_stride, const float* a, std::int64_t rows, std::int64_t n,
                     std::int64_t k, float* out);
  // z -> f(z) in place, to 1e-7, and f'(z) to slope, unless that is null.
  void (*activate)(const MlpLayer&, float* z, float* slope, std::int64_t rows, std::int64_t columns);
  // d[r][k] *= slope[r][k], [rows][kPanel]; sums[k] += d[r][k]. Without a slope it is 1. scale_and_sum16: of
  // slopes in bf16, [rows][columns].
  void (*scale_and_sum)(float* d, const float* slope, std::int64_t rows, std::int64_t columns, float* sums);
  void (*scale_and_sum16)(float* d, const std::uint16_t* slope, std::int64_t rows, std::int64_t columns,
                          float* sums);
  // out[r][j] += the dot products of all panels' rows with w [panel][n][kPanel], n <= MlpStep::kThinOutput.
  void (*thin_forward)(const float* a, std::int64_t panel_stride, std::int64_t rows, std::int64_t columns,
                       const float* w, std::int64_t n, float* out);
  // d[r][k] = the sum over j of dy[r][j] w[j][k], n <= MlpStep::kThinOutput.
  void (*thin_backward)(const float* dy, std::int64_t rows, std::int64_t columns, const float* w,
                        std::int64_t n, float* d);
};

const MlpKernels& mlp_kernels();

}  // namespace veldt::cpu
