// How close generated digits are to real ones, in the eyes of a network that reads digits: the Frechet
// distance of its features (the FID of Heusel et al. 2017, with LeNet in place of Inception).
//   veldt train recipes/mnist.toml --data DATA         trains the judge
//   example_frechet runs/mnist DATA/mnist SAMPLES.npy..
// SAMPLES.npy hold pictures [n, 28, 28] of 0..255, as example_vae and example_diffusion write them. Each set
// is compared with the 10,000 digits of the test set; digits of the training set, and noise, show what is
// near and far.
#include <algorithm>
#include <cstdio>

#include "veldt/veldt.h"

using namespace veldt;

// What the last linear layer reads: [n, 84] of pictures [n, 1, 28, 28] of 0..1.
Tensor features(recipe::Trained& judge, const Tensor& pictures) {
  nn::Module* last = nullptr;
  for (const nn::NamedModule& one : judge.model.named_modules())
    if (dynamic_cast<const nn::Linear*>(one.module) != nullptr) last = one.module;
  if (last == nullptr) throw ConfigError("the judge has no linear layer", "", "train recipes/mnist.toml");
  std::vector<Tensor> all;
  HookHandle hook = last->register_forward_pre_hook(
      [&all](const nn::Module&, TensorList& inputs) { all.push_back(inputs[0]); });
  const NoGrad looking_only;
  for (std::int64_t i = 0; i < pictures.size(0); i += 500)
    judge.model(slice(pictures, 0, i, std::min(i + 500, pictures.size(0))));
  hook.remove();
  return cat(all, 0);
}

Tensor pictures_of(const data::DatasetPtr& set, std::int64_t count) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(set->get(i)[0]);
  return stack(all, 0);
}

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fputs("usage: example_frechet runs/mnist FOLDER_OF_MNIST SAMPLES.npy..\n", stderr);
    return 2;
  }
  recipe::Trained judge = recipe::load(argv[1]);
  const Tensor real = features(judge, pictures_of(data::mnist(argv[2], data::Part::test), 10000));
  const auto report = [&](const char* name, const Tensor& pictures) {
    std::printf("%-24s %8.3f\n", name, train::frechet_distance(real, features(judge, pictures)));
  };
  report("10,000 training digits", pictures_of(data::mnist(argv[2], data::Part::train), 10000));
  Rng rng(1);
  report("noise", rand({10000, 1, 28, 28}, rng));
  for (int i = 3; i < argc; ++i)
    report(argv[i], reshape(to(io::read_npy(argv[i]), DType::f32) / 255, {-1, 1, 28, 28}));
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "frechet: %s\n", error.what());
  return 2;
}
