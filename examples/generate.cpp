// Continues a text with GPT-2 or a Llama: FOLDER has config.json, tokenizer.json and model.safetensors, as
// transformers' save_pretrained() writes them. Tokens are shown as they come.
//   example_generate FOLDER "The lion" 100 0.8
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "veldt/veldt.h"

using namespace veldt;

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: generate FOLDER PROMPT [TOKENS] [TEMPERATURE]\n");
    return 2;
  }
  const std::string folder = argv[1], prompt = argv[2];
  const auto model = models::load_causal(folder);
  const auto tokenizer = data::SubwordTokenizer::load(folder + "/tokenizer.json");

  const data::Encoding encoded = tokenizer.encoded(prompt);
  const Tensor ids = Tensor::from<std::int64_t>({std::ssize(encoded.ids)}, encoded.ids);
  std::vector<std::int64_t> all = encoded.ids;
  std::string shown = tokenizer.decode(all);
  std::printf("%s", shown.c_str());
  const auto show =
      [&](std::int64_t token) {  // what the text has gained, since tokens may depend on those before
        all.push_back(token);
        const std::string text = tokenizer.decode(all);
        std::printf("%s", text.substr(std::min(shown.size(), text.size())).c_str());
        std::fflush(stdout);
        shown = text;
        return true;
      };

  const models::GenerateOptions options{.max_new_tokens = argc > 3 ? std::atol(argv[3]) : 100,
                                        .temperature = argc > 4 ? std::atof(argv[4]) : 0.8,
                                        .top_p = 0.95,
                                        .on_token = show};

  const auto begin = std::chrono::steady_clock::now();
  const Tensor made = models::generate(*model, ids, options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::fprintf(stderr, "\n%ld tokens, %.1f ms each\n", static_cast<long>(made.numel()),
               1e3 * seconds / static_cast<double>(std::max<std::int64_t>(made.numel(), 1)));
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "generate: %s\n", error.what());
  return 2;
}
