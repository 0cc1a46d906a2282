// L-BFGS: few parameters, a smooth loss, all the data in every step.
//   optim::LBFGS lbfgs(model.named_parameters());
//   for (int i = 0; i < 20; ++i) lbfgs.step([&] { return mse_loss(model(x), y); });
// Tests: tests/optim/lbfgs_test.cpp, tests/optim/golden_test.cpp
#pragma once

#include <functional>

#include "veldt/optim/optimizer.h"

namespace veldt::optim {

enum class LineSearch : std::uint8_t {
  none,          // every step has length lr
  strong_wolfe,  // Nocedal & Wright 2006, algorithms 3.5 and 3.6, by cubic interpolation
};

struct LBFGSOptions {
  double lr = 1;
  std::int64_t max_iterations = 20;  // within one step()
  std::int64_t max_evaluations = 0;  // within one step(); 0: 5/4 of max_iterations
  double tolerance_gradient = 1e-7;  // stops if no gradient is larger
  double tolerance_change = 1e-9;    // stops if neither parameters nor loss change by more
  std::int64_t history = 10;         // pairs of vectors kept, each as large as the parameters
  LineSearch line_search = LineSearch::strong_wolfe;
};

// Liu & Nocedal 1989, with the rules of torch.optim.LBFGS (whose defaults are a history of 100 and no line
// search). A missing gradient counts as 0. It keeps 2 history + 2 copies of the parameters, which are its
// state.
class LBFGS : public Optimizer {
 public:
  // Throws ConfigError for an option out of range.
  explicit LBFGS(const std::vector<Tensor>& parameters, LBFGSOptions options = {});
  explicit LBFGS(const NamedTensors& parameters, LBFGSOptions options = {});

  // Minimises `loss`, which returns one element that depends on the parameters, for up to max_iterations. It
  // is called several times with different values of the parameters; clearing gradients and backward() are
  // done here. Returns the first loss. Throws DivergedError for a loss that is not finite, and Error for an
  // invalid loaded state.
  double step(const std::function<Tensor()>& loss);

 private:
  struct Point;
  class Search;

  void update(std::size_t group, Slab::Range range) override;
  bool updates_in_place() const override { return false; }
  void check_counts() const;
  Point evaluate(const std::function<Tensor()>& loss);
  void remember(const Tensor& gradient);
  Tensor direction(const Tensor& gradient) const;
  void move_to(const Tensor& start, double length, const Tensor& along);
  // Pair i of the history, 0 the oldest: the change of the gradient, and of the parameters.
  const Tensor& change_of_gradient(std::int64_t i) const;
  const Tensor& change_of_values(std::int64_t i) const;

  LBFGSOptions options_;
  Tensor counts_;   // i64 [3]: iterations, pairs in the history, place of the oldest
  Tensor scalars_;  // f64 [2]: the last step's length, the scale of the first inverse Hessian
};

}  // namespace veldt::optim
