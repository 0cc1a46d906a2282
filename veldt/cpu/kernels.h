// The CPU's side of core/backend.h, one function per entry of the table, grouped by the file that holds them.
#pragma once

#include "veldt/core/backend.h"

namespace veldt::cpu {

// memory.cpp
void* allocate(std::size_t bytes);
void deallocate(void* p, std::size_t bytes);
void upload(void* to, const void* from, std::size_t bytes);
void download(void* to, const void* from, std::size_t bytes);
void synchronize();

// copy.cpp
void fill(const View& out, double value);
void copy(const View& from, const View& to);

// unary.cpp
void unary(int op, Scalars, const View& x, const View& y);
void unary_slope(int op, Scalars, const View& x, const View& y, const View& g, const View& out);

// binary.cpp
void binary(int op, const View& a, const View& b, const View& out);
void ternary(int op, const View& a, const View& b, const View& c, const View& out);
void accumulate(const View& from, const View& into);

// compare.cpp
void compare(int op, const View& a, const View& b, const View& out);
void where(const View& condition, const View& a, const View& b, const View& out);

// reduce.cpp
void reduce(ReduceOp, const View& x, const View& out);
void arg_reduce(ReduceOp, const View& x, int dim, const View& out);

// softmax.cpp
void softmax(bool log, const View& x, int dim, const View& out);
void softmax_slope(bool log, const View& y, const View& g, int dim, const View& dx);

// norm.cpp
void layer_norm(bool centred, double eps, const View& x, const View* weight, const View* bias,
                const View& moments, const View& y);
void layer_norm_slope(bool centred, const View& x, const View* weight, const View& moments, const View& g,
                      const View& dx, const View* dweight, const View* dbias);

// attention.cpp
void attend(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
            const View& sums, const View& out);
void attend_slope(bool causal, double scale, const View& q, const View& k, const View& v, const View* mask,
                  const View& sums, const View& out, const View& g, const View& dq, const View& dk,
                  const View& dv);

// lstm.cpp
void lstm(bool reverse, const View& inputs, const View& weight, const View& h, const View& c,
          const View& gates, const View& out);
void lstm_slope(bool reverse, const View& weight, const View& c, const View& gates, const View& out,
                const View& g, const View& dgates, const View& dh, const View& dc);

// scan.cpp
void recurrence(ReduceOp, const View& x, const View* factor, int dim, bool reverse, const View& out);

// sort.cpp
void argsort(const View& x, int dim, bool descending, const View& out);

// search.cpp
void search(const View& x, const View& values, const View& out);

// ramp.cpp
void ramp(const Ramp&, const View& out);
void positions(const View& mask, const View& out);

// matmul.cpp
void matmul(const View& a, const View& b, const View* bias, const View& out);
bool multiplies(DType, std::int64_t m, std::int64_t n);

// convolution.cpp
void convolve(const ConvLayout&, ConvPart, const View& a, const View& b, const View* bias, const View& out);

// max_pool.cpp
void max_pool(const PoolLayout&, const View& x, const View& out, const View* index);

// avg_pool.cpp
void avg_pool(const PoolLayout&, bool transposed, const View& from, const View& to);

// gather.cpp
void gather(const View& x, int dim, const View& index, const View& out);
void scatter_add(const View& g, int dim, const View& index, const View& out);
void scatter(const View& source, int dim, const View& index, const View& out);
void index_range(const View& index, std::int64_t* low, std::int64_t* high);

// grid.cpp
void grid_encode(const GridLayout&, const GridDerivative&, const View& x, const View& table, const View& out);
void grid_scatter(const GridLayout&, const GridDerivative&, const View& x, const View& g, const View& table);

// random.cpp
void random(RandomKind, std::uint64_t seed, std::uint64_t rng_stream, std::uint64_t position,
            const View& out);

// mlp.cpp
void mlp(const MlpStep&, const View* arrays, int count);
std::size_t mlp_workspace(const MlpStep&, std::int64_t n, bool wants_dx);

// optimizer.cpp
void optimize(const OptimizerStep&, const View* arrays, int count);
double dot(const View& a, const View& b);

}  // namespace veldt::cpu
