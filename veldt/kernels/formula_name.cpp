// Not compiled for SIMD targets: kernels/*-inl.h are included as plain C++.
#include "veldt/kernels/formula_name.h"

#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/compare.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt {
namespace {

template <class... Op> const char* name_in(TypeList<Op...>, int op) {
  static constexpr const char* names[] = {Op::name...};
  return op < static_cast<int>(sizeof...(Op)) ? names[op] : nullptr;
}

}  // namespace

const char* formula_name(Entry entry, int op) {
  switch (entry) {
    case Entry::binary: return name_in(scalar::BinaryOps(), op);
    case Entry::ternary: return name_in(scalar::TernaryOps(), op);
    case Entry::compare: return name_in(CompareOps(), op);
    default: return name_in(scalar::UnaryOps(), op);
  }
}

}  // namespace veldt
