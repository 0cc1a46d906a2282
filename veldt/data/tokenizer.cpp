// Converts tokens back to text by any vocabulary, and refuses invalid numbers.
#include "veldt/data/tokenizer.h"

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::data {

std::string Tokenizer::decode(const Tensor& tokens) const {
  std::string text;
  for (const std::int64_t number : to(tokens, DType::i64).values<std::int64_t>()) {
    if (number < 0 || number >= size())
      throw ConfigError(str("the number ", number, " is not a token"), str("they are 0 to ", size() - 1),
                        "decode what this tokenizer encoded");
    text += vocabulary()[static_cast<std::size_t>(number)];
  }
  return text;
}

}  // namespace veldt::data
