// L-BFGS: the two loops over the last steps, and a line search that keeps the strong Wolfe conditions
// (Nocedal & Wright 2006).
#include "veldt/optim/lbfgs.h"

#include <algorithm>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"

namespace veldt::optim {
namespace {

constexpr double kArmijo = 1e-4, kCurvature = 0.9;  // Nocedal & Wright's c1 and c2 for quasi-Newton methods
enum Count { kIterations, kPairs, kOldest };
enum Scalar { kLength, kScale };

std::vector<std::string> kinds_of(std::int64_t history) {
  std::vector<std::string> kinds{"direction", "previous_grad"};
  for (std::int64_t i = 0; i < history; ++i) kinds.push_back(str("change_of_grad_", i));
  for (std::int64_t i = 0; i < history; ++i) kinds.push_back(str("change_of_value_", i));
  return kinds;
}

const LBFGSOptions& checked(const LBFGSOptions& o) {
  const auto count = [](const char* name, std::int64_t value, double low) {
    check_option(name, static_cast<double>(value), low, kInfinity);
  };
  check_option("lr", o.lr, 0, kInfinity);
  count("max_iterations", o.max_iterations, 1);
  count("max_evaluations", o.max_evaluations, 0);
  count("history", o.history, 1);
  check_option("tolerance_gradient", o.tolerance_gradient, 0, kInfinity);
  check_option("tolerance_change", o.tolerance_change, 0, kInfinity);
  return o;
}

double dot(const Tensor& a, const Tensor& b) { return kernels(a).dot(a.view(), b.view()); }
double largest(const Tensor& x) { return max(abs(x)).item(); }

// The minimum of the cubic through two points with slopes, within low .. high.
double cubic_minimum(double x1, double f1, double g1, double x2, double f2, double g2, double low,
                     double high) {
  const double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2), square = d1 * d1 - g1 * g2;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double at = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
                             : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
  return std::min(std::max(at, low), high);
}

}  // namespace

// A point on the line: its distance, the loss, its gradient (a copy), and the slope along the line.
struct LBFGS::Point {
  double length = 0, loss = 0;
  Tensor gradient;
  double slope = 0;
};

// A step length that satisfies the strong Wolfe conditions, or the best seen when the evaluations run out.
class LBFGS::Search {
 public:
  Search(LBFGS& owner, const std::function<Tensor()>& loss, const Tensor& start, const Tensor& along,
         Point first, std::int64_t limit)
      : owner_(owner), loss_(loss), start_(start), along_(along), first_(std::move(first)), limit_(limit) {}

  Point run(double length) {
    if (bracket(length)) return low_;
    zoom();
    return low_;
  }
  std::int64_t evaluations() const { return evaluations_; }

 private:
  Point try_length(double length) {
    owner_.move_to(start_, length, along_);
    Point p = owner_.evaluate(loss_);
    ++evaluations_;
    p.length = length;
    p.slope = dot(p.gradient, along_);
    return p;
  }
  bool descends(const Point& p) const { return p.loss <= first_.loss + kArmijo * p.length * first_.slope; }
  bool is_flat(const Point& p) const { return std::abs(p.slope) <= -kCurvature * first_.slope; }

  void set_bracket(Point a, Point b) {
    const bool a_is_low = a.loss <= b.loss;
    low_ = a_is_low ? a : b;
    high_ = a_is_low ? std::move(b) : std::move(a);
  }

  // Algorithm 3.5: extends the interval until a minimum is between two points. True if one satisfies the
  // conditions.
  bool bracket(double length) {
    Point before = first_, now = try_length(length);
    for (; iterations_ < limit_; ++iterations_) {
      if (!descends(now) || (iterations_ > 1 && now.loss >= before.loss)) {
        set_bracket(before, now);
        return false;
      }
      if (is_flat(now)) {
        low_ = now;
        return true;
      }
      if (now.slope >= 0) {
        set_bracket(before, now);
        return false;
      }
      const double next =
          cubic_minimum(before.length, before.loss, before.slope, now.length, now.loss, now.slope,
                        now.length + 0.01 * (now.length - before.length), now.length * 10);
      before = std::move(now);
      now = try_length(next);
    }
    set_bracket(first_, now);
    return false;
  }

