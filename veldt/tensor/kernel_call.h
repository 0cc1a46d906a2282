// One call of a backend's function as an object, to observe, record or replay it.
// Tests: tests/tensor/profile_test.cpp, tests/tensor/plan_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "veldt/core/backend.h"

namespace veldt {

// kernel: the same at each replay. numbers: a host function that only calls optimize, random and contiguous
// copies, the same ones each time with other numbers or sources, or no kernel. host: any other host function.
enum class CallKind : std::uint8_t { kernel, numbers, host };

// One call of a backend's function with all its arguments.
class KernelCall {
 public:
  virtual ~KernelCall() = default;
  virtual void run(const Backend&) const = 0;
  virtual std::unique_ptr<KernelCall> copy() const = 0;
  // "matmul"; for the elementwise families the formula's own name, "tanh" or "tanh slope".
  virtual std::string name(const Backend&) const = 0;
  // The facts of the entry that is called; a host function has no entry, but facts of its own.
  virtual const EntryFacts& facts() const = 0;
  bool is(Entry entry) const { return &facts() == &facts_of(entry); }
  virtual CallKind kind() const { return CallKind::kernel; }
  // Its views, in the order of its arguments.
  virtual std::span<View> views() = 0;
  std::span<const View> views() const { return const_cast<KernelCall*>(this)->views(); }
  // Whether the call writes into views()[i].
  virtual bool writes(std::size_t i) const = 0;
  // Floating point operations; an elementwise one counts as one for each element.
  virtual double flops() const = 0;
};

}  // namespace veldt
