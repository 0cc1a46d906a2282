// Continues a text with a network, token by token.
#include "veldt/recipe/writing.h"

#include <algorithm>

#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {

std::string written_text(const Recipe& recipe, const Facts& facts, const nn::Module& model,
                         const WritingOptions& options) {
  if (options.count < 0 || !(options.temperature > 0))
    throw ConfigError(
        str("cannot write ", options.count, " tokens at a temperature of ", options.temperature),
        "a count is 0 or more, and a temperature above 0", "give, for example, 500 and 0.8");
  const NoGrad off;
  const Device device = model.parameters().at(0).device();
  const data::Tokenizer& letters = *facts.tokenizer;
  const bool has_prompt = !options.prompt.empty();
  Tensor tokens = has_prompt ? letters.encode(options.prompt) : zeros({1}, DType::i64);
  std::string text = options.prompt;
  Rng rng(options.seed);
  for (std::int64_t i = 0; i < options.count && !(options.should_stop && options.should_stop()); ++i) {
    const std::int64_t seen = std::min(tokens.size(0), recipe.context);
    const Tensor window = unsqueeze(narrow(tokens, 0, tokens.size(0) - seen, seen), 0);
    const Tensor logits = to(select(select(model(to(window, device)), 0, 0), 0, -1), Device{});
    const Tensor next = multinomial(softmax(logits / options.temperature, 0), 1, rng);
    text += letters.decode(next);
    tokens = cat({narrow(tokens, 0, tokens.size(0) - seen, seen), next}, 0);
  }
  return text;
}

}  // namespace veldt::recipe
