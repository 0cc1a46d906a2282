// Muon: steps that change all directions of a hidden matrix by the same amount.
//   optim::Muon muon(model.named_parameters(), {.lr = 0.02, .weight_decay = 0}, {.lr = 1e-3});
// Tests: tests/optim/muon_test.cpp
#pragma once

#include "veldt/optim/adam.h"

namespace veldt::optim {

// The factor of the rate of a matrix [rows, columns], because its step has min(rows, columns) singular values
// near 1 for any size.
enum class MuonScale : std::uint8_t {
  original,           // sqrt(max(1, rows / columns))
  match_rms_adamw,    // 0.2 sqrt(max(rows, columns)): as long a step as Adam's usual one (Liu et al. 2025)
  spectral_unclamped  // sqrt(rows / columns) (Bernstein 2025)
};

struct MuonOptions {
  double lr = 1e-3;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0.1;  // decoupled: p is first multiplied by 1 - lr decay
  std::int64_t ns_steps = 5;  // of the Newton-Schulz iteration
  MuonScale scale = MuonScale::original;
  Clip clip = {};
  void check() const;
};

// Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks", as torch.optim.Muon but in
// the parameters' dtype, where torch orthogonalises in bf16:
// m = momentum m + (1 - momentum) g;  u = nesterov ? (1 - momentum) g + momentum m : m;
// p = (1 - lr decay) p - lr scale O(u), where O(u) is U V^T of the singular value decomposition of u,
// approximately: ns_steps of a polynomial move every singular value to 0.7 .. 1.2; small ones only get
// closer. All other parameters use Adam. State: "exp_avg", "exp_avg_sq" (of matrices the momentum, and 0).
//
// The optimizer's rate is that of the first group of matrices; set_lr() keeps Adam's in proportion.
class Muon : public Optimizer {
 public:
  // hidden_matrices() by Muon, the rest by Adam. Throws ConfigError as Adam does, and for ns_steps outside 1
  // to 99.
  explicit Muon(const NamedTensors& parameters, MuonOptions options = {}, AdamOptions rest = {});
  explicit Muon(const std::vector<Tensor>& parameters, MuonOptions options = {}, AdamOptions rest = {})
      : Muon(numbered(parameters), options, rest) {}
  // The caller chooses the groups. Also throws ConfigError for a matrix without two dimensions, and for no
  // group of matrices (one may be empty).
  explicit Muon(const std::vector<Group<MuonOptions>>& matrices,
                const std::vector<Group<AdamOptions>>& rest = {});

 private:
  static std::vector<GroupSetup> setups_of(const std::vector<Group<MuonOptions>>& matrices,
                                           const std::vector<Group<AdamOptions>>& rest);
  void update(std::size_t group, Slab::Range range) override;
  bool updates_in_place() const override { return false; }
  void turn(std::size_t parameter, const MuonOptions& options, double lr);

  std::vector<MuonOptions> matrices_;  // of the first groups
  std::vector<AdamOptions> rest_;      // of those after them
};

// The parameters of two dimensions except the first and the last one, which belong to the input (or a table)
// and the output.
NamedTensors hidden_matrices(const NamedTensors& parameters);

}  // namespace veldt::optim
