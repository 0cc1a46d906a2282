// The table of the CUDA backend, and what the library exports.
#include "veldt/core/error.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/kernels.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cuda {
namespace {

// For entries that have no kernel yet.
template <auto Entry> struct Refused;
template <class R, class... Args, R (*Backend::*Entry)(Args...)> struct Refused<Entry> {
  static R call(Args...) {
    throw DeviceError("cannot compute this op on cuda", "it has no kernel there", "use --device cpu");
  }
};
template <auto... Entries> void refuse(Backend& table) { ((table.*Entries = &Refused<Entries>::call), ...); }

std::size_t no_workspace(const MlpStep&, std::int64_t, bool) { return 0; }

Backend make_table(int index) {
  Backend b{};
  refuse<&Backend::matmul, &Backend::gather, &Backend::scatter_add, &Backend::scatter, &Backend::grid_encode,
         &Backend::grid_scatter, &Backend::mlp, &Backend::optimize>(b);
  b.device = Device{DeviceKind::cuda, index};
  b.formula_name = formula_name;
  b.allocate = allocate;
  b.deallocate = deallocate;
  b.upload = upload;
  b.download = download;
  b.synchronize = synchronize;
  b.fill = fill;
  b.copy = copy;
  b.unary = unary;
  b.unary_slope = unary_slope;
  b.binary = binary;
  b.compare = compare;
  b.accumulate = accumulate;
  b.where = where;
  b.reduce = reduce;
  b.arg_reduce = arg_reduce;
  b.softmax = softmax;
  b.recurrence = recurrence;
  b.argsort = argsort;
  b.positions = positions;
  b.ramp = ramp;
  b.index_range = index_range;
  b.random = random;
  b.dot = dot;
  b.mlp_workspace = no_workspace;
  return b;
}

const Backend& open(int index) {
  open_device(index);
  static const Backend table = make_table(index);
  return table;
}

}  // namespace
}  // namespace veldt::cuda

extern "C" __attribute__((visibility("default"))) const veldt::DevicePlugin& veldt_device_plugin() {
  static const veldt::DevicePlugin plugin = {VELDT_VERSION,
                                             sizeof(veldt::Backend),
                                             veldt::cuda::device_count,
                                             veldt::cuda::device_facts,
                                             veldt::cuda::open,
                                             {veldt::cuda::begin_graph, veldt::cuda::end_graph,
                                              veldt::cuda::launch_graph, veldt::cuda::destroy_graph}};
  return plugin;
}
