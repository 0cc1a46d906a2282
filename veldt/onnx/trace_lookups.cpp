// Reading and writing by index, sorting.
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

// Whether the index says the same for all positions of the other dimensions, which are the whole of x's: then
// it is a list of slices of x.
bool takes_slices(const View& x, int dim, const View& index) {
  for (int d = 0; d < index.shape.rank(); ++d)
    if (d != dim && (index.shape[d] != x.shape[d] || (index.strides[d] != 0 && index.shape[d] != 1)))
      return false;
  return true;
}

void gather_entry(const View& x, int dim, const View& index, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int from = t.held().read(x);
  if (takes_slices(x, dim, index)) {
    View list = index;
    list.shape = {index.shape[dim]};
    list.strides = {index.strides[dim]};
    // Of rows, in the shape that the index had: tokens [n, time] give [n, time, size].
    if (const auto whole =
            x.shape.rank() == 2 && dim == 0 ? t.held().whole(list, list.shape[0]) : std::nullopt)
      return t.held().write_packed(out, n.gather(from, whole->value, 0));
    return t.held().write(out, n.gather(from, t.held().read(list), static_cast<std::size_t>(dim)));
  }
  t.held().write(out, n.node("GatherElements", {from, t.held().read(index)}, out.dtype,
                             {out.shape.begin(), out.shape.end()}, {{"axis", std::int64_t{dim}}}));
}

void scattered(const View& source, int dim, const View& index, const View& out, bool adds) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int before = t.held().read(out), given = n.cast(t.held().read(source), out.dtype);
  TracedAttributes attributes = {{"axis", std::int64_t{dim}}};
  if (adds) attributes.push_back({"reduction", std::string("add")});
  t.held().write(out, n.node("ScatterElements", {before, t.held().read(index), given}, out.dtype,
                             n.shape(before), attributes));
}

void scatter_add_entry(const View& g, int dim, const View& index, const View& out) {
  scattered(g, dim, index, out, true);
}
void scatter_entry(const View& source, int dim, const View& index, const View& out) {
  scattered(source, dim, index, out, false);
}

// TopK gives equal ones in the order of their places, as a stable sort does.
void argsort_entry(const View& x, int dim, bool descending, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int values = n.node("TopK", {t.held().read(x), n.sizes({out.shape[dim]})}, x.dtype,
                            {out.shape.begin(), out.shape.end()},
                            {{"axis", std::int64_t{dim}}, {"largest", std::int64_t{descending}}});
  t.held().write(out, n.graph().add_output(values, DType::i64, {out.shape.begin(), out.shape.end()}));
}

// The numbers of a line that are at most each value are counted.
void search_entry(const View& x, const View& values, const View& out) {
  Tracer& t = tracing();
  TraceNodes& n = t.nodes();
  const int line = n.reshape(t.held().read(x), {x.shape[0], 1, x.shape[1]}),
            wanted = n.reshape(t.held().read(values), {values.shape[0], values.shape[1], 1});
  const int counted = n.reduce("ReduceSum", n.cast(n.compare("LessOrEqual", line, wanted), DType::i64), {2});
  t.held().write(out, n.reshape(counted, {out.shape.begin(), out.shape.end()}));
}

}  // namespace

void trace_lookups(Backend& table) {
  table.gather = gather_entry;
  table.scatter_add = scatter_add_entry;
  table.scatter = scatter_entry;
  table.argsort = argsort_entry;
  table.search = search_entry;
}

}  // namespace veldt::onnx
