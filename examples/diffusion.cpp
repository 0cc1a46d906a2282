// Diffusion (Ho et al. 2020): a network learns to take noise off handwritten digits, and so draws new ones
// out of pure noise, each as the class it is asked for.
//   example_diffusion FOLDER [EPOCHS [WIDTH [SAMPLES.npy]]]
// FOLDER holds the four files of MNIST. Draws diffusion.png (a row for each class) and noise_to_digit.png,
// and writes 10,000 digits [n, 28, 28] into SAMPLES.npy, for example_frechet. Fifteen epochs of width 32 take
// some twenty minutes on two cores.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kClasses = 10, kSteps = 50;

// How much of picture and of noise is in what the network sees at time 0 (the picture) to 1 (noise): the
// squares add up to one (Nichol & Dhariwal 2021).
Tensor share_of_picture(const Tensor& t) { return cos(std::numbers::pi / 2 * t); }
Tensor share_of_noise(const Tensor& t) { return sin(std::numbers::pi / 2 * t); }

// Two convolutions with norms, told of time and class, beside the input itself (He et al. 2016).
struct Block : nn::Module {
  nn::GroupNorm norm1, norm2;
  nn::Conv2d conv1, conv2, skip;
  nn::Linear told;

  Block(std::int64_t in, std::int64_t out, std::int64_t facts)
      : norm1(8, in),
        norm2(8, out),
        conv1(in, out, 3, {.padding = 1}),
        conv2(out, out, 3, {.padding = 1}),
        skip(in, out, 1),
        told(facts, out) {}
  Tensor operator()(const Tensor& x, const Tensor& facts) const {
    const Tensor h = conv1(silu(norm1(x))) + unsqueeze(unsqueeze(told(facts), 2), 3);
    return skip(x) + conv2(silu(norm2(h)));
  }
  void fields(nn::Fields& f) override {
    f("norm1", norm1)("norm2", norm2)("conv1", conv1)("conv2", conv2)("skip", skip)("told", told);
  }
};

// A small U-Net (Ronneberger et al. 2015): at 14 x 14 (each 2 x 2 pixels are channels), at 7 x 7, and back.
// {noisy pictures [n, 1, 28, 28], times [n], labels [n]} -> {v [n, 1, 28, 28]}
struct Denoiser : nn::Module {
  std::int64_t width, facts = 4 * width;
  nn::Sequential time{nn::Linear(32, facts), nn::SiLU(), nn::Linear(facts, facts)};
  nn::Embedding digit{kClasses, facts};
  nn::Conv2d first{4, width, 3, {.padding = 1}}, down{width, 2 * width, 3, {.stride = 2, .padding = 1}},
      up{2 * width, width, 3, {.padding = 1}}, last{width, 4, 3, {.padding = 1}};
  Block fine{width, width, facts}, coarse1{2 * width, 2 * width, facts}, coarse2{2 * width, 2 * width, facts},
      joined{2 * width, width, facts};
  nn::GroupNorm norm{8, width};

  explicit Denoiser(std::int64_t channels) : width(channels) {}

  TensorList forward_list(const TensorList& in) const override {
    const Tensor angle = unsqueeze(in[1], 1) * exp(linspace(0, std::log(1000.0), 16));
    const Tensor facts_of = silu(time(cat({sin(angle), cos(angle)}, 1)) + digit(in[2]));
    const Tensor side = fine(first(pixel_unshuffle(in[0], 2)), facts_of);
    const Tensor deep = coarse2(coarse1(down(side), facts_of), facts_of);
    const Tensor back = up(interpolate(deep, {.scale_factor = {2}}));
    return {pixel_shuffle(last(silu(norm(joined(cat({side, back}, 1), facts_of)))), 2)};
  }
  void fields(nn::Fields& f) override {
    f("time", time)("digit", digit)("first", first)("fine", fine)("down", down)("coarse1", coarse1);
    f("coarse2", coarse2)("up", up)("joined", joined)("norm", norm)("last", last);
  }
};

// Digits of these classes out of noise, by DDIM (Song et al. 2021): each step guesses the picture, and goes a
// part of the way to it. What there is after some of the steps is added to `between`.
Tensor draw(const Denoiser& model, const Tensor& labels, Rng& rng, std::vector<Tensor>* between = nullptr) {
  const std::int64_t n = labels.size(0);
  Tensor x = randn({n, 1, 28, 28}, rng);
  for (std::int64_t step = kSteps; step > 0; --step) {
    const Tensor now = full({n}, static_cast<double>(step) / kSteps),
                 next = full({1}, static_cast<double>(step - 1) / kSteps);
    const double a = share_of_picture(select(now, 0, 0)).item(), s = share_of_noise(select(now, 0, 0)).item();
    const Tensor v = model(TensorList{x, now, labels})[0];
    const Tensor picture = clamp(a * x - s * v, -1, 1), noise = (x - a * picture) / s;
    if (between && step % 5 == 0) between->push_back(x);
    x = share_of_picture(next) * picture + share_of_noise(next) * noise;
  }
  if (between) between->push_back(x);
  return x;
}

