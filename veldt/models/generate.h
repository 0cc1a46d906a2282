// Text, token by token: what a network gives the next place is chosen, and becomes part of what it sees.
// Tests: tests/models/generate_test.cpp, tests/models/language_peers_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "veldt/models/causal_model.h"

namespace veldt::models {

struct GenerateOptions {
  std::int64_t max_new_tokens = 128;
  // 0: the most likely token. Else tokens are drawn, from likelihoods that it makes flatter (above 1) or
  // sharper.
  double temperature = 0;
  std::int64_t top_k = 0;  // of the most likely ones alone; 0: of all
  // Of the fewest that are together as likely as this (Holtzman et al. 2020).
  double top_p = 1;
  // Above 1: tokens that are there already are less likely (Keskar et al. 2019).
  double repetition_penalty = 1;
  // The first of these, or of the model's own end_tokens(), ends the text, and is part of it.
  std::vector<std::int64_t> stop_tokens = {};
  bool ignore_eos = false;  // the model's own do not
  std::uint64_t seed = 0;   // of what is drawn
  bool use_cache = true;    // false: every step computes all tokens anew
  // Called with each token as it is chosen; false ends the text.
  std::function<bool(std::int64_t)> on_token = {};
};

// Continues token numbers (whole numbers [time]) and returns the new ones, i64 [tokens]. Where the model has
// no more positions the text ends sooner than the options ask for, with a warning (core/warning.h). Dropout
// is off while it runs, whatever the mode of the model. The same options give the same tokens. Throws
// ConfigError for options out of their ranges, ShapeError for no token, more than there are positions, or
// numbers that are floats.
Tensor generate(const CausalModel& model, const Tensor& ids, const GenerateOptions& options = {});

// The same for any network: `next` gives the f32 or f64 logits [vocabulary] of what follows the tokens so
// far, or an undefined tensor where the text is to end.
using NextLogits = std::function<Tensor(const std::vector<std::int64_t>& tokens)>;
Tensor generate(const NextLogits& next, const Tensor& ids, const GenerateOptions& options = {});

// The token that the options choose after `seen`, by f32 or f64 logits [vocabulary]. `rng` moves on by one
// draw if temperature is above 0.
std::int64_t chosen_token(const Tensor& logits, const std::vector<std::int64_t>& seen,
                          const GenerateOptions& options, Rng& rng);

}  // namespace veldt::models
