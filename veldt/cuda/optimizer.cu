// Optimizer steps over slabs of parameters, one pass through memory each. The formulas are in
// kernels/optimizer-inl.h.
#include "veldt/core/optimizer_step.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/numbers.h"
#include "veldt/cuda/runtime.h"
#include "veldt/kernels/optimizer-inl.h"

namespace veldt::cuda {
namespace {

using Index = std::int64_t;
constexpr int kMaxArrays = 6;

template <class T> struct Arrays {
  T* at[kMaxArrays];
  Index count;  // elements of each
  bool wide;    // all can be read 16 bytes at a time
};

// The neighbours that a thread works on at a time.
template <class T> struct alignas(16) Group {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T v[kSize];
};
template <class T> __device__ inline Group<T> load(const T* from, Index left, bool wide) {
  if (wide && left >= Group<T>::kSize) return *reinterpret_cast<const Group<T>*>(from);
  Group<T> group{};
  GPU_UNROLLED
  for (int j = 0; j < Group<T>::kSize; ++j)
    if (j < left) group.v[j] = from[j];
  return group;
}
template <class T> __device__ inline void store(const Group<T>& group, T* to, Index left, bool wide) {
  if (wide && left >= Group<T>::kSize) {
    *reinterpret_cast<Group<T>*>(to) = group;
    return;
  }
  GPU_UNROLLED
  for (int j = 0; j < Group<T>::kSize; ++j)
    if (j < left) to[j] = group.v[j];
}

// kLazy: elements whose gradient, the last array, is 0 stay as they are, and where it is 0 for all that a
// thread has, the other arrays are not looked at.
template <bool kLazy, class Rule, class T>
__global__ void __launch_bounds__(kThreads) step_kernel(Numbers<Rule> numbers, Arrays<T> arrays) {
  // Shared, for rules of many doubles would not leave enough registers.
  GPU_SHARED(double, room, (sizeof(Rule) + sizeof(double) - 1) / sizeof(double));
  Rule& rule = *reinterpret_cast<Rule*>(room);
  if (threadIdx.x == 0) rule = numbers();
  __syncthreads();
  constexpr int kSize = Group<T>::kSize, kWritten = Rule::kWritten, kLast = kWritten + Rule::kRead - 1;
  for (Index i = first_element() * kSize; i < arrays.count; i += element_step() * kSize) {
    const Index left = arrays.count - i;
    Group<T> group[kLast + 1];
    group[kLast] = load(arrays.at[kLast] + i, left, arrays.wide);
    if constexpr (kLazy) {
      bool any = false;
      GPU_UNROLLED
      for (int j = 0; j < kSize; ++j) any = any || group[kLast].v[j] != T(0);
      if (!any) continue;
    }
    GPU_UNROLLED
    for (int k = 0; k < kLast; ++k) group[k] = load(arrays.at[k] + i, left, arrays.wide);
    GPU_UNROLLED
    for (int j = 0; j < kSize; ++j) {
      if (kLazy && group[kLast].v[j] == T(0)) continue;
      T element[kLast + 1];
      GPU_UNROLLED
      for (int k = 0; k <= kLast; ++k) element[k] = group[k].v[j];
      rule(element);
      GPU_UNROLLED
      for (int k = 0; k < kWritten; ++k) group[k].v[j] = element[k];
    }
    GPU_UNROLLED
    for (int k = 0; k < kWritten; ++k) store(group[k], arrays.at[k] + i, left, arrays.wide);
  }
}

template <bool kLazy = false, class Rule, class T> void run(const Rule& rule, const Arrays<T>& arrays) {
  if (const auto numbers = numbers_of_step(rule))
    launch(step_kernel<kLazy, Rule, T>, blocks_for((arrays.count + Group<T>::kSize - 1) / Group<T>::kSize),
           kThreads, 0, *numbers, arrays);
}

// The rules are those of scalars: T is float or double.
template <class T> void step(const AdamStep& s, const Arrays<T>& a) {
  const scalar::AdamRule<T> rule(s);
  return s.lazy ? run<true>(rule, a) : run(rule, a);
}
template <class T> void step(const SgdStep& s, const Arrays<T>& a) {
  return s.momentum == 0 ? run(scalar::DescentRule<T>(s), a) : run(scalar::MomentumRule<T>(s), a);
}
template <class T> void step(const RmspropStep& s, const Arrays<T>& a) {
  using scalar::RmspropRule;
  if (s.momentum == 0 && !s.centered) return run(RmspropRule<T, false, false>(s), a);
  if (s.momentum == 0) return run(RmspropRule<T, false, true>(s), a);
  if (!s.centered) return run(RmspropRule<T, true, false>(s), a);
  run(RmspropRule<T, true, true>(s), a);
}
template <class T> void step(const RadamStep& s, const Arrays<T>& a) { run(scalar::RadamRule<T>(s), a); }
template <class T> void step(const AdagradStep& s, const Arrays<T>& a) { run(scalar::AdagradRule<T>(s), a); }
template <class T> void step(const LionStep& s, const Arrays<T>& a) { run(scalar::LionRule<T>(s), a); }
template <class T> void step(const AdanStep& s, const Arrays<T>& a) { run(scalar::AdanRule<T>(s), a); }
template <class T> void step(const ClipStep& s, const Arrays<T>& a) { run(scalar::ClipRule<T>(s), a); }
template <class T> void step(const LerpStep& s, const Arrays<T>& a) { run(scalar::LerpRule<T>(s), a); }

template <class T> void step_of(const OptimizerStep& s, const View* arrays, int count) {
  Arrays<T> a{};
  a.count = numel(arrays[0].shape);
  a.wide = true;
  for (int k = 0; k < count; ++k) {
    a.at[k] = arrays[k].as<T>();
    a.wide = a.wide && reinterpret_cast<std::uintptr_t>(arrays[k].data) % 16 == 0;
  }
  if (a.count == 0) return;
  std::visit([&](const auto& rule) { step(rule, a); }, s.rule);
}

}  // namespace

void optimize(const OptimizerStep& s, const View* arrays, int count) {
  const DType t = arrays[0].dtype;
  if (t == DType::f32) return step_of<float>(s, arrays, count);
  step_of<double>(s, arrays, count);
}

}  // namespace veldt::cuda
