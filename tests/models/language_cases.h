// A network over text compared with what tests/golden/language.py wrote of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "veldt/models/generate.h"
#include "veldt/models/pretrained.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {

// The largest difference, for values of about 1.
inline double farthest(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const auto x = to(a.detach(), DType::f64).values<double>(), y = to(b.detach(), DType::f64).values<double>();
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    most = std::isfinite(x[i]) ? std::max(most, std::abs(x[i] - y[i]) / (1 + std::abs(y[i]))) : INFINITY;
  return most;
}

// Outputs to 1e-4, those of BERT's pooler only if it is not a new one. `tensor` gives one of the script's
// tensors by name.
template <class Get> void expect_outputs(const nn::Module& network, const Get& tensor, bool pooled = true) {
  if (const auto* bert = dynamic_cast<const models::Bert*>(&network)) {
    const models::BertOutput out =
        bert->encode(tensor("ids"), to(tensor("mask"), DType::boolean), tensor("types"));
    EXPECT_LT(farthest(out.last_hidden_state, tensor("hidden")), 1e-4);
    if (pooled) {
      EXPECT_LT(farthest(out.pooler_output, tensor("pooled")), 1e-4);
    }
    return;
  }
  const auto& model = dynamic_cast<const models::CausalModel&>(network);
  const NoGrad off;
  const Tensor ids = tensor("ids"), logits = model(ids);
  EXPECT_LT(farthest(logits, tensor("logits")), 1e-4);
  // Token by token, and in two parts, with a cache.
  for (const std::int64_t step : {std::int64_t{1}, ids.size(1) / 2}) {
    models::KeyValueCache cache;
    for (std::int64_t at = 0; at < ids.size(1); at += step) {
      const Tensor part = model.head(model.hidden(narrow(ids, 1, at, step), &cache));
      EXPECT_LT(farthest(part, narrow(logits, 1, at, step)), 1e-5) << "from " << at;
    }
    EXPECT_EQ(cache.length(), ids.size(1));
  }
  const Tensor prompt = select(ids, 0, 0);
  for (const bool cached : {true, false}) {
    models::GenerateOptions options{.max_new_tokens = 16, .ignore_eos = true, .use_cache = cached};
    EXPECT_EQ(models::generate(model, prompt, options).values<std::int64_t>(),
              tensor("greedy").template values<std::int64_t>());
    options.repetition_penalty = 1.3;
    EXPECT_EQ(models::generate(model, prompt, options).values<std::int64_t>(),
              tensor("penalty").template values<std::int64_t>());
  }
}

}  // namespace veldt::test
