// Reads vectors of tokens from a table, and adds those of their positions.
#include "veldt/nn/embedding.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/shape.h"

namespace veldt::nn {

Embedding::Embedding(std::int64_t count, std::int64_t dim, EmbeddingOptions options, Rng& rng)
    : padding_idx_(options.padding_idx) {
  const std::string layer = str("Embedding(", count, ", ", dim, ')');
  if (count < 1 || dim < 1)
    throw ConfigError("cannot build " + layer, "a table has one row and one column or more",
                      "give positive sizes");
  if (padding_idx_ && (*padding_idx_ < -count || *padding_idx_ >= count))
    throw ConfigError(str("cannot build ", layer, " with a padding_idx of ", *padding_idx_),
                      str("the table's rows are 0 to ", count - 1), "give one of these, or one from the end");
  const Tensor weight = parameter(empty({count, dim}, options.dtype, options.device));
  init::normal(weight, 0, 1, rng);
  weight_ = weight;
  if (!padding_idx_) return;
  if (*padding_idx_ < 0) *padding_idx_ += count;
  select(weight.detach(), 0, *padding_idx_).assign(zeros({dim}, options.dtype, options.device));
}

Tensor Embedding::forward(const Tensor& x) const {
  if (x.dtype() != DType::i64 && x.dtype() != DType::i32)
    throw ShapeError(str("Embedding cannot take ", x.dtype()), "an input holds the numbers of rows",
                     "convert it with to(x, DType::i64)");
  Shape shape = x.shape();
  shape.push_back(weight_.size(1));
  const Tensor rows = reshape(weight_.rows(flatten(x)), shape);
  if (!padding_idx_) return rows;
  return where(unsqueeze(equal(x, *padding_idx_), -1), rows.detach(), rows);
}

std::string Embedding::title() const {
  return str("Embedding(", weight_.size(0), ", ", weight_.size(1),
             padding_idx_ ? str(", padding ", *padding_idx_) : "", ')');
}

PositionEmbedding::PositionEmbedding(std::int64_t length, std::int64_t dim, Rng& rng) {
  if (length < 1 || dim < 1)
    throw ConfigError(str("cannot build PositionEmbedding(", length, ", ", dim, ')'),
                      "a table has one row and one column or more", "give positive sizes");
  weight_ = parameter(empty({length, dim}));
  init::normal(weight_, 0, 0.02, rng);
}

Tensor PositionEmbedding::forward(const Tensor& x) const {
  const std::int64_t length = weight_.size(0), dim = weight_.size(1);
  if (x.rank() != 3 || x.size(1) > length || x.size(2) != dim)
    throw ShapeError(str(title(), " cannot take ", x.shape()),
                     str("sequences are [n, time, ", dim, "], of ", length, " steps at most"),
                     "cut them, or build it longer");
  return x + narrow(weight_, 0, 0, x.size(1));
}

std::string PositionEmbedding::title() const {
  return str("PositionEmbedding(", weight_.size(0), ", ", weight_.size(1), ')');
}

}  // namespace veldt::nn
