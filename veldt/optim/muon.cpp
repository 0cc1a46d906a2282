// Muon is written with ops: each iteration is 3 matrix products, each of which takes min(rows, columns)
// multiplications per number, so passes over the numbers hardly matter. The memory of the ops' results comes
// from the pool and is reused in the next step.
#include "veldt/optim/muon.h"

#include <cmath>
#include <set>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::optim {
namespace {

// The polynomial a s + b s^3 + c s^5 of a singular value s, made steep at 0 (Jordan et al. 2024), and the
// norm below which a matrix counts as zero.
constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315, kSmallest = 1e-7;

double norm_of(const Tensor& contiguous) {
  return std::sqrt(kernels(contiguous).dot(contiguous.view(), contiguous.view()));
}

// The diagonal of a square += a column of values, in place.
void add_to_diagonal(const Tensor& square, const Tensor& column) {
  const std::int64_t n = square.size(0);
  const Tensor diagonal = square.alias({n, 1}, {n + 1, 1}, 0);
  kernels(square).accumulate(column.view(), diagonal.view());
}

double scale_of(MuonScale scale, double rows, double columns) {
  switch (scale) {
    case MuonScale::original: return std::sqrt(std::max(1.0, rows / columns));
    case MuonScale::match_rms_adamw: return 0.2 * std::sqrt(std::max(rows, columns));
    case MuonScale::spectral_unclamped: return std::sqrt(rows / columns);
  }
  return 1;
}

std::vector<Group<MuonOptions>> matrices_of(const NamedTensors& parameters, const MuonOptions& options) {
  return {{hidden_matrices(parameters), options}};
}

std::vector<Group<AdamOptions>> others_of(const NamedTensors& parameters, const AdamOptions& options) {
  std::set<const TensorImpl*> hidden;
  for (const NamedTensor& p : hidden_matrices(parameters)) hidden.insert(p.tensor.impl());
  NamedTensors others;
  for (const NamedTensor& p : parameters)
    if (!hidden.contains(p.tensor.impl())) others.push_back(p);
  return {{others, options}};
}

void check_matrix(const NamedTensor& p) {
  if (!p.tensor.defined() || p.tensor.rank() == 2) return;  // the slab refuses what is undefined
  throw ConfigError(str("Muon cannot turn parameter ", p.name, " of shape ", p.tensor.shape()),
                    "it is for matrices, which have two dimensions", "leave it to Adam");
}

// u, which is [rows, columns], with its singular values moved near 1.
Tensor orthogonalized(const Tensor& u, std::int64_t steps) {
  const bool tall = u.size(0) > u.size(1);  // the products are cheapest with the smaller side outside
  Tensor x = (tall ? transpose(u) : u) * (1 / std::max(norm_of(u), kSmallest));
  const Tensor a = full_like(slice(x, 1, 0, 1), kA), b = full_like(a, kB);
  for (std::int64_t i = 0; i < steps; ++i) {
    // a x + b (x x^T) x + c (x x^T)^2 x
    const Tensor gram = matmul(x, transpose(x)), inner = gram * kC;
    add_to_diagonal(inner, b);
    const Tensor factor = matmul(gram, inner);
    add_to_diagonal(factor, a);
    x = matmul(factor, x);
  }
  return tall ? transpose(x) : x;
}

}  // namespace

NamedTensors hidden_matrices(const NamedTensors& parameters) {
  NamedTensors found;
  for (const NamedTensor& p : parameters)
    if (p.tensor.defined() && p.tensor.rank() == 2) found.push_back(p);
  if (found.size() < 3) return {};
  found.erase(found.begin());
  found.pop_back();
  return found;
}

void MuonOptions::check() const {
  check_option("lr", lr, 0, kInfinity);
  check_option("momentum", momentum, 0, 1);
  check_option("weight_decay", weight_decay, 0, kInfinity);
  check_option("ns_steps", static_cast<double>(ns_steps), 1, 100);
}

Muon::Muon(const NamedTensors& parameters, MuonOptions options, AdamOptions rest)
    : Muon(matrices_of(parameters, options), others_of(parameters, rest)) {}

Muon::Muon(const std::vector<Group<MuonOptions>>& matrices, const std::vector<Group<AdamOptions>>& rest)
    : Optimizer(setups_of(matrices, rest), {"exp_avg", "exp_avg_sq"}) {
  for (const Group<MuonOptions>& group : matrices) matrices_.push_back(group.options);
  for (const Group<AdamOptions>& group : rest) rest_.push_back(group.options);
}

std::vector<Optimizer::GroupSetup> Muon::setups_of(const std::vector<Group<MuonOptions>>& matrices,
                                                   const std::vector<Group<AdamOptions>>& rest) {
  if (matrices.empty())
    throw ConfigError("Muon was given no group of matrices", "its rate is that of the first one",
                      "give one, which may be empty, or use Adam");
  std::vector<GroupSetup> setups;
  for (const Group<MuonOptions>& group : matrices) {
    group.options.check();
    for (const NamedTensor& p : group.parameters) check_matrix(p);
    setups.push_back({group.parameters, group.options.lr, group.options.clip});
  }
  for (const Group<AdamOptions>& group : rest) {
    const bool known = !group.parameters.empty() && group.parameters.front().tensor.defined();
    group.options.check(known ? group.parameters.front().tensor.dtype() : DType::f32);
    setups.push_back({group.parameters, group.options.lr, group.options.clip});
  }
  return setups;
}

void Muon::update(std::size_t group, Slab::Range range) {
  const double lr = group_lr(group);
  if (group >= matrices_.size())
    return optimize({adam_step(rest_[group - matrices_.size()], lr, steps())}, range,
                    {"exp_avg", "exp_avg_sq"});
  for (std::size_t i = 0; i < parameters().size(); ++i)
    if (slab().range(i).begin >= range.begin && slab().range(i).end <= range.end)
      turn(i, matrices_[group], lr);
}

void Muon::turn(std::size_t parameter, const MuonOptions& o, double lr) {
  Tensor p = slab().part(slab().values(), parameter);
  if (p.numel() == 0) return;
  const Tensor g = slab().part(slab().gradients(), parameter);
  const Tensor m = slab().part(state_slab("exp_avg"), parameter);
  const View averaged[] = {m.view(), g.view()};
  kernels(m).optimize({LerpStep{1 - o.momentum}}, averaged, 2);
  const Tensor step = orthogonalized(o.nesterov ? g + (m - g) * o.momentum : m, o.ns_steps);
  const double scale = scale_of(o.scale, static_cast<double>(p.size(0)), static_cast<double>(p.size(1)));
  p.assign(p * (1 - lr * o.weight_decay) - step * (lr * scale));
}

}  // namespace veldt::optim
