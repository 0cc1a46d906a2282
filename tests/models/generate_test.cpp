// Tokens that are chosen one after the other: the choice, the cache, where it ends.
#include "veldt/models/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/language_cases.h"
#include "tests/support/error_of.h"
#include "veldt/core/warning.h"
#include "veldt/models/gpt2.h"
#include "veldt/models/llama.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"

namespace veldt::models {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Gpt2 small_gpt2(std::int64_t positions = 300) {
  Rng rng(3, 0);
  Gpt2 model({.vocab_size = 50, .n_positions = positions, .n_embd = 16, .n_layer = 2, .n_head = 2}, rng);
  model.eval();
  return model;
}

const Tensor& beginning() {
  static const Tensor ids = Tensor::of({3}, {4, 5, 6}, DType::i64);
  return ids;
}

std::vector<std::int64_t> written(const CausalModel& model, const GenerateOptions& options) {
  return generate(model, beginning(), options).values<std::int64_t>();
}

// How often each of the tokens is chosen of many, from likelihoods 0.5, 0.25, 0.125 and 0.125.
std::vector<double> shares(const GenerateOptions& options, const std::vector<std::int64_t>& seen = {}) {
  const Tensor logits = Tensor::from<double>(
      {4}, std::vector<double>{std::log(0.25), std::log(0.5), std::log(0.125), std::log(0.125)});
  std::vector<double> found(4);
  constexpr int kDraws = 40'000;
  Rng rng(options.seed);
  for (int i = 0; i < kDraws; ++i)
    found[static_cast<std::size_t>(chosen_token(logits, seen, options, rng))] += 1.0 / kDraws;
  return found;
}

testing::Matcher<std::vector<double>> nearly(std::vector<double> wanted) {
  return testing::Pointwise(testing::DoubleNear(0.01), wanted);
}

TEST(Generate, DrawsByTheLikelihoods) {
  EXPECT_THAT(shares({}), nearly({0, 1, 0, 0}));  // greedy
  EXPECT_THAT(shares({.temperature = 1}), nearly({0.25, 0.5, 0.125, 0.125}));
  EXPECT_THAT(shares({.temperature = 0.5}), nearly({0.182, 0.727, 0.0455, 0.0455}));
  EXPECT_THAT(shares({.temperature = 1, .top_k = 2}), nearly({1.0 / 3, 2.0 / 3, 0, 0}));
  EXPECT_THAT(shares({.temperature = 1, .top_k = 9}), nearly({0.25, 0.5, 0.125, 0.125}));
  EXPECT_THAT(shares({.temperature = 1, .top_p = 0.6}), nearly({1.0 / 3, 2.0 / 3, 0, 0}));
  EXPECT_THAT(shares({.temperature = 1, .top_p = 0.8}),
              nearly({0.2857, 0.5714, 0.1429, 0}));  // ties: the first
  EXPECT_THAT(shares({.temperature = 1, .top_p = 1e-9}), nearly({0, 1, 0, 0}));
  EXPECT_THAT(error_of<ConfigError>([] { shares({.repetition_penalty = 2}, {4}); }),
              HasSubstr("4 is not a token"));
  // log(0.5) becomes 2 log(0.5) once, however often the token was there.
  EXPECT_THAT(shares({.temperature = 1, .repetition_penalty = 2}, {1, 1, 1}),
              nearly({1.0 / 3, 1.0 / 3, 1.0 / 6, 1.0 / 6}));
}

TEST(Generate, IsDeterministicAndTheCacheChangesNothing) {
  const Gpt2 model = small_gpt2();
  GenerateOptions options{.max_new_tokens = 200,
                          .temperature = 0.9,
                          .top_k = 20,
                          .top_p = 0.95,
                          .repetition_penalty = 1.1,
                          .seed = 5};
  const auto first = written(model, options);
  EXPECT_EQ(first.size(), 200u);
  EXPECT_EQ(written(model, options), first);
  options.use_cache = false;
  EXPECT_EQ(written(model, options), first);
  options.seed = 6;
  EXPECT_NE(written(model, options), first);
}

TEST(Generate, EndsWhereItIsTold) {
  const Gpt2 model = small_gpt2(20);
  std::string warned;
  const WarningListener before = set_warning_listener([&](const std::string& text) { warned += text; });
  const auto all = written(model, {.max_new_tokens = 100, .temperature = 1, .seed = 1});
  EXPECT_EQ(all.size(), 18u);  // 3 + 17 positions, and the token that the last of them gives
  EXPECT_EQ(warned, "the text ends after 18 of 100 new tokens: the model has 20 positions");
  EXPECT_EQ(written(model, {.max_new_tokens = 18}).size(), 18u);
  EXPECT_EQ(warned.size(), 68u) << "of what fits nothing is said";
  set_warning_listener(before);
  EXPECT_EQ(written(model, {.max_new_tokens = 0}).size(), 0u);
  std::vector<std::int64_t> heard;
  const auto some = written(
      model, {.max_new_tokens = 100, .temperature = 1, .seed = 1, .on_token = [&](std::int64_t token) {
                heard.push_back(token);
                return heard.size() < 5;
              }});
  EXPECT_EQ(some, std::vector<std::int64_t>(all.begin(), all.begin() + 5));
  EXPECT_EQ(heard, some);
  const auto stopped =
      written(model, {.max_new_tokens = 100, .temperature = 1, .stop_tokens = {all[3]}, .seed = 1});
  EXPECT_EQ(stopped.back(), all[3]);
  EXPECT_LE(stopped.size(), 4u);
}

TEST(Generate, EndsWithTheModelsOwnTokens) {
  Gpt2 model = small_gpt2();
  const GenerateOptions options{.max_new_tokens = 40, .temperature = 1, .seed = 1};
  const auto all = written(model, options);
  model.set_end_tokens({all[3]});
  const auto ended = written(model, options);
  EXPECT_EQ(ended.back(), all[3]);
  EXPECT_LE(ended.size(), 4u);
  GenerateOptions on = options;
  on.ignore_eos = true;
  EXPECT_EQ(written(model, on), all);
}

// Each part of the model has its mode again afterwards.
TEST(Generate, DropsNothingInTraining) {
  Gpt2 model = small_gpt2();
  const GenerateOptions options{.max_new_tokens = 20};
  const auto expected = written(model, options);
  model.train();
  model.named_modules().back().module->eval();
  EXPECT_EQ(written(model, options), expected);
  EXPECT_TRUE(model.training());
  EXPECT_FALSE(model.named_modules().back().module->training());
  EXPECT_TRUE(model.named_modules()[1].module->training());
}

// Any function that knows what comes next will do: here the number after the last, up to 3.
TEST(Generate, ContinuesByAFunctionToo) {
  const auto next = [](const std::vector<std::int64_t>& tokens) -> Tensor {
    if (tokens.back() == 3) return {};
    std::vector<double> logits(4);
    logits[static_cast<std::size_t>(tokens.back()) + 1] = 1;
    return Tensor::from<double>({4}, logits);
  };
  const auto by = [&](const GenerateOptions& o) {
    return generate(next, zeros({1}, DType::i64), o).values<std::int64_t>();
  };
  EXPECT_THAT(by({}), ElementsAre(1, 2, 3));
  EXPECT_THAT(by({.stop_tokens = {2}}), ElementsAre(1, 2));
  EXPECT_THAT(by({.max_new_tokens = 1}), ElementsAre(1));
}

TEST(Generate, RefusesWhatMakesNoSense) {
  const Gpt2 model = small_gpt2(20);
  const auto why = [&](const GenerateOptions& o) {
    return error_of<ConfigError>([&] { generate(model, beginning(), o); });
  };
  EXPECT_THAT(why({.temperature = -1}), HasSubstr("temperature"));
  EXPECT_THAT(why({.temperature = NAN}), HasSubstr("temperature"));
  EXPECT_THAT(why({.top_k = -1}), HasSubstr("top_k"));
  EXPECT_THAT(why({.top_p = 0}), HasSubstr("top_p"));
  EXPECT_THAT(why({.repetition_penalty = 0}), HasSubstr("repetition_penalty"));
  for (const Tensor& logits : {zeros({0}), zeros({1, 20}), zeros({20}, DType::i64)})
    EXPECT_THAT(error_of<ShapeError>([&] { generate([&](const auto&) { return logits; }, beginning()); }),
                HasSubstr("logits are floats [vocabulary]"));
  EXPECT_THAT(error_of<ShapeError>([&] { generate(model, zeros({0}, DType::i64)); }),
              HasSubstr("one or more"));
  for (const DType dtype : {DType::f32, DType::boolean})
    EXPECT_THAT(error_of<ShapeError>([&] { generate(model, zeros({2}, dtype)); }),
                HasSubstr("whole numbers"));
  EXPECT_THAT(error_of<ShapeError>([&] { generate(model, zeros({21}, DType::i64)); }),
              HasSubstr("20 positions"));
}

TEST(KeyValueCache, GrowsAndForgets) {
  KeyValueCache cache;
  Rng rng(1);
  const Tensor first = randn({1, 2, 3, 4}, rng), second = randn({1, 2, 100, 4}, rng);
  cache.append(0, first, first);
  cache.advance(3);
  const auto [keys, values] = cache.append(0, second, second);
  EXPECT_EQ(keys.shape(), (Shape{1, 2, 103, 4}));
  EXPECT_EQ(narrow(keys, 2, 0, 3).values<float>(), first.values<float>());
  EXPECT_EQ(narrow(values, 2, 3, 100).values<float>(), second.values<float>());
  cache.advance(100);
  EXPECT_THAT(error_of<ShapeError>([&] {
                cache.append(0, zeros({2, 2, 1, 4}), zeros({2, 2, 1, 4}));
              }),
              HasSubstr("cannot take"));
  EXPECT_THAT(
      error_of<Error>([&] {
        small_gpt2().hidden(Tensor::of({1, 2}, {1, 2}, DType::i64), std::make_unique<KeyValueCache>().get());
      }),
      HasSubstr("NoGrad"));
  cache.truncate(3);
  EXPECT_EQ(cache.length(), 3);
  EXPECT_THAT(error_of<ConfigError>([&] { cache.truncate(4); }), HasSubstr("it has 3"));
  EXPECT_EQ(cache.append(0, first, first).first.size(2), 6);
}

}  // namespace
}  // namespace veldt::models
