// Losses against PyTorch, values and gradients in all three reductions; the numbers are in
// tests/golden/losses.json.
#include "tests/golden/nn_and_optim.h"

#include <functional>
#include <map>

#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"

namespace veldt {
namespace {

using nlohmann::json;
using test::near;
using test::tensor_of;

const json& golden_losses() {
  static const json all = test::read_golden("losses.json");
  return all;
}

using ReducedLoss = std::function<Tensor(const Tensor& prediction, const Tensor& target, Reduction)>;

// A loss whose options hold a reduction.
template <class Fn, class Options> ReducedLoss with(Fn fn, Options options) {
  return [=](const Tensor& p, const Tensor& t, Reduction r) {
    Options o = options;
    o.reduction = r;
    return fn(p, t, o);
  };
}

std::map<std::string, ReducedLoss> losses(DType dtype) {
  const Tensor weights = tensor_of(golden_losses().at("weights"), dtype);
  const Tensor deep_weights = tensor_of(golden_losses().at("deep_weights"), dtype);
  const Tensor signs = tensor_of(golden_losses().at("row_signs"), dtype);
  const auto cosine = [signs](const Tensor& p, const Tensor& t, const MarginOptions& o) {
    return cosine_embedding_loss(p, t, signs, o);
  };
  const auto given = [dtype](const char* name) { return tensor_of(golden_losses().at(name), dtype); };
  const auto ranking = [all = given("signs")](const Tensor& p, const Tensor& t, const MarginOptions& o) {
    return margin_ranking_loss(p, t, all, o);
  };
  const auto triplet = [c = given("c")](const Tensor& p, const Tensor& t, const TripletOptions& o) {
    return triplet_margin_loss(p, t, c, o);
  };
  const auto gaussian = [](const Tensor& variance) {
    return [=](const Tensor& p, const Tensor& t, const GaussianOptions& o) {
      return gaussian_nll_loss(p, t, variance, o);
    };
  };
  const auto of_variance = [a = given("a")](const Tensor& p, const Tensor& t, const GaussianOptions& o) {
    return gaussian_nll_loss(a, t, p, o);
  };
  return {
      {"focal", with(sigmoid_focal_loss, FocalOptions{})},
      {"focal_plain", with(sigmoid_focal_loss, FocalOptions{.alpha = -1, .gamma = 1.5})},
      {"margin_ranking", with(ranking, MarginOptions{.margin = 0})},
      {"margin_ranking_margin", with(ranking, MarginOptions{.margin = 0.4})},
      {"triplet", with(triplet, TripletOptions{})},
      {"triplet_swap", with(triplet, TripletOptions{.margin = 2, .p = 1, .swap = true})},
      {"poisson", with(poisson_nll_loss, PoissonOptions{})},
      {"poisson_rate", with(poisson_nll_loss, PoissonOptions{.log_input = false, .full = true})},
      {"gaussian", with(gaussian(given("variances")), GaussianOptions{})},
      {"gaussian_rows", with(gaussian(given("row_variances")), GaussianOptions{.full = true})},
      {"gaussian_variance", with(of_variance, GaussianOptions{})},
      {"mse", with(mse_loss, LossOptions{})},
      {"l1", with(l1_loss, LossOptions{})},
      {"huber", with(huber_loss, HuberOptions{})},
      {"huber_delta", with(huber_loss, HuberOptions{.delta = 0.7})},
      {"smooth_l1", with(smooth_l1_loss, SmoothL1Options{})},
      {"smooth_l1_beta", with(smooth_l1_loss, SmoothL1Options{.beta = 0.3})},
      {"smooth_l1_zero", with(smooth_l1_loss, SmoothL1Options{.beta = 0})},
      {"hinge_embedding", with(hinge_embedding_loss, MarginOptions{.margin = 0.8})},
      {"cosine_embedding", with(cosine, MarginOptions{.margin = -0.3})},
      {"bce", with(binary_cross_entropy, LossOptions{})},
      {"bce_edges", with(binary_cross_entropy, LossOptions{})},
      {"bce_with_logits", with(binary_cross_entropy_with_logits, BceLogitsOptions{})},
      {"bce_positive_weight",
       with(binary_cross_entropy_with_logits, BceLogitsOptions{.pos_weight = weights})},
      {"cross_entropy", with(cross_entropy, ClassOptions{})},
      {"cross_entropy_one", with(cross_entropy, ClassOptions{})},
      {"cross_entropy_weights", with(cross_entropy, ClassOptions{.weights = weights})},
      {"cross_entropy_ignore", with(cross_entropy, ClassOptions{})},
      {"cross_entropy_smooth", with(cross_entropy, ClassOptions{.weights = weights, .label_smoothing = 0.2})},
      {"cross_entropy_deep",
       with(cross_entropy, ClassOptions{.weights = deep_weights, .ignore_index = 3, .label_smoothing = 0.1})},
      {"cross_entropy_shares", with(cross_entropy, ClassOptions{})},
      {"cross_entropy_shares_all",
       with(cross_entropy, ClassOptions{.weights = deep_weights, .label_smoothing = 0.3})},
      {"nll", with(nll_loss, ClassOptions{.weights = weights})},
      {"kl_div", with(kl_div, KlOptions{})},
      {"kl_div_log", with(kl_div, KlOptions{.log_target = true})},
      {"kl_div_batch",
       [](const Tensor& p, const Tensor& t, Reduction r) {
         return kl_div(p, t, {.batch_mean = r == Reduction::mean, .reduction = r});
       }},
  };
}

Tensor target_of(const json& g, DType dtype) {
  return tensor_of(g, g.contains("dtype") ? DType::i64 : dtype);
}

class GoldenLossTable : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, GoldenLossTable, testing::Values(DType::f32, DType::f64),
                         [](const auto& at) { return std::string(name_of(at.param)); });

TEST_P(GoldenLossTable, IsTorchs) {
  // Logits of some 1000 lose digits of f32 when the largest is taken off.
  const double tolerance = GetParam() == DType::f64 ? 1e-12 : 2e-5;
  const std::map<std::string, ReducedLoss> all = losses(GetParam());
  EXPECT_EQ(all.size(), golden_losses().at("cases").size());
  const std::pair<const char*, Reduction> reductions[] = {
      {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
  for (const auto& [name, loss_of] : all) {
    const json& g = golden_losses().at("cases").at(name);
    const Tensor target = target_of(g.at("target"), GetParam());
    for (const auto& [reduction_name, reduction] : reductions) {
      const json& expected = g.at("results").at(reduction_name);
      Tensor prediction = tensor_of(g.at("prediction"), GetParam());
      prediction.set_requires_grad();
      const Tensor value = loss_of(prediction, target, reduction);
      EXPECT_TRUE(near(value, expected.at("value"), tolerance)) << name << ' ' << reduction_name;
      // Each element has a factor of its own: 1, 2, 3, ..
      const Tensor factors =
          reshape(linspace(1, static_cast<double>(value.numel()), value.numel(), GetParam()), value.shape());
      sum(value * factors).backward();
      EXPECT_TRUE(near(prediction.grad(), expected.at("gradient"), tolerance))
          << name << ' ' << reduction_name;
    }
  }
}

}  // namespace
}  // namespace veldt
