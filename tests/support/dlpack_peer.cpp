// A library for tests/tensor/dlpack_peer.py: a tensor that it gives away, and what it sees of one that it is
// given.
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/foreign.h"

using namespace veldt;

namespace {

Tensor given;  // the last tensor that was taken

// 0, 1, .. 11 as [4, 3], transposed.
Tensor& exported() {
  static Tensor x = transpose(reshape(arange(12, DType::f32), {3, 4}));
  return x;
}

}  // namespace

extern "C" {
DLManagedTensor* peer_give() { return to_dlpack(exported()); }
void* peer_address() { return exported().data<float>(); }
int peer_is_shared() { return exported().is_shared() ? 1 : 0; }
double peer_at(int row, int column) { return exported()(row, column).item(); }
// Takes a tensor, doubles it in place and gives its address.
void* peer_take(DLManagedTensor* managed) {
  given = from_dlpack(managed);
  given *= 2;
  return given.view().data;
}
double peer_sum() { return sum(to(given, DType::f64)).item(); }
void peer_let_go() { given = {}; }
}
