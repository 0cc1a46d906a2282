// Picking, writing and adding by index along one dimension. An index that is repeated along trailing
// dimensions moves whole rows, in units of up to 16 bytes.
//
// Where several elements of the index name one place their order counts. scatter lets each write its position
// there first, the largest stays, and only that one writes its value. scatter_add sorts the elements by place
// (radix.h keeps the order of equal ones), and one thread for each place adds them in the order of the index,
// as the CPU does: the same bits. A place that is named very often takes a long time.
#include "veldt/cuda/elementwise.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/radix.h"
#include "veldt/cuda/scratch.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;
struct alignas(16) Unit16 {
  std::uint64_t v[2];
};

// `v` with other strides, for a walk alone.
View strided(const View& v, const Strides& strides) {
  View out = v;
  out.strides = strides;
  return out;
}
View without(View v, int dim) {
  v.strides[dim] = 0;
  return v;
}

// The views of an entry, in units that rows are moved by: `table` is picked from or written into along `dim`
// by `index`, `rows` has the index's shape.
struct Move {
  View table, index, rows;
  int dim;
  std::size_t unit;  // bytes
};

// Takes `factor` neighbours as one, if they are neighbours everywhere.
bool widen(Move& m, int inner, Index factor) {
  if (inner < 0 || inner == m.dim || m.index.strides[inner] != 0 || m.rows.shape[inner] % factor != 0 ||
      m.table.strides[inner] != 1 || m.rows.strides[inner] != 1)
    return false;
  const std::size_t bytes = m.unit * static_cast<std::size_t>(factor);
  for (const View* v : {&m.table, &m.rows}) {
    if (reinterpret_cast<std::uintptr_t>(v->data) % bytes != 0) return false;
    for (int d = 0; d < inner; ++d)
      if (v->strides[d] % factor != 0 && v->shape[d] != 1) return false;
  }
  for (View* v : {&m.table, &m.rows})
    for (int d = 0; d < inner; ++d) v->strides[d] /= factor;
  for (View* v : {&m.table, &m.rows, &m.index}) v->shape[inner] /= factor;
  m.unit = bytes;
  return true;
}

Move move_of(const View& table, int dim, const View& index, const View& rows) {
  Move m = {table, index, rows, dim, size_of(rows.dtype)};
  m.table.shape = index.shape;
  m.table.shape[dim] = table.shape[dim];
  int inner = index.shape.rank() - 1;
  while (inner >= 0 && inner != dim && index.shape[inner] == 1) --inner;
  while (m.unit < 16 && widen(m, inner, 2)) {
  }
  return m;
}

template <class Unit>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(ElementWalk w, const Unit* table, Index step, const Index* index, Unit* rows) {
  for (Index i = first_element(); i < w.count; i += element_step()) {
    Index at[3];
    offsets_of(w, i, at);
    rows[at[2]] = table[at[0] + index[at[1]] * step];
  }
}

// The first step of scatter, over the index alone: of the positions that name a place the largest stays.
__global__ void __launch_bounds__(kThreads)
    claim_kernel(ElementWalk w, const Index* index, Index step, long long* claims) {
  for (Index i = first_element(); i < w.count; i += element_step()) {
    Index at[3];  // of the index, of its place, and the position along the dimension
    offsets_of(w, i, at);
    atomicMax(claims + at[1] + index[at[0]] * step, static_cast<long long>(at[2]));
  }
}

template <class Unit>
__global__ void __launch_bounds__(kThreads)
    scatter_kernel(ElementWalk w, const Unit* rows, const Index* index, Index claim_step,
                   const long long* claims, Index step, Unit* table) {
  for (Index i = first_element(); i < w.count; i += element_step()) {
    Index at[5];
    offsets_of(w, i, at);
    const Index target = index[at[0]];
    if (claims[at[1] + target * claim_step] == at[2]) table[at[4] + target * step] = rows[at[3]];
  }
}

// The index as far as its elements differ: where it is repeated, its first. And the places that those name:
// `count` of them, walked by the strides (along `dim`, of neighbouring places).
struct Places {
  View index, place, position;
  Index count = 1, step = 1;
};
Places places_of(const View& index, int dim, Index targets) {
  Places p = {index, index, index};
  for (int d = index.shape.rank() - 1; d >= 0; --d) {
    const bool repeats = d != dim && index.strides[d] == 0;
    p.position.strides[d] = d == dim ? 1 : 0;
    p.place.strides[d] = repeats || d == dim ? 0 : p.count;
    if (d == dim) p.step = p.count;
    if (!repeats) p.count *= d == dim ? targets : index.shape[d];
  }
  return p;
}
View first_of_repeated(View v, const View& index, int dim) {
  for (int d = 0; d < v.shape.rank(); ++d)
    if (d != dim && index.strides[d] == 0) v.shape[d] = 1;
  return v;
}

template <class Unit> void run_gather(const Move& m) {
  const View table = without(strided(m.rows, m.table.strides), m.dim);
  const ElementWalk w = walk_of({&table, &m.index, &m.rows});
  launch(gather_kernel<Unit>, blocks_for(w.count), kThreads, 0, w, m.table.as<const Unit>(),
         m.table.strides[m.dim], m.index.as<const Index>(), m.rows.as<Unit>());
}