  // A trial that falls into the outer tenth of the bracket twice, or beyond it, is moved inwards.
  double next_trial() {
    const Point &a = low_.length <= high_.length ? low_ : high_,
                &b = low_.length <= high_.length ? high_ : low_;
    double t = cubic_minimum(a.length, a.loss, a.slope, b.length, b.loss, b.slope, a.length, b.length);
    const double margin = 0.1 * (b.length - a.length);
    const bool at_edge = std::min(b.length - t, t - a.length) < margin;
    if (at_edge && (was_at_edge_ || t >= b.length || t <= a.length)) {
      t = std::abs(t - b.length) < std::abs(t - a.length) ? b.length - margin : a.length + margin;
      was_at_edge_ = false;
    } else {
      was_at_edge_ = at_edge;
    }
    return t;
  }

  // Algorithm 3.6: narrows the bracket.
  void zoom() {
    const double unit = largest(along_);
    for (; iterations_ < limit_; ++iterations_) {
      if (std::abs(high_.length - low_.length) * unit < owner_.options_.tolerance_change) return;
      Point p = try_length(next_trial());
      if (!descends(p) || p.loss >= low_.loss) {
        high_ = std::move(p);
        if (high_.loss < low_.loss) std::swap(low_, high_);
        continue;
      }
      const bool done = is_flat(p);
      if (!done && p.slope * (high_.length - low_.length) >= 0) high_ = low_;
      low_ = std::move(p);
      if (done) return;
    }
  }

  LBFGS& owner_;
  const std::function<Tensor()>& loss_;
  const Tensor &start_, &along_;
  Point first_, low_, high_;
  std::int64_t limit_, iterations_ = 0, evaluations_ = 0;
  bool was_at_edge_ = false;
};

LBFGS::LBFGS(const std::vector<Tensor>& parameters, LBFGSOptions options)
    : LBFGS(numbered(parameters), options) {}

LBFGS::LBFGS(const NamedTensors& parameters, LBFGSOptions options)
    : Optimizer(parameters, checked(options).lr, kinds_of(options.history)),
      options_(options),
      counts_(zeros({3}, DType::i64)),
      scalars_(zeros({2}, DType::f64)) {
  if (options_.max_evaluations == 0)
    options_.max_evaluations = std::max<std::int64_t>(1, options_.max_iterations * 5 / 4);
  add_state("counts", counts_);
  add_state("scalars", scalars_);
}

void LBFGS::update(std::size_t, Slab::Range) {
  throw Error("L-BFGS cannot step without the loss", "it evaluates the loss several times a step",
              "call step() with a function that returns the loss");
}

const Tensor& LBFGS::change_of_gradient(std::int64_t i) const {
  const std::int64_t at = (counts_.data<std::int64_t>()[kOldest] + i) % options_.history;
  return state_slab(static_cast<std::size_t>(2 + at));
}

const Tensor& LBFGS::change_of_values(std::int64_t i) const {
  const std::int64_t at = (counts_.data<std::int64_t>()[kOldest] + i) % options_.history;
  return state_slab(static_cast<std::size_t>(2 + options_.history + at));
}

void LBFGS::move_to(const Tensor& start, double length, const Tensor& along) {
  Tensor values = slab().values();
  values.assign(start + along * length);
}

LBFGS::Point LBFGS::evaluate(const std::function<Tensor()>& loss) {
  zero_grad();
  const Tensor value = loss();
  value.backward();
  own_slab().collect();
  Point p;
  p.loss = value.item();
  p.gradient = slab().gradients() * 1.0;
  return p;
}

// Adds a pair to the history, dropping the oldest when it is full, unless its curvature is not positive.
void LBFGS::remember(const Tensor& gradient) {
  std::int64_t* counts = counts_.data<std::int64_t>();
  double* scalars = scalars_.data<double>();
  const Tensor y = gradient - state_slab("previous_grad"), s = state_slab("direction") * scalars[kLength];
  const double curvature = dot(y, s);
  if (!(curvature > 1e-10)) return;
  if (counts[kPairs] == options_.history)
    counts[kOldest] = (counts[kOldest] + 1) % options_.history;
  else
    ++counts[kPairs];
  Tensor(change_of_gradient(counts[kPairs] - 1)).assign(y);
  Tensor(change_of_values(counts[kPairs] - 1)).assign(s);
  scalars[kScale] = curvature / dot(y, y);
}

