// Tells two kinds of flowers apart by their measures: a table in, an accuracy out.
//   example_logistic_regression [examples/data/flowers.csv]
#include <cstdio>
#include <string>

#include "veldt/veldt.h"

using namespace veldt;

// The share of rows on the right side of the line.
double accuracy(const nn::Module& model, const Tensor& x, const Tensor& y) {
  const NoGrad evaluation;
  const Tensor said = greater(model(x), zeros_like(y));  // a logit above 0 says species 1
  return mean(to(equal(to(said, DType::f32), y), DType::f32)).item();
}

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "examples/data/flowers.csv";
  const io::CsvTable table = io::read_csv(path, {"petal_length", "petal_width", "stem_length", "species"});
  const std::int64_t rows = table.values.size(0), train_rows = rows * 2 / 3;
  Tensor x = slice(table.values, 1, 0, 3);
  const Tensor y = slice(table.values, 1, 3, 4);

  // Measures to mean 0 and deviation 1, by what is known of the rows to learn from.
  const Tensor known = slice(x, 0, 0, train_rows);
  x = (x - mean(known, {0}, true)) / sqrt(variance(known, {0}, true));
  const Tensor x_train = slice(x, 0, 0, train_rows), y_train = slice(y, 0, 0, train_rows);
  const Tensor x_test = slice(x, 0, train_rows, rows), y_test = slice(y, 0, train_rows, rows);

  nn::seed(1);
  nn::Linear model(3, 1);
  optim::Adam adam(model.named_parameters(), {.lr = 0.1});
  for (int step = 0; step <= 200; ++step) {
    const Tensor loss = binary_cross_entropy_with_logits(model(x_train), y_train);
    adam.zero_grad();
    loss.backward();
    adam.step();
    if (step % 50 == 0) std::printf("step %3d  loss %.4f\n", step, loss.item());
  }

  const double learned = accuracy(model, x_train, y_train), unseen = accuracy(model, x_test, y_test);
  std::printf("right: %.1f %% of the %ld flowers learned from, %.1f %% of the %ld others\n", 100 * learned,
              static_cast<long>(train_rows), 100 * unseen, static_cast<long>(rows - train_rows));
  const std::vector<float> weights = model.weight().values<float>();
  for (std::size_t i = 0; i < weights.size(); ++i)
    std::printf("%-13s %+.2f\n", table.columns[i].c_str(), weights[i]);
  return unseen > 0.9 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "logistic_regression: %s\n", error.what());
  return 2;
}
