// A training step of a neural field, forward, loss, backward and Adam, recorded in a Plan; or a forward pass
// alone. What the benchmarks of the CPU and of a GPU measure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "veldt/veldt.h"

namespace veldt::bench {

enum class Task { train, train_grid, draw };

struct Case {
  const char* name;
  Task task;
  std::vector<std::int64_t> sizes;
  MlpActivation activation;
  double omega;
  std::int64_t batch;
  int log2_entries = 19;  // of a level of the grid
};

// Operations of the matrix products: two for each weight and point, forward and for both gradients;
// the coordinates need none.
inline double gflop(const Case& c) {
  double per_point = 0;
  for (std::size_t i = 0; i + 1 < c.sizes.size(); ++i) {
    const int passes = c.task == Task::draw ? 1 : c.task == Task::train && i == 0 ? 2 : 3;
    per_point += 2.0 * passes * static_cast<double>(c.sizes[i] * c.sizes[i + 1]);
  }
  return per_point * static_cast<double>(c.batch) * 1e-9;
}

// A case, ready to be stepped: waves as a picture to learn, at random points.
class Work {
 public:
  Work(const Case& c, Precision precision, Device device = {})
      : rng_(1),
        x_(rand({c.batch, 2}, rng_, c.task == Task::train_grid ? 0 : -1, 1)),
        y_(sin(matmul(x_, rand({2, c.sizes.back()}, rng_, -8, 8)))),
        grid_(grid_layout({.log2_entries = c.log2_entries})),
        net_(c.sizes, {c.activation, c.omega, c.omega, true, precision}, rng_) {
    x_ = to(x_, device);
    y_ = to(y_, device);
    net_.to(device);
    if (c.task == Task::draw) {
      const NoGrad off;
      plan_.emplace([&] { return net_(x_); });
      return;
    }
    std::vector<Tensor> parameters = net_.parameters();
    if (c.task == Task::train_grid) {
      table_ = to(rand({grid_.entries(), grid_.features}, rng_, -1e-4, 1e-4), device);
      table_.set_requires_grad();
      parameters.push_back(table_);
    }
    adam_.emplace(parameters, optim::AdamOptions{.lr = c.task == Task::train_grid ? 1e-2 : 1e-4});
    plan_.emplace([&] {
      const Tensor loss = net_.loss(table_.defined() ? grid_encoding(x_, table_, grid_) : x_, y_).loss;
      adam_->zero_grad();
      loss.backward();
      adam_->step();
      return loss;
    });
  }

  void step(std::int64_t times = 1) { plan_->replay(times); }
  // Before the last step, or 0 of drawing.
  double loss() const { return adam_ ? plan_->output().item() : 0; }

 private:
  Rng rng_;
  Tensor x_, y_, table_;
  GridLayout grid_;
  nn::MLP net_;
  std::optional<optim::Adam> adam_;
  std::optional<Plan> plan_;
};

}  // namespace veldt::bench
