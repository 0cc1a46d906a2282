// What layers are made of: norms, pooling, other sizes of pictures, distances, dropout, embeddings, losses.
#include "rows.h"

namespace veldt::bench {

namespace {

using T = const Tensor&;

// Pictures of 64 channels; signals and volumes of 16.
Shape pictures(std::int64_t n) {
  const std::int64_t size = n <= 1024 ? 4 : 32;
  return {n / (64 * size * size), 64, size, size};
}
Shape signals(std::int64_t n) { return {1, 16, n / 16}; }
Shape volumes(std::int64_t n) {
  const std::int64_t size = n <= 1024 ? 4 : 16;
  return {n / (16 * size * size * size), 16, size, size, size};
}
Shape channels(std::int64_t) { return {64}; }

void add_norms(std::vector<Row>& rows) {
  const auto weight = [](Shape (*shape)(std::int64_t)) { return Input{shape, 0.5, 2, Fill::numbers, true}; };
  rows.push_back({"layer_norm",
                  kFloats,
                  {{square}, weight(row_of_square), weight(row_of_square)},
                  calls([](const Tensors& x) { return layer_norm(x[0], x[1].shape(), x[1], x[2]); }),
                  true});
  rows.push_back({"rms_norm",
                  kFloats,
                  {{square}, weight(row_of_square)},
                  calls([](const Tensors& x) { return rms_norm(x[0], x[1].shape(), x[1]); }),
                  true});
  rows.push_back({"group_norm",
                  kFloats,
                  {{pictures}, weight(channels), weight(channels)},
                  calls([](const Tensors& x) { return group_norm(x[0], 8, x[1], x[2]); }),
                  true});
  const auto batch_norm = [](bool training) {
    return calls_module([training](T x) {
      const auto norm = std::make_shared<nn::BatchNorm2d>(64, nn::BatchNormOptions{.dtype = x.dtype()});
      norm->train(training);
      return norm;
    });
  };
  rows.push_back({"nn::BatchNorm2d", kFloats, {{pictures}}, batch_norm(true), true});
  rows.push_back({"nn::BatchNorm2d eval", kFloats, {{pictures}}, batch_norm(false), true});
  rows.push_back({"nn::InstanceNorm2d",
                  kFloats,
                  {{pictures}},
                  calls_module([](T x) {
                    return std::make_shared<nn::InstanceNorm2d>(64,
                                                                nn::InstanceNormOptions{.dtype = x.dtype()});
                  }),
                  true});
}

template <class Fn> Row one(const char* name, Shape (*shape)(std::int64_t), Fn fn) {
  return {name, kFloats, {{shape}}, calls([fn](const Tensors& x) { return fn(x[0]); }), true};
}

void add_pooling(std::vector<Row>& rows) {
  const auto resized = [](const char* name, Interpolation mode) {
    return one(name, pictures, [mode](T x) { return interpolate(x, {.scale_factor = {2}, .mode = mode}); });
  };
  for (const Row& row :
       {one("max_pool1d", signals, [](T x) { return max_pool1d(x, 2); }),
        one("max_pool2d", pictures, [](T x) { return max_pool2d(x, 2); }),
        one("max_pool2d 3 by 3", pictures, [](T x) { return max_pool2d(x, 3, {.stride = 2, .padding = 1}); }),
        one("max_pool3d", volumes, [](T x) { return max_pool3d(x, 2); }),
        one("avg_pool1d", signals, [](T x) { return avg_pool1d(x, 2); }),
        one("avg_pool2d", pictures, [](T x) { return avg_pool2d(x, 2); }),
        one("avg_pool2d 3 by 3", pictures, [](T x) { return avg_pool2d(x, 3, {.stride = 2, .padding = 1}); }),
        one("avg_pool3d", volumes, [](T x) { return avg_pool3d(x, 2); }),
        one("adaptive_max_pool1d", signals, [](T x) { return adaptive_max_pool1d(x, 7); }),
        one("adaptive_max_pool2d", pictures, [](T x) { return adaptive_max_pool2d(x, 3); }),
        one("adaptive_max_pool3d", volumes, [](T x) { return adaptive_max_pool3d(x, 3); }),
        one("adaptive_avg_pool1d", signals, [](T x) { return adaptive_avg_pool1d(x, 7); }),
        one("adaptive_avg_pool2d", pictures, [](T x) { return adaptive_avg_pool2d(x, 3); }),
        one("adaptive_avg_pool2d 1", pictures, [](T x) { return adaptive_avg_pool2d(x, 1); }),
        one("adaptive_avg_pool3d", volumes, [](T x) { return adaptive_avg_pool3d(x, 3); }),
        resized("interpolate nearest", Interpolation::nearest),
        resized("interpolate bilinear", Interpolation::linear),
        resized("interpolate bicubic", Interpolation::cubic)})
    rows.push_back(row);
}

void add_distances(std::vector<Row>& rows) {
  const auto two = [&](const char* name, auto fn) {
    rows.push_back({name,
                    kFloats,
                    {{square}, {square}},
                    calls([fn](const Tensors& x) { return fn(x[0], x[1]); }),
                    true});
  };
  two("cosine_similarity", [](T a, T b) { return cosine_similarity(a, b); });
  two("pairwise_distance", [](T a, T b) { return pairwise_distance(a, b); });
  rows.push_back(one("normalize", square, [](T x) { return normalize(x); }));
}

Shape table(std::int64_t n) { return {side(n), 64}; }
Shape words(std::int64_t n) { return {n / 64}; }

void add_layers(std::vector<Row>& rows) {
  Row dropout{"nn::Dropout",
              kWide,
              {{square}},
              calls_module([](T) { return std::make_shared<nn::Dropout>(0.1); }),
              true};
  rows.push_back(dropout);
  rows.push_back({"nn::Embedding",
                  kWide,
                  {{table}, {words, 0, 1, Fill::positions, true}},
                  [](const Tensors& x) {
                    const auto layer = std::make_shared<nn::Embedding>(
                        x[0].size(0), x[0].size(1), nn::EmbeddingOptions{.dtype = x[0].dtype()});
                    return Call{[=] { return (*layer)(x[1]); }, layer->parameters()};
                  },
                  true,
                  false});
}

void add_losses(std::vector<Row>& rows) {
  const auto loss = [&](const char* name, double low, double high, auto fn) {
    rows.push_back({name,
                    kWide,
                    {{square, low, high}, {square, low, high, Fill::numbers, true}},
                    [fn](const Tensors& x) {
                      return Call{[=] { return fn(x[0], x[1]); }, {x[0]}};
                    },
                    true});
  };
  loss("mse", -2, 2, [](T x, T t) { return mse_loss(x, t); });
  loss("l1", -2, 2, [](T x, T t) { return l1_loss(x, t); });
  loss("huber", -2, 2, [](T x, T t) { return huber_loss(x, t); });
  loss("smooth_l1", -2, 2, [](T x, T t) { return smooth_l1_loss(x, t); });
  loss("bce", 0.1, 0.9, [](T x, T t) { return binary_cross_entropy(x, t); });
  loss("bce_with_logits", 0.1, 0.9, [](T x, T t) { return binary_cross_entropy_with_logits(x, t); });
  loss("kl_div", 0.1, 0.9, [](T x, T t) { return kl_div(x, t); });
  loss("poisson_nll", 0.1, 2, [](T x, T t) { return poisson_nll_loss(x, t); });
  const Input classes{row_of_square, 0, 1, Fill::positions, true};
  rows.push_back({"cross_entropy",
                  kWide,
                  {{square}, classes},
                  calls([](const Tensors& x) { return cross_entropy(x[0], x[1]); }),
                  true});
  rows.push_back({"nll",
                  kWide,
                  {{square}, classes},
                  calls([](const Tensors& x) { return nll_loss(x[0], x[1]); }),
                  true});
}

}  // namespace

std::vector<Row> layer_rows() {
  std::vector<Row> rows;
  add_norms(rows);
  add_pooling(rows);
  add_distances(rows);
  add_layers(rows);
  add_losses(rows);
  return rows;
}

}  // namespace veldt::bench
