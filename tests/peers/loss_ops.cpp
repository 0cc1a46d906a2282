// Losses, each with all its options.
#include "tests/peers/call.h"

namespace veldt::peers {
namespace {

template <class Options> Options with_reduction(const Call& call) {
  Options o;
  call.option("reduction", o.reduction);
  return o;
}

Tensor huber_of(const Call& call) {
  auto o = with_reduction<HuberOptions>(call);
  call.option("delta", o.delta);
  return huber_loss(call.tensor(0), call.tensor(1), o);
}

Tensor smooth_l1_of(const Call& call) {
  auto o = with_reduction<SmoothL1Options>(call);
  call.option("beta", o.beta);
  return smooth_l1_loss(call.tensor(0), call.tensor(1), o);
}

MarginOptions margin_of(const Call& call) {
  auto o = with_reduction<MarginOptions>(call);
  call.option("margin", o.margin);
  return o;
}

Tensor triplet_of(const Call& call) {
  auto o = with_reduction<TripletOptions>(call);
  call.option("margin", o.margin);
  call.option("p", o.p);
  call.option("eps", o.eps);
  call.option("swap", o.swap);
  return triplet_margin_loss(call.tensor(0), call.tensor(1), call.tensor(2), o);
}

Tensor poisson_of(const Call& call) {
  auto o = with_reduction<PoissonOptions>(call);
  call.option("log_input", o.log_input);
  call.option("full", o.full);
  call.option("eps", o.eps);
  return poisson_nll_loss(call.tensor(0), call.tensor(1), o);
}

Tensor gaussian_of(const Call& call) {
  auto o = with_reduction<GaussianOptions>(call);
  call.option("full", o.full);
  call.option("eps", o.eps);
  return gaussian_nll_loss(call.tensor(0), call.tensor(1), call.tensor(2), o);
}

Tensor bce_with_logits_of(const Call& call) {
  auto o = with_reduction<BceLogitsOptions>(call);
  call.option("pos_weight", o.pos_weight);
  return binary_cross_entropy_with_logits(call.tensor(0), call.tensor(1), o);
}

ClassOptions class_options(const Call& call) {
  auto o = with_reduction<ClassOptions>(call);
  call.option("weight", o.weights);
  call.option("ignore_index", o.ignore_index);
  call.option("label_smoothing", o.label_smoothing);
  return o;
}

Tensor kl_of(const Call& call) {
  auto o = with_reduction<KlOptions>(call);
  call.option("log_target", o.log_target);
  call.option("batch_mean", o.batch_mean);
  return kl_div(call.tensor(0), call.tensor(1), o);
}

}  // namespace

void add_loss_ops(Ops& ops) {
  for (const auto& [name, function] :
       {std::pair<const char*, Tensor (*)(const Tensor&, const Tensor&, LossOptions)>{"mse", mse_loss},
        {"l1", l1_loss},
        {"bce", binary_cross_entropy}})
    ops[name] = with_call([function = function](const Call& call) {
      return function(call.tensor(0), call.tensor(1), with_reduction<LossOptions>(call));
    });
  ops["huber"] = with_call(huber_of);
  ops["smooth_l1"] = with_call(smooth_l1_of);
  ops["hinge_embedding"] = with_call(
      [](const Call& call) { return hinge_embedding_loss(call.tensor(0), call.tensor(1), margin_of(call)); });
  ops["cosine_embedding"] = with_call([](const Call& call) {
    return cosine_embedding_loss(call.tensor(0), call.tensor(1), call.tensor(2), margin_of(call));
  });
  ops["margin_ranking"] = with_call([](const Call& call) {
    return margin_ranking_loss(call.tensor(0), call.tensor(1), call.tensor(2), margin_of(call));
  });
  ops["triplet_margin"] = with_call(triplet_of);
  ops["poisson_nll"] = with_call(poisson_of);
  ops["gaussian_nll"] = with_call(gaussian_of);
  ops["bce_with_logits"] = with_call(bce_with_logits_of);
  ops["cross_entropy"] = with_call(
      [](const Call& call) { return cross_entropy(call.tensor(0), call.tensor(1), class_options(call)); });
  ops["nll"] = with_call(
      [](const Call& call) { return nll_loss(call.tensor(0), call.tensor(1), class_options(call)); });
  ops["kl_div"] = with_call(kl_of);
}

}  // namespace veldt::peers
