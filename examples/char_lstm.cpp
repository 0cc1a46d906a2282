// Trains an LSTM to write, character by character (Graves 2013, Karpathy 2015), and generates text.
//   example_char_lstm TEXT [MINUTES]
// TEXT is any UTF-8 text; the last tenth is held back for validation. With a million characters of
// Shakespeare and ten minutes on two cores it writes words and lines of plays.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "veldt/io/file.h"
#include "veldt/veldt.h"

using namespace veldt;

// i64 [n, time] to logits [n, time, characters].
class Writer : public nn::Module {
 public:
  Writer(std::int64_t characters, Rng& rng)
      : table_(characters, 64, rng),
        lstm_(64, 256, {.num_layers = 2, .batch_first = true}, rng),
        head_(256, characters, rng) {}

  Tensor forward(const Tensor& x) const override { return head_(lstm_(table_(x))); }
  void fields(nn::Fields& f) override { f("table", table_)("lstm", lstm_)("head", head_); }

  // `count` characters more, each drawn from what the network gives for it, a little sharper than it says.
  std::string write(const data::CharTokenizer& letters, std::string text, int count, Rng& rng) const {
    NoGrad off;
    nn::RecurrentState state;
    Tensor next = unsqueeze(letters.encode(text), 0);
    for (int i = 0; i < count; ++i) {
      const nn::RecurrentResult result = lstm_.run(table_(next), state);
      state = result.state;
      const Tensor logits = select(select(head_(result.output), 1, -1), 0, 0);
      next = reshape(multinomial(softmax(logits / 0.8, 0), 1, rng), {1, 1});
      text += letters.decode(next);
    }
    return text;
  }

 private:
  nn::Embedding table_;
  nn::LSTM lstm_;
  nn::Linear head_;
};

int main(int argc, char** argv) try {
  const std::string text = io::read_file(argc > 1 ? argv[1] : "tinyshakespeare.txt");
  const double minutes = argc > 2 ? std::atof(argv[2]) : 10;
  const data::CharTokenizer letters(text);
  const Tensor tokens = letters.encode(text);
  const std::int64_t length = 100, held = tokens.size(0) / 10, known = tokens.size(0) - held;

  data::Loader train(data::token_windows(narrow(tokens, 0, 0, known), length),
                     {.batch = 32, .shuffle = true, .drop_last = true});
  // Windows of the rest, one after the other.
  const data::DatasetPtr all = data::token_windows(narrow(tokens, 0, known, held), length);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < all->size(); i += length) starts.push_back(i);
  data::Loader validation(data::subset(all, starts), {.batch = 32});

  Rng rng(1);
  Writer model(letters.size(), rng);
  optim::Adam adam(model.named_parameters(), {.lr = 2e-3, .clip = {.norm = 1}});
  // Each character is a class, and classes are dimension 1: [n, characters, time] against [n, time].
  const auto loss = [](const Tensor& y, const data::Batch& batch) {
    return cross_entropy(movedim(y, -1, 1), batch[1]);
  };
  train::Trainer trainer(model, adam, {.loss = loss});
  const auto result =
      trainer.fit(train, &validation, {.seconds = 60 * minutes, .evaluate_every = 250, .record = true}, {},
                  [](const train::Evaluation& now) {
                    std::printf("step %5ld  %4.0f s  learned %.3f  held back %.3f nats a character\n",
                                static_cast<long>(now.step), now.seconds, now.train_loss,
                                train::score(now.scores, "loss"));
                    std::fflush(stdout);
                  });
  std::printf("\n%s\n", model.write(letters, "ROMEO:", 400, rng).c_str());
  // Without any knowledge the loss is log(characters) nats.
  return train::score(result.best->scores, "loss") < std::log(static_cast<double>(letters.size())) - 0.3 ? 0
                                                                                                         : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "char_lstm: %s\n", error.what());
  return 2;
}
