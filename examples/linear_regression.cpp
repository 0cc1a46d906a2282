// Fits a plane to noisy measurements twice: in small batches by gradient descent, and at once by L-BFGS.
#include <cmath>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kRows = 512, kBatch = 32;
constexpr int kEpochs = 60;

void train_in_batches(const nn::Module& model, const Tensor& x, const Tensor& y) {
  optim::SGD sgd(model.named_parameters(), {.momentum = 0.9});
  const optim::Schedule rate =
      optim::CosineAnnealing{.lr_max = 0.05, .lr_min = 1e-4, .steps = kEpochs * kRows / kBatch};
  const data::BatchSampler batches(kRows, kBatch, /*seed=*/1);
  for (std::int64_t step = 0; step < kEpochs * kRows / kBatch; ++step) {
    const Tensor rows = batches.indices(step);
    sgd.set_lr(rate(step));
    sgd.zero_grad();
    mse_loss(model(index_select(x, 0, rows)), index_select(y, 0, rows)).backward();
    sgd.step();
  }
}

void train_at_once(const nn::Module& model, const Tensor& x, const Tensor& y) {
  optim::LBFGS lbfgs(model.named_parameters());
  lbfgs.step([&] { return mse_loss(model(x), y); });  // 20 iterations, each a line search
}

// How far the layer is from the plane that made the data.
double error_of(const nn::Linear& model, const Tensor& slope, double height) {
  const NoGrad off;
  return max(abs(model.weight() - slope)).item() + std::abs(model.bias().item() - height);
}

int main() {
  const Tensor slope = Tensor::of({1, 3}, {2, -3, 0.5});
  const double height = 1.25, noise = 0.1;
  Rng rng(7);
  const Tensor x = randn({kRows, 3}, rng);
  const Tensor y = matmul(x, transpose(slope)) + height + randn({kRows, 1}, rng, 0, noise);

  nn::seed(7);
  const nn::Linear by_batches(3, 1), at_once(3, 1);
  train_in_batches(by_batches, x, y);
  train_at_once(at_once, x, y);

  const NoGrad inference;
  for (const auto* model : {&by_batches, &at_once}) {
    const std::vector<float> w = model->weight().values<float>();
    std::printf("y = %.3f a + %.3f b + %.3f c + %.3f   loss %.5f\n", w[0], w[1], w[2], model->bias().item(),
                mse_loss((*model)(x), y).item());
  }
  // 512 measurements leave an error of about noise / sqrt(512) in each number.
  const bool good = error_of(by_batches, slope, height) < 0.03 && error_of(at_once, slope, height) < 0.03;
  return good ? 0 : 1;
}
