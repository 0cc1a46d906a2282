// A table of vectors, read by index.
// Tests: tests/nn/embedding_test.cpp
#pragma once

#include <optional>

#include "veldt/nn/init.h"
#include "veldt/nn/module.h"
#include "veldt/nn/weight.h"

namespace veldt::nn {

struct EmbeddingOptions {
  // The row of padding: it starts as 0 and gets no gradient. Negative ones count from the end.
  std::optional<std::int64_t> padding_idx = {};
  DType dtype = DType::f32;
  Device device = {};
};

// Row i of a table for each i of x:  x [..] (i64 or i32) -> [.., dim]; "weight" [count, dim], initialised as
// N(0, 1) like torch.nn.Embedding.
class Embedding : public Module, public Quantizable {
 public:
  // Throws ConfigError for sizes below 1 and a padding_idx that is not a row; a call, ShapeError for an x of
  // another dtype or an index beyond the table.
  Embedding(std::int64_t count, std::int64_t dim, EmbeddingOptions options = {}, Rng& rng = default_rng());
  Embedding(std::int64_t count, std::int64_t dim, Rng& rng) : Embedding(count, dim, {}, rng) {}

  Tensor forward(const Tensor& x) const override;
  // x W^T for x [.., dim]: how near it is to each row, for networks whose last layer has the same weight.
  Tensor scores(const Tensor& x) const { return weight_.linear(x, {}); }
  void fields(Fields& f) override { weight_.fields(f, "weight"); }
  std::vector<Named> weights() override { return {{"weight", &weight_, Use::table, false}}; }
  std::string title() const override;

  Tensor weight() const { return weight_.numbers(); }

 private:
  std::optional<std::int64_t> padding_idx_;  // from 0
  Weight weight_;
};

// Row t of a table added to step t:  x [n, time, dim], time at most `length`; "weight" [length, dim], which
// starts as N(0, 0.02) (Radford et al. 2018).
class PositionEmbedding : public Module {
 public:
  // Throws ConfigError for sizes below 1; a call, ShapeError for a longer sequence, or another dim.
  PositionEmbedding(std::int64_t length, std::int64_t dim, Rng& rng = default_rng());

  Tensor forward(const Tensor& x) const override;
  void fields(Fields& f) override { f("weight", weight_); }
  std::string title() const override;

 private:
  Tensor weight_;
};

}  // namespace veldt::nn
