// Continues a text with a network, token by token.
#include "veldt/recipe/writing.h"

#include <algorithm>

#include "veldt/models/generate.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::recipe {

std::string written_text(const Recipe& recipe, const Facts& facts, const nn::Module& model,
                         const WritingOptions& options) {
  const Device device = model.parameters().at(0).device();
  const data::Tokenizer& letters = *facts.tokenizer;
  // Layers of any kind, and positions counted from the window's beginning: once the window moves, all that a
  // cache of keys and values could keep is of other places, so each token is computed from the whole window.
  const auto next = [&](const std::vector<std::int64_t>& tokens) -> Tensor {
    if (options.should_stop && options.should_stop()) return {};
    const std::int64_t seen = std::min(std::ssize(tokens), recipe.context);
    const std::vector<std::int64_t> window(tokens.end() - seen, tokens.end());
    const Tensor logits = model(to(Tensor::from<std::int64_t>({1, seen}, window), device));
    return select(select(logits, 0, 0), 0, -1);
  };
  const Tensor begin = options.prompt.empty() ? zeros({1}, DType::i64) : letters.encode(options.prompt);
  return options.prompt +
         letters.decode(models::generate(
             next, begin,
             {.max_new_tokens = options.count, .temperature = options.temperature, .seed = options.seed}));
}

}  // namespace veldt::recipe
