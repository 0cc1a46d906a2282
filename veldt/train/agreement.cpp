// States as tensors in a fixed order, and decisions as a byte.
#include "veldt/train/agreement.h"

#include <array>
#include <map>
#include <string>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/tensor/graph.h"

namespace veldt::train {
namespace {

void broadcast_all(dist::Communicator& ranks, const NamedTensors& state) {
  std::string names;
  for (const auto& [name, tensor] : state) names += str(name, ' ', tensor.dtype(), ' ', tensor.shape(), '\n');
  if (ranks.broadcast(names) != names)
    throw Error(str("rank ", ranks.rank(), " has another network than rank 0"),
                "their parameters, or what the optimizer keeps of them, differ in names or shapes",
                "build the same model and optimizer on all ranks");
  for (const auto& [name, tensor] : state) {
    ranks.broadcast(tensor);
    mark_changed(tensor);
  }
}

}  // namespace

void begin_alike(dist::Communicator& ranks, Task& task, RunState& at) {
  std::array<double, 3> numbers{static_cast<double>(at.step), at.loss, at.seconds_before};
  std::vector<double> all(numbers.size() * static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(numbers.data(), all.data(), sizeof numbers);
  const std::string json = ranks.broadcast(task.own_json());
  if (ranks.rank() > 0) {
    at.step = static_cast<std::int64_t>(all[0]), at.loss = all[1], at.seconds_before = all[2];
    if (!json.empty()) task.load_own_json(json);
  }
  broadcast_all(ranks, task.model().state_dict());
  NamedTensors optimizer;
  const bool is_shared = task.share_optimizer();
  if (!is_shared) {
    optimizer = task.optimizer().state_dict();
    broadcast_all(ranks, optimizer);
  }
  const NamedTensors own = task.own_state();
  broadcast_all(ranks, own);
  if (ranks.rank() == 0) return;
  if (!is_shared)
    task.optimizer().load_state_dict(optimizer);  // the count of steps and the rate are no part of its memory
  if (at.step == 0) return;
  std::map<std::string, Tensor> saved;
  for (const auto& [name, tensor] : own) saved.emplace(name, tensor);
  task.load_own_state(saved);
}

Decisions agreed(dist::Communicator& ranks, const Decisions& own) {
  std::vector<Decisions> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof own);
  Decisions decided = all[0];
  for (const Decisions& one : all) decided.stop = decided.stop || one.stop;
  return decided;
}

}  // namespace veldt::train