template <class Unit> void run_scatter(const Move& m) {
  const Places p = places_of(m.index, m.dim, m.table.shape[m.dim]);
  const std::size_t bytes = static_cast<std::size_t>(p.count) * sizeof(long long);
  const Scratch claims(bytes);
  const View index = first_of_repeated(p.index, m.index, m.dim);
  const View place = first_of_repeated(p.place, m.index, m.dim);
  const View position = first_of_repeated(p.position, m.index, m.dim);
  const ElementWalk named = walk_of({&index, &place, &position});
  {
    const Turn turn = take_turn();
    check(cudaMemsetAsync(claims.as<void>(), 0xFF, bytes, compute_stream()),  // -1: none
          "clear memory on the GPU");
  }
  launch(claim_kernel, blocks_for(named.count), kThreads, 0, named, index.as<const Index>(), p.step,
         claims.as<long long>());
  const View table = without(strided(m.rows, m.table.strides), m.dim);
  const ElementWalk w = walk_of({&p.index, &p.place, &p.position, &m.rows, &table});
  launch(scatter_kernel<Unit>, blocks_for(w.count), kThreads, 0, w, m.rows.as<const Unit>(),
         m.index.as<const Index>(), p.step, claims.as<const long long>(), m.table.strides[m.dim],
         m.table.as<Unit>());
}

// For each element of the index the place it names.
__global__ void __launch_bounds__(kThreads)
    place_kernel(ElementWalk w, const Index* index, Index step, std::uint64_t* places) {
  for (Index i = first_element(); i < w.count; i += element_step()) {
    Index at[2];
    offsets_of(w, i, at);
    places[i] = static_cast<std::uint64_t>(at[1] + index[at[0]] * step);
  }
}

// `named`: the index's elements, in whose order `elements` count, and where each has its row and its part of
// the table; `row`: the part of those that a row is. A thread whose element is the first of its place adds
// all of them.
template <class T, class G>
__global__ void __launch_bounds__(kThreads)
    add_kernel(ElementWalk named, ElementWalk row, Index in_row, const std::uint64_t* places,
               const Index* elements, const Index* index, Index step, const G* rows, T* table) {
  for (Index i = first_element(); i < named.count * in_row; i += element_step()) {
    const Index first = i / in_row;
    const std::uint64_t place = places[first];
    if (first > 0 && places[first - 1] == place) continue;
    Index inner[2], at[3];
    offsets_of(row, i - first * in_row, inner);
    offsets_of(named, elements[first], at);
    T* const to = table + at[2] + index[at[0]] * step + inner[1];
    T sum = *to;
    for (Index k = first; k < named.count && places[k] == place; ++k) {
      offsets_of(named, elements[k], at);
      sum = static_cast<T>(sum + scalar::load(rows[at[1] + inner[0]]));
    }
    *to = sum;
  }
}

template <class T, class G = T>
void run_scatter_add(const View& g, int dim, const View& index_view, const View& out) {
  View table = without(strided(g, out.strides), dim);
  const Places p = places_of(index_view, dim, out.shape[dim]);
  const auto first = [&](const View& v) { return first_of_repeated(v, index_view, dim); };
  const View index = first(p.index), place = first(p.place), from = first(g), to = first(table);
  const ElementWalk placed = walk_of({&index, &place}), named = walk_of({&index, &from, &to});
  // What is repeated, and the rest of it 1.
  View row_from = g, row_to = table;
  for (View* v : {&row_from, &row_to})
    for (int d = 0; d < index.shape.rank(); ++d)
      if (index.shape[d] == g.shape[d]) v->shape[d] = 1;
  const ElementWalk row = walk_of({&row_from, &row_to});
  Sorted sorted(named.count, static_cast<std::uint64_t>(p.count - 1));
  launch(place_kernel, blocks_for(placed.count), kThreads, 0, placed, index.as<const Index>(), p.step,
         sorted.keys());
  sorted.sort();
  launch(add_kernel<T, G>, blocks_for(named.count * row.count), kThreads, 0, named, row, row.count,
         sorted.keys(), sorted.positions(), index.as<const Index>(), out.strides[dim], g.as<const G>(),
         out.as<T>());
}

}  // namespace

void gather(const View& x, int dim, const View& index, const View& out) {
  if (numel(out.shape) == 0) return;
  const Move m = move_of(x, dim, index, out);
  switch (m.unit) {
    case 1: return run_gather<std::uint8_t>(m);
    case 2: return run_gather<std::uint16_t>(m);
    case 4: return run_gather<std::uint32_t>(m);
    case 8: return run_gather<std::uint64_t>(m);
    default: return run_gather<Unit16>(m);
  }
}

void scatter(const View& source, int dim, const View& index, const View& out) {
  if (numel(index.shape) == 0) return;
  const Move m = move_of(out, dim, index, source);
  switch (m.unit) {
    case 1: return run_scatter<std::uint8_t>(m);
    case 2: return run_scatter<std::uint16_t>(m);
    case 4: return run_scatter<std::uint32_t>(m);
    case 8: return run_scatter<std::uint64_t>(m);
    default: return run_scatter<Unit16>(m);
  }
}

void scatter_add(const View& g, int dim, const View& index, const View& out) {
  if (numel(index.shape) == 0) return;
  if (out.dtype == DType::f32 && g.dtype == DType::bf16)
    return run_scatter_add<float, scalar::BFloat16>(g, dim, index, out);
  if (out.dtype == DType::f32 && g.dtype == DType::f16)
    return run_scatter_add<float, scalar::Float16>(g, dim, index, out);
  if (out.dtype == DType::f32) return run_scatter_add<float>(g, dim, index, out);
  if (out.dtype == DType::f64) return run_scatter_add<double>(g, dim, index, out);
  // Unsigned, because a sum that overflows wraps.
  if (out.dtype == DType::i64) return run_scatter_add<std::uint64_t>(g, dim, index, out);
  if (out.dtype == DType::i32) return run_scatter_add<std::uint32_t>(g, dim, index, out);
  run_scatter_add<std::uint8_t>(g, dim, index, out);
}

}  // namespace veldt::cuda
