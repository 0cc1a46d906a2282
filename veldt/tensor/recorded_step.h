// A recorded step: the calls, the memory they reach, and the state that a replay must check or update.
// Tests: tests/tensor/plan_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "veldt/core/backend.h"
#include "veldt/core/pool.h"
#include "veldt/tensor/captured.h"
#include "veldt/tensor/fallback.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/kernel_call.h"
#include "veldt/tensor/step_facts.h"

namespace veldt {

using KernelCalls = std::vector<std::unique_ptr<KernelCall>>;
using Storages = std::vector<std::shared_ptr<Storage>>;

struct RecordedStep {
  struct Leaf {
    Tensor handle;
    const void *values, *gradient;  // where they were
  };
  KernelCalls calls;
  std::unique_ptr<Storage> arena;
  Storages held;             // other memory that the calls reach
  Storages written;          // those of them that a replay changes
  std::vector<Leaf> leaves;  // get gradients from each replay
  TensorList carried;        // those of them that the step adds to
  TensorList outputs;
  View result;  // output 0 as a list, if it is one element
  const Backend* backend = nullptr;
  StepFacts facts;
  std::unique_ptr<CapturedCalls> captured = {};  // on a device that records work

  // Runs the calls that many times; `results`, if given, gets the result of each.
  void run(std::int64_t times, const View* results) {
    if (backend->steps && !captured && !lacks_any(*backend))
      captured = std::make_unique<CapturedCalls>(calls, *backend, result.data ? &result : nullptr);
    if (captured) return captured->replay(times, results);
    for (std::int64_t i = 0; i < times; ++i) {
      for (const auto& call : calls) call->run(*backend);
      if (results) backend->copy(result, part_of(*results, i, 1));
    }
  }
};

}  // namespace veldt
