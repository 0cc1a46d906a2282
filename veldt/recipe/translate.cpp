// Writes, token by token, what a network of an encoder and a decoder says of a text.
#include "veldt/recipe/translate.h"

#include <fmt/format.h>

#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {

Tensor source_tokens(const data::Tokenizer& tokenizer, const std::string& text, std::int64_t length) {
  const Tensor tokens = text.empty() ? zeros({0}, DType::i64) : tokenizer.encode(text);
  const std::int64_t lacking = length - tokens.size(0);
  if (lacking < 0)
    throw ConfigError(fmt::format("a text of {} characters is too long", tokens.size(0)),
                      fmt::format("the longest that the network was taught has {}", length),
                      "give a shorter one");
  return cat({tokens, tokenizer.encode(std::string(static_cast<std::size_t>(lacking), kTextEnd))}, 0);
}

std::vector<std::string> translated_texts(const Facts& facts, const nn::Module& model,
                                          const std::vector<std::string>& texts) {
  if (texts.empty()) return {};
  const NoGrad off;
  const data::Tokenizer& letters = *facts.tokenizer;
  const Device device = model.parameters().at(0).device();
  const std::int64_t end = letters.encode(std::string(1, kTextEnd)).values<std::int64_t>().at(0);
  const std::int64_t length = facts.model.target[0];
  std::vector<Tensor> sources;
  for (const std::string& text : texts) sources.push_back(source_tokens(letters, text, facts.model.input[0]));
  const Tensor source = to(stack(sources, 0), device);
  const auto count = static_cast<std::int64_t>(texts.size());
  std::vector<std::vector<std::int64_t>> lines(
      texts.size(), std::vector<std::int64_t>(static_cast<std::size_t>(length), end));
  std::vector<bool> ended(texts.size(), false);
  std::vector<std::string> written(texts.size());
  for (std::int64_t t = 0; t < length; ++t) {
    std::vector<std::int64_t> all;
    for (const auto& line : lines) all.insert(all.end(), line.begin(), line.end());
    const Tensor target = to(Tensor::from<std::int64_t>({count, length}, all), device);
    const Tensor logits = model(TensorList{source, target})[0];
    const std::vector<std::int64_t> next =
        to(argmax(select(logits, 1, t), 1), Device{}).values<std::int64_t>();
    bool is_over = true;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ended[i] = ended[i] || next[i] == end;
      if (!ended[i]) written[i] += letters.vocabulary().at(static_cast<std::size_t>(next[i]));
      if (!ended[i] && t + 1 < length) lines[i][static_cast<std::size_t>(t + 1)] = next[i];
      is_over = is_over && ended[i];
    }
    if (is_over) break;
  }
  return written;
}

}  // namespace veldt::recipe
