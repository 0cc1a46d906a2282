// Training steps of small networks as train::Trainer takes them, each a Plan of forward, loss, backward and
// optimizer: LeNet and an LSTM over characters (examples/mnist.cpp, examples/char_lstm.cpp), a GPT, and
// ResNet-18 as He et al. 2016 have it for pictures of 32x32: no pooling before its blocks.
//   bench_training [THREADS]                answers lines "CASE SECONDS" with the milliseconds of each step
//   bench_training [THREADS] --profile CASE prints where the time of a step goes
//   bench_training [THREADS] --avx2 [..]    the same without AVX-512; oneDNN has a variable for its part of
//   it,
//                                           which training.py sets
// bench/peers/training.py asks, and does the same work in PyTorch.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "memory.h"
#include "veldt/cpu/instruction_set.h"
#include "veldt/veldt.h"

using namespace veldt;

namespace {

constexpr std::int64_t kLetters = 65;

Tensor letters(Shape shape, Rng& rng) { return randint(shape, rng, 0, kLetters); }

// Radford et al. 2019: i64 [n, time] to logits [n, time, kLetters].
class Gpt : public nn::Module {
 public:
  static constexpr std::int64_t kLayers = 4, kWidth = 128, kHeads = 4, kTime = 128;

  explicit Gpt(Rng& rng)
      : table_(kLetters, kWidth, rng), norm_(kWidth), head_(kWidth, kLetters, {.bias = false}, rng) {
    positions_ = nn::parameter(randn({kTime, kWidth}, rng) * 0.02);
    for (std::int64_t i = 0; i < kLayers; ++i)
      layers_.push_back(std::make_unique<nn::TransformerEncoderLayer>(
          kWidth, kHeads,
          nn::TransformerLayerOptions{.dim_feedforward = 4 * kWidth,
                                      .dropout = 0,
                                      .gelu = true,
                                      .norm_first = true,
                                      .batch_first = true},
          rng));
  }

  Tensor forward(const Tensor& x) const override {
    Tensor y = table_(x) + positions_;
    for (const auto& layer : layers_) y = layer->encode(y, {.causal = true});
    return head_(norm_(y));
  }
  void fields(nn::Fields& f) override {
    f("table", table_)("positions", positions_)("layers", layers_)("norm", norm_)("head", head_);
  }

 private:
  nn::Embedding table_;
  Tensor positions_;
  std::vector<std::unique_ptr<nn::TransformerEncoderLayer>> layers_;
  nn::LayerNorm norm_;
  nn::Linear head_;
};

class Writer : public nn::Module {
 public:
  explicit Writer(Rng& rng)
      : table_(kLetters, 64, rng),
        lstm_(64, 256, {.num_layers = 2, .batch_first = true}, rng),
        head_(256, kLetters, rng) {}
  Tensor forward(const Tensor& x) const override { return head_(lstm_(table_(x))); }
  void fields(nn::Fields& f) override { f("table", table_)("lstm", lstm_)("head", head_); }

 private:
  nn::Embedding table_;
  nn::LSTM lstm_;
  nn::Linear head_;
};

// Two 3x3 convolutions beside the identity, or beside a 1x1 convolution where the shape changes.
class Block : public nn::Module {
 public:
  Block(std::int64_t in, std::int64_t out, std::int64_t stride, Rng& rng)
      : conv1_(in, out, 3, {.stride = stride, .padding = 1, .bias = false}, rng),
        conv2_(out, out, 3, {.padding = 1, .bias = false}, rng),
        bn1_(out),
        bn2_(out) {
    if (in != out)
      side_.emplace(nn::Conv2d(in, out, 1, {.stride = stride, .bias = false}, rng), nn::BatchNorm2d(out));
  }
  Tensor forward(const Tensor& x) const override {
    const Tensor y = bn2_(conv2_(relu(bn1_(conv1_(x)))));
    return relu(y + (side_ ? (*side_)(x) : x));
  }
  void fields(nn::Fields& f) override {
    f("conv1", conv1_)("conv2", conv2_)("bn1", bn1_)("bn2", bn2_)("side", side_);
  }

 private:
  nn::Conv2d conv1_, conv2_;
  nn::BatchNorm2d bn1_, bn2_;
  std::optional<nn::Sequential> side_;
};

// A network, its optimizer, and a batch.
struct Work {
  std::shared_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  std::function<Tensor()> loss;
  std::unique_ptr<Plan> plan;

