// Products, convolutions, attention, recurrent steps and stacks of layers.
#include "rows.h"

namespace veldt::bench {

namespace {

const std::vector<DType> kProducts = {DType::f32, DType::f64, DType::bf16};

Shape half_square(std::int64_t n) { return {side(n) / 2, side(n) / 2}; }
Shape one_row(std::int64_t n) { return {1, side(n)}; }
Shape matrices(std::int64_t n) { return {n / 1024, 32, 32}; }
Shape wide(std::int64_t n) { return {n / 64, 64}; }
Shape square_64(std::int64_t) { return {64, 64}; }
Shape list_64(std::int64_t) { return {64}; }

void add_matmul(std::vector<Row>& rows) {
  const auto product = [&](const char* name, Shape (*a)(std::int64_t), Shape (*b)(std::int64_t)) {
    rows.push_back(
        {name, kProducts, {{a}, {b}}, calls([](const Tensors& x) { return matmul(x[0], x[1]); }), true});
  };
  product("matmul", half_square, half_square);
  product("matmul vector", square, row_of_square);
  product("matmul row", one_row, square);
  product("matmul batch", matrices, matrices);
  product("matmul thin", wide, square_64);
  rows.push_back(
      {"dot", kWide, {{line}, {line}}, calls([](const Tensors& x) { return dot(x[0], x[1]); }), true, false});
  rows.push_back({"outer",
                  kProducts,
                  {{row_of_square}, {row_of_square}},
                  calls([](const Tensors& x) { return outer(x[0], x[1]); }),
                  true,
                  false});
  rows.push_back({"linear",
                  kProducts,
                  {{wide}, {square_64, -1, 1, Fill::numbers, true}, {list_64, -1, 1, Fill::numbers, true}},
                  calls([](const Tensors& x) { return linear(x[0], x[1], x[2]); }),
                  true});
  rows.push_back({"einsum bij,bjk->bik",
                  kWide,
                  {{matrices}, {matrices}},
                  calls([](const Tensors& x) {
                    return einsum("bij,bjk->bik", {x[0], x[1]});
                  }),
                  true});
  rows.push_back({"einsum ij,ij->i",
                  kWide,
                  {{square}, {square}},
                  calls([](const Tensors& x) {
                    return einsum("ij,ij->i", {x[0], x[1]});
                  }),
                  true});
}

// Convolutions: 64 channels, 3 elements along each dimension.
template <int kDims> Shape signal(std::int64_t n) {
  Shape shape = {1, 16};
  const double size = std::pow(static_cast<double>(n) / 16, 1.0 / kDims);
  for (int d = 0; d < kDims; ++d) shape.push_back(std::max(3, static_cast<int>(size)));
  return shape;
}
template <int kDims> Shape kernel(std::int64_t) {
  Shape shape = {16, 16};
  for (int d = 0; d < kDims; ++d) shape.push_back(3);
  return shape;
}
Shape list_16(std::int64_t) { return {16}; }
Shape depthwise_kernel(std::int64_t) { return {16, 1, 3, 3}; }

template <int kDims, class Fn, class Transposed>
void add_convolution(std::vector<Row>& rows, const std::string& suffix, Fn fn, Transposed transposed) {
  const std::vector<Input> inputs = {{signal<kDims>},
                                     {kernel<kDims>, -0.1, 0.1, Fill::numbers, true},
                                     {list_16, -1, 1, Fill::numbers, true}};
  rows.push_back({"conv" + suffix, kProducts, inputs,
                  calls([fn](const Tensors& x) { return fn(x[0], x[1], x[2], ConvOptions{.padding = 1}); }),
                  true});
  rows.push_back({"conv_transpose" + suffix, kProducts, inputs, calls([transposed](const Tensors& x) {
                    return transposed(x[0], x[1], x[2], ConvTransposeOptions{.padding = 1});
                  }),
                  true});
}

void add_convolutions(std::vector<Row>& rows) {
  add_convolution<1>(rows, "1d", conv1d, conv_transpose1d);
  add_convolution<2>(rows, "2d", conv2d, conv_transpose2d);
  add_convolution<3>(rows, "3d", conv3d, conv_transpose3d);
  rows.push_back(
      {"conv2d depthwise",
       kProducts,
       {{signal<2>}, {depthwise_kernel, -0.1, 0.1, Fill::numbers, true}},
       calls([](const Tensors& x) { return conv2d(x[0], x[1], {}, {.padding = 1, .groups = 16}); }),
       true});
}

// [1, heads, time, 32]: n scores in all heads together.
std::int64_t time_of(std::int64_t n) { return side(n) / 2; }
Shape heads(std::int64_t n) { return {1, 4, time_of(n), 32}; }
Shape joined(std::int64_t n) { return {1, time_of(n), 384}; }
Shape scores(std::int64_t n) { return {time_of(n), time_of(n)}; }

void add_attention(std::vector<Row>& rows) {
  const std::vector<Input> qkv = {{heads}, {heads}, {heads}};
  const auto attend = [](const AttentionOptions& options) {
    return calls([=](const Tensors& x) {
      AttentionOptions o = options;
      if (x.size() > 3) o.mask = x[3];
      return scaled_dot_product_attention(x[0], x[1], x[2], o);
    });
  };
  rows.push_back({"scaled_dot_product_attention", kProducts, qkv, attend({}), true});
  rows.push_back({"scaled_dot_product_attention causal", kProducts, qkv, attend({.causal = true}), true});
  std::vector<Input> with_mask = qkv;
  with_mask.push_back({scores, 0, 1, Fill::booleans, true});
  rows.push_back({"scaled_dot_product_attention mask", kProducts, with_mask, attend({}), true});
  with_mask[3] = {scores, -1, 1, Fill::numbers, true};
  rows.push_back({"scaled_dot_product_attention bias", kProducts, with_mask, attend({}), true});
  rows.push_back({"attention_weights",
                  kProducts,
                  {{heads}, {heads}},
                  calls([](const Tensors& x) { return attention_weights(x[0], x[1]); }),
                  true});
  rows.push_back({"self_attention",
                  kProducts,
                  {{joined}},
                  calls([](const Tensors& x) { return self_attention(x[0], 4, {.causal = true}); }),
                  true});
  rows.push_back({"rotary_embedding",
                  kFloats,
                  {{matrices}},
                  calls([](const Tensors& x) { return rotary_embedding(x[0]); }),
                  true});
  rows.push_back({"sinusoidal_positions",
                  {DType::f32},
                  {{square}},
                  calls([](const Tensors& x) { return sinusoidal_positions(x[0].size(0), x[0].size(1)); }),
                  false,
                  false});
}

// Sequences of 32 steps.
Shape steps(std::int64_t n) { return {32, std::max<std::int64_t>(1, n / 32 / 256), 256}; }
Shape recurrent_weight(std::int64_t) { return {256, 64}; }
Shape state(std::int64_t n) { return {std::max<std::int64_t>(1, n / 32 / 256), 64}; }
Shape sequence(std::int64_t n) { return {32, std::max<std::int64_t>(1, n / 32 / 64), 64}; }
Shape points(std::int64_t n) { return {n / 32, 2}; }

void add_stacks(std::vector<Row>& rows) {
  rows.push_back({"lstm_steps",
                  kWide,
                  {{steps}, {recurrent_weight, -0.1, 0.1, Fill::numbers, true}, {state}, {state}},
                  calls([](const Tensors& x) { return lstm_steps(x[0], x[1], x[2], x[3]); }),
                  true,
                  false});
  rows.push_back({"nn::LSTM",
                  kWide,
                  {{sequence}},
                  calls_module([](const Tensor& x) {
                    return std::make_shared<nn::LSTM>(64, 64, nn::RecurrentOptions{.dtype = x.dtype()});
                  }),
                  true,
                  false});
  rows.push_back({"nn::GRU",
                  kWide,
                  {{sequence}},
                  calls_module([](const Tensor& x) {
                    return std::make_shared<nn::GRU>(64, 64, nn::RecurrentOptions{.dtype = x.dtype()});
                  }),
                  true,
                  false});
  rows.push_back(
      {"mlp",
       kWide,
       {{wide}, {square_64, -0.2, 0.2, Fill::numbers, true}, {square_64, -0.2, 0.2, Fill::numbers, true}},
       calls([](const Tensors& x) {
         const DenseLayers layers = {{x[1], {}, MlpActivation::relu}, {x[2], {}}};
         return mlp(x[0], layers);
       }),
       true});
  rows.push_back(
      {"grid_encoding",
       kWide,
       {{points, 0, 1}},
       [](const Tensors& x) {
         const GridLayout grid = grid_layout({.log2_entries = 15, .finest = 256});
         const Tensor table = to(rand({grid.entries(), 2}, nn::default_rng(), -1, 1), x[0].dtype());
         return Call{[=] { return grid_encoding(x[0], table, grid); }, {table}};
       },
       true,
       false});
}

}  // namespace

std::vector<Row> product_rows() {
  std::vector<Row> rows;
  add_matmul(rows);
  add_convolutions(rows);
  add_attention(rows);
  add_stacks(rows);
  return rows;
}

}  // namespace veldt::bench