// Pictures [rows columns, 1, 28, 28] of -1..1 beside and below each other.
Tensor sheet(const Tensor& pictures, std::int64_t columns) {
  const Tensor grid = reshape(clamp(pictures / 2 + 0.5, 0, 1), {-1, columns, 28, 28});
  return reshape(movedim(grid, 2, 1), {-1, columns * 28, 1});
}

int main(int argc, char** argv) try {
  const std::string folder = argc > 1 ? argv[1] : "mnist";
  const double epochs =
      argc > 2 ? io::number_from({"EPOCHS", "", false}, argv[2], {.most = 10'000, .above = 0}) : 15;
  const std::int64_t width =
      argc > 3 ? io::count_from({"WIDTH", "", false}, argv[3], {.least = 8, .most = 1024}) : 32;
  // What is written at the end is not to fail there.
  for (const char* file : {"diffusion.safetensors", "diffusion.png", "noise_to_digit.png"})
    io::check_writable(file);
  if (argc > 4) io::check_writable(argv[4]);

  const auto scaled = [](data::Example e, Rng&) { return data::Example{e[0] * 2 - 1, e[1]}; };
  data::Loader digits(data::mnist(folder, data::Part::train),
                      {.batch = 128, .shuffle = true, .drop_last = true, .transform = scaled});
  data::Loader held(data::mnist(folder, data::Part::test), {.batch = 500, .transform = scaled});
  nn::seed(1);
  Denoiser model(width);
  optim::AdamW adam(model.named_parameters(), {.weight_decay = 1e-3});

  // The network learns v (Salimans & Ho 2022), which holds both the noise and the picture at any time.
  Rng chance(2);
  const train::Forward noisy = [&chance](const nn::Module& m, const data::Batch& b) {
    const Tensor t = rand({b[0].size(0)}, chance), noise = randn(b[0].shape(), chance);
    const Tensor a = reshape(share_of_picture(t), {-1, 1, 1, 1}),
                 s = reshape(share_of_noise(t), {-1, 1, 1, 1});
    return TensorList{m(TensorList{a * b[0] + s * noise, t, b[1]})[0], a * noise - s * b[0]};
  };
  const train::Loss loss = [](const TensorList& y, const data::Batch&) { return mse_loss(y[0], y[1]); };
  train::Trainer trainer(model, adam, {.forward = noisy, .loss = loss, .ema_decay = 0.999});
  const auto steps = std::max<std::int64_t>(1, std::llround(epochs * static_cast<double>(digits.batches())));
  const optim::OneCycle rate{.lr_max = 2e-3, .steps = steps};
  const train::FitResult result =
      trainer.fit(digits, &held, {.steps = steps, .schedule = rate, .record = true}, {},
                  [](const train::Evaluation& now) {
                    std::printf("epoch %2.0f: loss %.4f, of the test set %.4f, %.0f s\n", now.epoch,
                                now.train_loss, train::score(now.scores, "loss"), now.seconds);
                    std::fflush(stdout);
                  });
  io::write_safetensors("diffusion.safetensors", model.state_dict());

  model.eval();
  const NoGrad drawing_only;
  Rng rng(4);
  const Tensor each = arange(kClasses);
  io::write_image("diffusion.png", sheet(draw(model, repeat_interleave(each, 12, 0), rng), 12));
  std::vector<Tensor> between;
  draw(model, each, rng, &between);
  io::write_image("noise_to_digit.png", sheet(reshape(stack(between, 1), {-1, 1, 28, 28}), 11));
  if (argc > 4) {
    std::vector<Tensor> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(
          to(round(clamp(draw(model, repeat(each, {50}), rng) * 127.5 + 127.5, 0, 255)), DType::u8));
      std::printf("%d of 20 parts of the samples are drawn\n", i + 1);
      std::fflush(stdout);
    }
    io::write_npy(argv[4], reshape(cat(all, 0), {-1, 28, 28}));
  }
  return result.evaluations.back().train_loss < 0.6 ? 0 : 1;  // 1: a guess that says nothing
} catch (const Error& error) {
  std::fprintf(stderr, "diffusion: %s\n", error.what());
  return 2;
}