// The two loops of Nocedal & Wright's algorithm 7.4: minus the gradient times the inverse Hessian that the
// history approximates.
Tensor LBFGS::direction(const Tensor& gradient) const {
  const std::int64_t pairs = counts_.data<std::int64_t>()[kPairs];
  std::vector<double> alpha(static_cast<std::size_t>(pairs)), rho(alpha.size());
  Tensor q = -gradient;
  for (std::int64_t i = pairs - 1; i >= 0; --i) {
    const Tensor &y = change_of_gradient(i), &s = change_of_values(i);
    const std::size_t at = static_cast<std::size_t>(i);
    rho[at] = 1 / dot(y, s);
    alpha[at] = dot(s, q) * rho[at];
    q = q - y * alpha[at];
  }
  q = q * scalars_.data<double>()[kScale];
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::size_t at = static_cast<std::size_t>(i);
    q = q + change_of_values(i) * (alpha[at] - dot(change_of_gradient(i), q) * rho[at]);
  }
  return q;
}

// The loaded state came from a file.
void LBFGS::check_counts() const {
  const std::int64_t* counts = counts_.data<std::int64_t>();
  const std::int64_t history = options_.history;
  if (counts[kIterations] < 0 || counts[kIterations] > (std::int64_t{1} << 53) || counts[kPairs] < 0 ||
      counts[kPairs] > history || counts[kOldest] < 0 || counts[kOldest] >= history)
    throw Error("the state of L-BFGS is damaged",
                str("after ", counts[kIterations], " iterations it counts ", counts[kPairs], " of ", history,
                    " pairs from place ", counts[kOldest]),
                "load the state that was saved, or start again");
}

double LBFGS::step(const std::function<Tensor()>& loss) {
  check_counts();
  count_step();
  Point now = evaluate(loss);
  const double first_loss = now.loss;
  std::int64_t evaluations = 1;
  std::int64_t& iterations = counts_.data<std::int64_t>()[kIterations];
  double* scalars = scalars_.data<double>();
  const auto is_done = [&] { return largest(now.gradient) <= options_.tolerance_gradient; };
  for (std::int64_t i = 0; i < options_.max_iterations && !is_done(); ++i) {
    if (!std::isfinite(now.loss))
      throw DivergedError(str("the loss is ", std::isnan(now.loss) ? "nan" : str(now.loss)),
                          str("after ", steps(), " steps of L-BFGS"), "lower lr, or use a line search");
    if (++iterations == 1)
      scalars[kScale] = 1;
    else
      remember(now.gradient);
    Tensor along = state_slab("direction");
    along.assign(direction(now.gradient));
    Tensor(state_slab("previous_grad")).assign(now.gradient);
    double& length = scalars[kLength];
    length = iterations == 1 ? std::min(1.0, 1 / sum(abs(now.gradient)).item()) * lr() : lr();
    now.length = 0;
    now.slope = dot(now.gradient, along);
    if (now.slope > -options_.tolerance_change) break;
    const Tensor start = slab().values() * 1.0;
    const double loss_before = now.loss;
    if (options_.line_search == LineSearch::strong_wolfe) {
      Search search(*this, loss, start, along, now, options_.max_evaluations - evaluations);
      now = search.run(length);
      length = now.length;
      move_to(start, length, along);
      evaluations += search.evaluations();
    } else {
      move_to(start, length, along);
      if (i + 1 == options_.max_iterations) break;
      now = evaluate(loss);
      ++evaluations;
    }
    if (evaluations >= options_.max_evaluations ||
        std::abs(now.loss - loss_before) < options_.tolerance_change ||
        largest(along) * std::abs(length) <= options_.tolerance_change)
      break;
  }
  return first_loss;
}

}  // namespace veldt::optim
