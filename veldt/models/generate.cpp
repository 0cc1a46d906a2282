// The choice of a token is plain arithmetic over one list, in double.
#include "veldt/models/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "veldt/core/error.h"
#include "veldt/core/warning.h"
#include "veldt/nn/evaluating.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::models {
namespace {

void check(const GenerateOptions& o) {
  const auto refuse = [](const char* name, double value, const char* range) {
    throw ConfigError(str("cannot generate with ", name, " = ", value), str("it is ", range), "correct it");
  };
  const auto is_at_least = [](double value, double least) { return value >= least && std::isfinite(value); };
  if (o.max_new_tokens < 0) refuse("max_new_tokens", static_cast<double>(o.max_new_tokens), "0 or more");
  if (!is_at_least(o.temperature, 0)) refuse("temperature", o.temperature, "0 or more");
  if (o.top_k < 0) refuse("top_k", static_cast<double>(o.top_k), "0 or more");
  if (!(o.top_p > 0 && o.top_p <= 1)) refuse("top_p", o.top_p, "above 0 and at most 1");
  if (!(is_at_least(o.repetition_penalty, 0) && o.repetition_penalty > 0))
    refuse("repetition_penalty", o.repetition_penalty, "above 0");
}

// The likelihoods of the tokens in `order`, which is by falling logits; the first is never 0.
std::vector<double> likelihoods(const std::vector<double>& logits, const std::vector<std::int64_t>& order,
                                double temperature) {
  std::vector<double> weights;
  const double most = logits[static_cast<std::size_t>(order[0])];
  double sum = 0;
  for (const std::int64_t token : order) {
    weights.push_back(std::exp((logits[static_cast<std::size_t>(token)] - most) / temperature));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

std::int64_t chosen_token(const Tensor& given, const std::vector<std::int64_t>& seen,
                          const GenerateOptions& o, Rng& rng) {
  std::vector<double> logits = to(to(given.detach(), DType::f64), Device{}).values<double>();
  if (o.repetition_penalty != 1) {
    std::vector<std::int64_t> once = seen;
    std::sort(once.begin(), once.end());
    once.erase(std::unique(once.begin(), once.end()), once.end());
    for (const std::int64_t token : once) {
      if (token < 0 || token >= std::ssize(logits))
        throw ConfigError(str("the number ", token, " is not a token"),
                          str("they are 0 to ", std::ssize(logits) - 1),
                          "give tokens of the model's own tokenizer");
      double& logit = logits[static_cast<std::size_t>(token)];
      logit = logit < 0 ? logit * o.repetition_penalty : logit / o.repetition_penalty;
    }
  }
  const auto greater = [&](std::int64_t a, std::int64_t b) {
    const double x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  for (const double logit : logits)
    if (std::isnan(logit))
      throw DivergedError("cannot choose a token", "a logit is no number", "check the model's weights");
  std::vector<std::int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  if (o.temperature == 0) return *std::min_element(order.begin(), order.end(), greater);
  if (o.top_k > 0 && o.top_k < std::ssize(order)) {
    std::nth_element(order.begin(), order.begin() + o.top_k - 1, order.end(), greater);
    order.resize(static_cast<std::size_t>(o.top_k));
  }
  std::sort(order.begin(), order.end(), greater);
  std::vector<double> weights = likelihoods(logits, order, o.temperature);
  double kept = 0;  // the part of the likelihood that is drawn from
  std::size_t count = 0;
  while (count < weights.size() && (count == 0 || kept < o.top_p)) kept += weights[count++];
  double left = static_cast<double>(rng.next_uniform()) * kept;
  for (std::size_t i = 0; i < count; ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order[count - 1];  // what rounding has left
}

Tensor generate(const NextLogits& next, const Tensor& ids, const GenerateOptions& o) {
  check(o);
  if (ids.rank() != 1 || ids.size(0) < 1)
    throw ShapeError(str("cannot continue ", ids.shape()),
                     "it takes the numbers of one text, [time], one or more",
                     "give a beginning; a tokenizer's first special token will do");
  if (is_float(ids.dtype()) || ids.dtype() == DType::boolean)
    throw ShapeError(str("cannot continue token numbers of ", ids.dtype()), "they are whole numbers, i64",
                     "give what a tokenizer's encode() gives; Tensor::of() makes floats, "
                     "Tensor::from<std::int64_t>() whole numbers");
  const NoGrad off;
  std::vector<std::int64_t> tokens = to(to(ids, DType::i64), Device{}).values<std::int64_t>();
  const auto given = static_cast<std::ptrdiff_t>(tokens.size());
  Rng rng(o.seed);
  for (std::int64_t i = 0; i < o.max_new_tokens; ++i) {
    const Tensor logits = next(tokens);
    if (!logits.defined()) break;
    if (logits.rank() != 1 || logits.numel() == 0 || !is_float(logits.dtype()))
      throw ShapeError(str("cannot choose a token by ", logits.shape(), ' ', logits.dtype()),
                       "logits are floats [vocabulary], those of one text's next token",
                       "return them so, by squeeze(logits, 0) for example");
    const std::int64_t token = chosen_token(logits, tokens, o, rng);
    tokens.push_back(token);
    if ((o.on_token && !o.on_token(token)) ||
        std::count(o.stop_tokens.begin(), o.stop_tokens.end(), token) > 0)
      break;
  }
  tokens.erase(tokens.begin(), tokens.begin() + given);
  return Tensor::from<std::int64_t>({std::ssize(tokens)}, tokens);
}

Tensor generate(const CausalModel& model, const Tensor& ids, const GenerateOptions& options) {
  GenerateOptions o = options;
  if (!o.ignore_eos)
    o.stop_tokens.insert(o.stop_tokens.end(), model.end_tokens().begin(), model.end_tokens().end());
  const nn::Evaluating mode(model);
  const Device device = model.parameters().at(0).device();
  KeyValueCache cache;
  const auto next = [&](const std::vector<std::int64_t>& tokens) -> Tensor {
    const bool is_first = std::ssize(tokens) == ids.size(0);
    if (!is_first && std::ssize(tokens) > model.max_positions()) {
      warn(str("the text ends after ", std::ssize(tokens) - ids.size(0), " of ", o.max_new_tokens,
               " new tokens: the model has ", model.max_positions(), " positions"));
      return {};
    }
    const std::vector<std::int64_t> fresh(o.use_cache ? tokens.begin() + cache.length() : tokens.begin(),
                                          tokens.end());
    const Tensor input = to(Tensor::from<std::int64_t>({1, std::ssize(fresh)}, fresh), device);
    const Tensor hidden = model.hidden(input, o.use_cache ? &cache : nullptr);
    return reshape(model.head(narrow(hidden, 1, hidden.size(1) - 1, 1)), {model.vocabulary()});
  };
  return generate(next, ids, o);
}

}  // namespace veldt::models