  void record() {
    plan = std::make_unique<Plan>([this] {
      const Tensor value = loss();
      optimizer->zero_grad();
      value.backward();
      optimizer->step();
      return value;
    });
  }
};

Work lenet(Rng& rng) {
  const auto model = std::make_shared<nn::Sequential>(
      nn::Conv2d(1, 6, 5, {.padding = 2}, rng), nn::ReLU(), nn::MaxPool2d(2), nn::Conv2d(6, 16, 5, rng),
      nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(400, 120, rng), nn::ReLU(),
      nn::Linear(120, 84, rng), nn::ReLU(), nn::Linear(84, 10, rng));
  const Tensor x = rand({64, 1, 28, 28}, rng), y = randint({64}, rng, 0, 10);
  return {model, std::make_unique<optim::Adam>(model->named_parameters()),
          [=] { return cross_entropy((*model)(x), y); }, nullptr};
}

Work char_lstm(Rng& rng) {
  const auto model = std::make_shared<Writer>(rng);
  const Tensor x = letters({32, 100}, rng), y = letters({32, 100}, rng);
  optim::AdamOptions options{.lr = 2e-3, .clip = {.norm = 1}};
  return {model, std::make_unique<optim::Adam>(model->named_parameters(), options),
          [=] { return cross_entropy(movedim((*model)(x), -1, 1), y); }, nullptr};
}

Work gpt(Rng& rng) {
  const auto model = std::make_shared<Gpt>(rng);
  const Tensor x = letters({32, Gpt::kTime}, rng), y = letters({32 * Gpt::kTime}, rng);
  return {model, std::make_unique<optim::AdamW>(model->named_parameters()),
          [=] {
            return cross_entropy(reshape((*model)(x), {32 * Gpt::kTime, kLetters}), y);
          },
          nullptr};
}

Work resnet18(Rng& rng) {
  const auto model = std::make_shared<nn::Sequential>(
      nn::Conv2d(3, 64, 3, {.padding = 1, .bias = false}, rng), nn::BatchNorm2d(64), nn::ReLU());
  std::int64_t in = 64;
  for (const std::int64_t out : {64, 128, 256, 512}) {
    model->add(Block(in, out, in == out ? 1 : 2, rng));
    model->add(Block(out, out, 1, rng));
    in = out;
  }
  model->add(nn::AdaptiveAvgPool2d(1));
  model->add(nn::Flatten());
  model->add(nn::Linear(in, 10, rng));
  const Tensor x = randn({64, 3, 32, 32}, rng), y = randint({64}, rng, 0, 10);
  return {
      model,
      std::make_unique<optim::SGD>(model->named_parameters(), optim::SGDOptions{.lr = 1e-2, .momentum = 0.9}),
      [=] { return cross_entropy((*model)(x), y); }, nullptr};
}

// The network of recipes/cifar10_fast.toml.
Work cifar10_fast(Rng& rng) {
  const auto model = std::make_shared<nn::Sequential>(nn::Conv2d(3, 24, 2, rng), nn::GELU());
  for (const auto& tensor : model->parameters()) Tensor(tensor).set_requires_grad(false);
  const auto half = [&](std::int64_t in, std::int64_t out, bool halves) {
    model->add(nn::Conv2d(in, out, 3, {.padding = 1, .bias = false}, rng));
    if (halves) model->add(nn::MaxPool2d(2));
    nn::BatchNorm2d norm(out);
    Tensor(norm.weight()).set_requires_grad(false);
    model->add(std::move(norm));
    model->add(nn::GELU());
  };
  std::int64_t in = 24;
  for (const std::int64_t out : {64, 256, 256}) {
    half(in, out, true);
    half(out, out, false);
    in = out;
  }
  model->add(nn::MaxPool2d(3));
  model->add(nn::Flatten());
  model->add(nn::Linear(in, 10, {.bias = false}, rng));
  const Tensor x = randn({512, 3, 32, 32}, rng), y = randint({512}, rng, 0, 10);
  return {model,
          std::make_unique<optim::SGD>(model->trained_parameters(),
                                       optim::SGDOptions{.lr = 1e-2, .momentum = 0.85, .nesterov = true}),
          [=] { return cross_entropy((*model)(x), y, {.label_smoothing = 0.2}); }, nullptr};
}

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// One JSON object: the milliseconds of each step, the last loss, and the most memory that was held.
void answer(Work& work, double seconds) {
  const char* before = "{\"ms\": [";
  const auto start = Clock::now();
  do {
    const auto step = Clock::now();
    work.plan->replay();
    std::printf("%s%.4f", before, 1e3 * seconds_since(step));
    before = ", ";
  } while (seconds_since(start) < seconds);
  std::printf("], \"loss\": %.4f, \"mb\": %.1f}\n", work.plan->output().item(), bench::peak_memory());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc > 2 && std::strcmp(argv[2], "--avx2") == 0) {
    cpu::use_instruction_set(cpu::InstructionSet::avx2);
    argv[2] = argv[1];
    ++argv, --argc;
  }
  set_num_threads(argc > 1 ? std::atoi(argv[1]) : 2);
  const std::map<std::string, Work (*)(Rng&)> makers = {{"lenet", lenet},
                                                        {"char_lstm", char_lstm},
                                                        {"gpt", gpt},
                                                        {"resnet18", resnet18},
                                                        {"cifar10_fast", cifar10_fast}};
  std::map<std::string, Work> ready;
  const auto work_of = [&](const std::string& name) -> Work& {
    if (!makers.contains(name))
      throw ConfigError("there is no case " + name,
                        "it is none of lenet, char_lstm, gpt, resnet18 and cifar10_fast", "name one");
    Work& work = ready[name];
    if (!work.plan) {
      Rng rng(1);
      work = makers.at(name)(rng);
      work.record();
    }
    return work;
  };
  if (argc > 3 && std::strcmp(argv[2], "--profile") == 0) {
    Work& work = work_of(argv[3]);
    for (int i = 0; i < 3; ++i) work.plan->replay();
    Profile watch;
    for (int i = 0; i < 10; ++i) work.plan->replay();
    std::printf("%s\n", watch.table().c_str());
    return 0;
  }
  std::string name;
  for (double seconds; std::cin >> name >> seconds;) answer(work_of(name), seconds);
} catch (const Error& error) {
  std::fprintf(stderr, "bench_training: %s\n", error.what());
  return 2;
}
