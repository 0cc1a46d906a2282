// The waist of the house. A Backend is memory and one function per op family, over Views.
// It knows nothing of tensors and gradients. All checks (shapes, dtypes, devices) happen above it, in ops/;
// a backend throws DeviceError only for a dtype it has no kernel for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "veldt/core/device.h"
#include "veldt/core/view.h"

namespace veldt {

// The constants of an elementwise op, such as omega of sine(x) = sin(omega x) or the bounds of clamp.
struct Scalars {
  double a = 0, b = 0;
};

// norm: the root of the sum of squares, of floats alone.
enum class ReduceOp : std::uint8_t { sum, mean, prod, max, min, norm };
enum class RandomKind : std::uint8_t { uniform, normal, word, permutation };

// Element i of floats: first + span i / parts; of whole numbers whole_first + whole_step i.
struct Ramp {
  double first = 0, span = 1, parts = 1;
  std::int64_t whole_first = 0, whole_step = 1;
};

struct OptimizerStep;   // core/optimizer_step.h
struct MlpStep;         // core/mlp.h
struct GridLayout;      // core/grid.h
struct GridDerivative;  // core/grid.h
struct ConvLayout;      // core/convolution.h
enum class ConvPart : std::uint8_t;
struct PoolLayout;  // core/pooling.h

struct Backend {
  Device device;

  // The name of formula `op` of an elementwise entry ("unary", "unary_slope", "binary", "ternary" or
  // "compare"), such as "tanh".
  const char* (*formula_name)(const char* entry, int op);

  // Memory, 64-byte aligned. allocate throws OutOfMemory.
  void* (*allocate)(std::size_t bytes);
  void (*deallocate)(void* p, std::size_t bytes);
  void (*upload)(void* to_device, const void* from_host, std::size_t bytes);
  void (*download)(void* to_host, const void* from_device, std::size_t bytes);
  void (*synchronize)();

  // Elementwise. All views have the same shape (inputs broadcast by strides of 0); `op` is an index into the
  // TypeList of that name in kernels/. One dtype for all views, except where said: a float one (bf16 and f16
  // are computed as f32 and rounded once), for unary and binary also i64, i32 and u8 where the formula has a
  // `whole`.
  void (*fill)(const View& out, double value);     // any dtype
  void (*copy)(const View& from, const View& to);  // any dtypes: converts, rounds to nearest even
  void (*unary)(int op, Scalars, const View& x, const View& y);
  // out = g * slope(x, y), y the op's forward value
  void (*unary_slope)(int op, Scalars, const View& x, const View& y, const View& g, const View& out);
  void (*binary)(int op, const View& a, const View& b, const View& out);
  // Floats; halves may stand beside f32, and the result is rounded once.
  void (*ternary)(int op, const View& a, const View& b, const View& c, const View& out);
  void (*compare)(int op, const View& a, const View& b, const View& out);  // out: boolean
  void (*accumulate)(const View& from, const View& into);  // into += from, where gradients meet
  void (*where)(const View& condition, const View& a, const View& b, const View& out);

  // out has x's rank; its size is 1 along each reduced dimension. Fixed order whatever the thread count.
  // Sums, means and products of floats are accumulated in f64, of whole numbers in i64; halves give f32 or
  // f64.
  void (*reduce)(ReduceOp, const View& x, const View& out);
  // The first index of the largest or smallest (op: max or min) element along `dim`; out: i64, size 1 along
  // dim.
  void (*arg_reduce)(ReduceOp op, const View& x, int dim, const View& out);
  // Along one dimension: e^x over its sum, or the logarithm of that. Halves are computed as f32 and rounded
  // once, or given as f32.
  void (*softmax)(bool log, const View& x, int dim, const View& out);
  // dx for its result y and a gradient g of it, all of one dtype.
  void (*softmax_slope)(bool log, const View& y, const View& g, int dim, const View& dx);
  // Each line of x [lines, n]: y = (x - mean) scale weight + bias with scale = 1 / sqrt(variance + eps);
  // without `centred` the mean counts as 0. moments [lines, 2]: the mean and the scale. weight and bias
  // [groups, k], or null: line i has row i % groups, of which each number is for n / k neighbours. All
  // contiguous, f32 or f64; x and y may be of halves beside f32.
  void (*layer_norm)(bool centred, double eps, const View& x, const View* weight, const View* bias,
                     const View& moments, const View& y);
  // The gradients by x, and by weight and bias unless they are null, for a gradient g of y; in a fixed order.
  void (*layer_norm_slope)(bool centred, const View& x, const View* weight, const View& moments,
                           const View& g, const View& dx, const View* dweight, const View* dbias);
  // out = softmax(scale q k^T + mask) v for each example and head; with `causal` query i sees keys 0 .. i
  // alone. q [n, heads, queries, size], k [n, heads, keys, size], v and out [n, heads, .., width] and mask
  // [n, heads, queries, keys] of any strides, one key or more; sums [n, heads, queries], contiguous: the
  // logarithm of what each softmax divides by. f32 or f64. The mask may be null, or boolean: then it says
  // which keys are seen, and a query that sees none gets 0.
  void (*attend)(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
                 const View& sums, const View& out);
  // The gradients by q, k and v for a gradient g of out; in a fixed order.
  void (*attend_slope)(bool causal, double scale, const View& q, const View& k, const View& v,
                       const View* mask, const View& sums, const View& out, const View& g, const View& dq,
                       const View& dk, const View& dv);
  // All steps of an LSTM, from the last to the first with `reverse`. inputs [time, n, 4 hidden] plus h
  // weight^T of the step before are the sums of the gates i, f, g, o; gates [time, n, 4 hidden] after their
  // functions; out [time, n, 2 hidden]: h and behind it c. weight [4 hidden, hidden]; h and c, the first
  // state, [n, hidden]. All contiguous, f32 or f64.
  void (*lstm)(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
               const View& gates, const View& out);
  // The gradients by the sums (that is, by inputs), by h and by c, for a gradient g of out.
  void (*lstm_slope)(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
                     const View& g, const View& dgates, const View& dh, const View& dc);
  // Along dim, from its last position on with `reverse`: of the op sum, out_t = factor_t out_(t-1) + x_t,
  // where a null factor is 1; of prod, which has no factor, out_t = x_t out_(t-1). Floats, accumulated in
  // f64, halves in f32; and i64.
  void (*recurrence)(ReduceOp, const View& x, const View* factor, int dim, bool reverse, const View& out);
  // The stable order of each line along dim, as i64 positions, or as many of its first ones as out takes; a
  // NaN is the largest. Any dtype.
  void (*argsort)(const View& x, int dim, bool descending, const View& out);
  // How many numbers of line i of x [lines, n], which rise, are at most each of values [lines, k]: out
  // [lines, k], i64. All contiguous, x and values f64.
  void (*search)(const View& x, const View& values, const View& out);

