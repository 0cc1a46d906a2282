// The table of the tracing entries. Those that no file fills have no form in ONNX.
#include "veldt/onnx/trace.h"

namespace veldt::onnx {
namespace {

template <class Member> struct Refused;
template <class Result, class... Args> struct Refused<Result (*)(Args...)> {
  static Result call(Args...) {
    tracing().refuse_call();
    return Result();
  }
};

Scalars& kept_constants() {
  static thread_local Scalars kept;
  return kept;
}

}  // namespace

const Backend& tracing_backend() {
  static const Backend table = [] {
    Backend b{};
#define VELDT_ENTRY(name, ...) b.name = &Refused<decltype(Backend::name)>::call;
#define VELDT_ANSWER(result, name, ...) b.name = &Refused<decltype(Backend::name)>::call;
#include "veldt/core/entries.inc"
    trace_elementwise(b);
    trace_reductions(b);
    trace_lookups(b);
    trace_products(b);
    trace_windows(b);
    trace_sequences(b);
    trace_fields(b);
    return b;
  }();
  return table;
}

const Backend& constants_backend() {
  static const Backend table = [] {
    Backend b{};
    b.unary = [](int, Scalars constants, const View&, const View&) { kept_constants() = constants; };
    return b;
  }();
  return table;
}

Scalars last_constants() { return kept_constants(); }

}  // namespace veldt::onnx
