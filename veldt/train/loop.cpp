// The defaults of a Task.
#include "veldt/train/loop.h"

namespace veldt::train {

Tensor Task::differentiate() {
  const Tensor value = loss();
  optimizer().zero_grad();
  value.backward();
  return value.detach();
}

void Task::load_own_state(const std::map<std::string, Tensor>& saved) {
  for (auto& [name, tensor] : own_state()) tensor.assign(saved.at(name));
}

}  // namespace veldt::train