  // out[b, m, n] = a[b, m, k] b[b, k, n] (+ bias, broadcast by strides). Rank 3 views of any strides;
  // transposed operands are read where they lie. `bias` may be null.
  void (*matmul)(const View& a, const View& b, const View* bias, const View& out);
  // Whether matmul takes this dtype for a product [m, n]: f32 and f64 always.
  bool (*multiplies)(DType, std::int64_t m, std::int64_t n);

  // A convolution: `part` says which of x [n, c_in, spatial ..], w [c_out, c_in / groups, kernel ..] and
  // y [n, c_out, spatial ..] is computed, from the other two in that order. bias [c_out], or null, is for y
  // alone. All contiguous, f32 or f64.
  void (*convolve)(const ConvLayout&, ConvPart part, const View& a, const View& b, const View* bias,
                   const View& out);

  // The largest element of each window of x [planes, inputs], and its place within the plane, i64; of equals
  // the first, and the first NaN. out and index [planes, outputs]; index may be null. All contiguous, f32 or
  // f64.
  void (*max_pool)(const PoolLayout&, const View& x, const View& out, const View* index);
  // The mean of each window of x [planes, inputs]: y [planes, outputs]; or `transposed`, x from y: what a
  // gradient of the means is for the elements. All contiguous, f32 or f64.
  void (*avg_pool)(const PoolLayout&, bool transposed, const View& from, const View& to);

  // out[.., i, ..] = x[.., index[.., i, ..], ..] along dim; index: i64 of out's shape, already checked to be
  // in range.
  void (*gather)(const View& x, int dim, const View& index, const View& out);
  // out[.., index[.., i, ..], ..] += g[.., i, ..]: the gradient of gather, in a fixed order. g may be of
  // halves beside f32.
  void (*scatter_add)(const View& g, int dim, const View& index, const View& out);
  // out[.., index[.., i, ..], ..] = source[.., i, ..], in the order of the index: the last one stays.
  void (*scatter)(const View& source, int dim, const View& index, const View& out);
  // Where a boolean view of rank 1 or more holds, in row-major order: the first positions, as many rows of
  // i64 coordinates as out [count, rank] takes. All contiguous.
  void (*positions)(const View& mask, const View& out);
  // out: a list of any dtype.
  void (*ramp)(const Ramp&, const View& out);
  // The smallest and largest value of an i64 view (for range checks); {0, -1} when empty.
  void (*index_range)(const View& index, std::int64_t* low, std::int64_t* high);

  // A multiresolution grid, or a derivative of it by the points: x [n, dims], table [entries, features], out
  // [n, levels * features]. All contiguous, f32 or f64.
  void (*grid_encode)(const GridLayout&, const GridDerivative&, const View& x, const View& table,
                      const View& out);
  // table = the transpose of grid_encode by its table, times g [n, levels * features]; in a fixed order.
  void (*grid_scatter)(const GridLayout&, const GridDerivative&, const View& x, const View& g,
                       const View& table);

  // Uniform in [0,1) or standard normal (Box-Muller) from draw `position` of Rng(seed, stream) on, in
  // row-major order; a normal number takes two draws, and so does a uniform f64. out: contiguous f32 or f64.
  // word: the draw itself, 32 bits, as i64. permutation: 0 .. n - 1 in random order, as i64, of two draws
  // each (kernels/draws.h).
  void (*random)(RandomKind, std::uint64_t seed, std::uint64_t rng_stream, std::uint64_t position,
                 const View& out);

  // A stack of layers in one call; arrays as MlpStep::Array says. The bytes of workspace that a call over n
  // rows takes; 0 if this backend has no such kernel (bf16 on a processor that cannot multiply it).
  void (*mlp)(const MlpStep&, const View* arrays, int count);
  std::size_t (*mlp_workspace)(const MlpStep&, std::int64_t n, bool wants_dx);

  // One step of an optimizer over `count` contiguous arrays of equal length and dtype (f32 or f64), in the
  // order that the step's struct gives.
  void (*optimize)(const OptimizerStep&, const View* arrays, int count);
  // The sum of a[i] b[i] of two contiguous arrays (f32 or f64), summed in double in a fixed order.
  double (*dot)(const View& a, const View& b);
};

}  // namespace veldt
