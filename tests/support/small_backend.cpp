// A backend of eleven functions, as docs/design.md tells how to begin one.
#include "tests/support/small_backend.h"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string>

#include "veldt/core/device_steps.h"
#include "veldt/core/error.h"
#include "veldt/kernels/binary-inl.h"
#include "veldt/kernels/convert.h"
#include "veldt/kernels/formula_name.h"
#include "veldt/kernels/unary-inl.h"

namespace veldt::test {
namespace {

// --- memory

constexpr std::uintptr_t kElsewhere = std::uintptr_t{0x00E0} << 48;

template <class T> T* here(T* on_device) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(on_device) - kElsewhere);
}

// The addresses as the system knows them. A pool keeps its memory until the process ends, and the leak
// sanitizer, which looks for pointers, cannot read those that the pool has.
struct Blocks {
  std::mutex mutex;
  std::set<void*> all;
};
Blocks& blocks() {
  static Blocks& blocks = *new Blocks;  // outlives the pools
  return blocks;
}

void* allocate(std::size_t bytes) {
  void* const p = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (p == nullptr) throw OutOfMemory("small has no more memory", "the system refused", "free some");
  const std::lock_guard lock(blocks().mutex);
  blocks().all.insert(p);
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(p) + kElsewhere);
}
void deallocate(void* p, std::size_t) {
  const std::lock_guard lock(blocks().mutex);
  if (blocks().all.erase(here(p)) != 1) std::abort();  // not what allocate() gave
  std::free(here(p));
}
void upload(void* to, const void* from, std::size_t bytes) { std::memcpy(here(to), from, bytes); }
void download(void* to, const void* from, std::size_t bytes) { std::memcpy(to, here(from), bytes); }
void synchronize() {}

// --- elements

// Element i of a view, in row-major order.
template <class T> T& at(const View& v, std::int64_t i) {
  std::int64_t offset = 0;
  for (int d = v.shape.rank() - 1; d >= 0; --d) {
    offset += i % v.shape[d] * v.strides[d];
    i /= v.shape[d];
  }
  return here(v.as<T>())[offset];
}

// Wide: what numbers are computed as.
template <class Wide> Wide get(const View& v, std::int64_t i) {
  Wide value{};
  scalar::with_type(v.dtype,
                    [&](auto type) { value = static_cast<Wide>(scalar::load(at<decltype(type)>(v, i))); });
  return value;
}
template <class Wide> void put(const View& v, std::int64_t i, Wide value) {
  scalar::with_type(v.dtype,
                    [&](auto type) { at<decltype(type)>(v, i) = scalar::store<decltype(type)>(value); });
}

// The formula at `op` of a list, on floats as doubles and on whole numbers.
template <class... Op, class... In>
void each(TypeList<Op...>, Entry entry, int op, Scalars s, const View& out, const In&... in) {
  const auto compute = [&](const auto& f) {
    for (std::int64_t i = 0; i < numel(out.shape); ++i)
      if (is_float(out.dtype))
        put(out, i, f.forward(get<double>(in, i)...));
      else if constexpr (requires { f.whole(get<std::int64_t>(in, i)...); })
        put(out, i, f.whole(get<std::int64_t>(in, i)...));
      else
        refuse_dtype("small", formula_name(entry, op), out.dtype, kF32F64);
  };
  int index = 0;
  ((index++ == op ? compute(formula<Op>(s.a, s.b)) : void()), ...);
}

void fill(const View& out, double value) {
  for (std::int64_t i = 0; i < numel(out.shape); ++i) put(out, i, value);
}
void copy(const View& from, const View& to) {
  for (std::int64_t i = 0; i < numel(to.shape); ++i)
    is_float(from.dtype) ? put(to, i, get<double>(from, i)) : put(to, i, get<std::int64_t>(from, i));
}
void unary(int op, Scalars s, const View& x, const View& y) {
  each(scalar::UnaryOps(), Entry::unary, op, s, y, x);
}
void binary(int op, const View& a, const View& b, const View& out) {
  each(scalar::BinaryOps(), Entry::binary, op, {}, out, a, b);
}

void matmul(const View& a, const View& b, const View* bias, const View& out) {
  const std::int64_t rows = out.shape[1], columns = out.shape[2], k = a.shape[2];
  for (std::int64_t i = 0; i < numel(out.shape); ++i) {
    const std::int64_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
    double sum = bias ? get<double>(*bias, i) : 0;
    for (std::int64_t j = 0; j < k; ++j)
      sum +=
          get<double>(a, (batch * rows + row) * k + j) * get<double>(b, (batch * k + j) * columns + column);
    put(out, i, sum);
  }
}

// Steps that a Plan must not ask for, since the backend lacks what they are made of.
void* never(const View*) {
  throw DeviceError("small was asked to keep a step", "it lacks entries", "replay calls");
}
constexpr DeviceSteps kSteps = {never, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

const Backend& open_small(Device device) {
  if (device.index != 0) throw DeviceError("there is no second small", "one is enough", "use small:0");
  static const Backend table = {.device = device,
                                .allocate = allocate,
                                .deallocate = deallocate,
                                .upload = upload,
                                .download = download,
                                .synchronize = synchronize,
                                .formula_name = formula_name,
                                .steps = &kSteps,
                                .fill = fill,
                                .copy = copy,
                                .unary = unary,
                                .binary = binary,
                                .matmul = matmul};
  return table;
}

}  // namespace veldt::test
