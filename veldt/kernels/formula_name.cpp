// Not compiled for SIMD targets: kernels/*-inl.h are included as plain C++.
#include "veldt/kernels/formula_name.h"

#include <cstring>

#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt {
namespace {

template <class... Op> const char* name_in(TypeList<Op...>, int op) {
  static constexpr const char* names[] = {Op::name...};
  return names[op];
}

}  // namespace

const char* formula_name(const char* entry, int op) {
  if (std::strcmp(entry, "binary") == 0) return name_in(scalar::BinaryOps(), op);
  if (std::strcmp(entry, "ternary") == 0) return name_in(scalar::TernaryOps(), op);
  if (std::strcmp(entry, "compare") == 0) return name_in(CompareOps(), op);
  return name_in(scalar::UnaryOps(), op);
}

}  // namespace veldt
