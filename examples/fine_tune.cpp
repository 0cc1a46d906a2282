// Teaches a network that knows ImageNet to tell other pictures apart: a new head, then all of it but the
// batch norms at two rates.
//   example_fine_tune ARCHITECTURE WEIGHTS FOLDER [SIDE] [EPOCHS] [BATCH]
// WEIGHTS is a .pth, .pt or safetensors file with the names of docs/models.md; FOLDER has train/ and test/,
// each with a folder of pictures for each class. Writes tuned.safetensors. docs/fine-tuning.md has figures.
#include <cstdio>
#include <cstdlib>

#include "veldt/veldt.h"

using namespace veldt;

// Trains what is not frozen, and returns the share of the test pictures that are then told right.
double teach(nn::Module& network, optim::Optimizer& optimizer, data::Loader& learned, data::Loader& test,
             std::int64_t epochs) {
  train::Trainer trainer(network, optimizer, {.metrics = {train::accuracy()}});
  const optim::CosineAnnealing rate{.lr_max = optimizer.lr(), .steps = epochs * learned.batches()};
  trainer.fit(learned, nullptr, {.epochs = epochs, .schedule = rate, .record = true}, {},
              [](const train::Evaluation& now) {
                std::printf("epoch %.0f: loss %.4f, %.0f s\n", now.epoch, now.train_loss, now.seconds);
              });
  return train::score(trainer.evaluate(test), "accuracy");
}

int main(int argc, char** argv) try {
  if (argc < 4)
    return std::fputs("usage: example_fine_tune ARCHITECTURE WEIGHTS FOLDER [SIDE] [EPOCHS] [BATCH]\n",
                      stderr),
           2;
  const std::string folder = argv[3];

  // A network for these classes, with the trained weights of all layers but the last one.
  const data::DatasetPtr pictures = data::picture_folder(folder + "/train");
  Rng rng(1);
  models::Model model = models::make_model(argv[1], {{"classes", std::ssize(pictures->classes())}}, rng);
  nn::Module& network = *model.network;
  const std::string head = models::about(argv[1]).head;
  NamedTensors weights = io::load_state(argv[2]).tensors;
  std::erase_if(weights, [&](const NamedTensor& t) { return is_below(t.name, head); });
  const nn::LoadReport loaded = network.load_state_dict(weights, false);
  if (loaded.missing.size() > 2 || !loaded.unexpected.empty() || !loaded.mismatched.empty())
    throw Error(std::string(argv[2]) + " does not fit " + argv[1], "its tensors have other names or shapes",
                "name the architecture that it was saved from");

  // Pictures as the network knows them, in the size that is asked for, which tuned.safetensors will say;
  // those it learns from are mirrored now and then.
  models::Preprocessing& size = model.preprocessing;
  if (argc > 4) size.shorter_side = size.height = size.width = std::atoll(argv[4]);
  const std::int64_t epochs = argc > 5 ? std::atoll(argv[5]) : 5, batch = argc > 6 ? std::atoll(argv[6]) : 50;
  const data::Transform prepared = [&size](data::Example example, Rng&) {
    example.at(0) = models::prepare_planes(size, example.at(0));
    return example;
  };
  data::Loader learned(pictures, {.batch = batch,
                                  .shuffle = true,
                                  .drop_last = true,
                                  .transform = data::sequence({data::horizontal_flip(), prepared})});
  data::Loader test(data::picture_folder(folder + "/test", {.classes = pictures->classes()}),
                    {.batch = 250, .transform = prepared});

  // The head alone: all before it is frozen, batch norms keep their statistics.
  network.freeze();
  network.requires_grad(true, head);
  optim::AdamW first(network.trained_parameters(), {.lr = 1e-3});
  std::printf("the head alone: %.2f %% right\n", 100 * teach(network, first, learned, test, 1));

  // Then all of it, the head faster than the rest. Batch norms stay frozen: they go on by what they know.
  network.requires_grad(true);
  network.apply([](nn::Module& inner) {
    if (dynamic_cast<nn::ChannelNorm*>(&inner) != nullptr) inner.freeze();
  });
  optim::AdamW second(optim::groups_by_name<optim::AdamWOptions>(network.trained_parameters(), {.lr = 3e-4},
                                                                 {{head, {.lr = 3e-3}}}));
  const double right = teach(network, second, learned, test, epochs);
  std::printf("all but the norms: %.2f %% right\n", 100 * right);
  models::save("tuned.safetensors", model);
  return right > 0.5 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "fine_tune: %s\n", error.what());
  return 2;
}
