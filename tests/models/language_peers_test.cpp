// Language models compared with transformers, where a Python has it: outputs, gradients, generated tokens,
// sentences.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/models/language_cases.h"
#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/data/subword_tokenizer.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/losses.h"

namespace veldt::models {
namespace {

Tensor loss_of(const nn::Module& network, const io::SafeTensors& expected) {
  const Tensor& ids = *expected.find("ids");
  if (const auto* bert = dynamic_cast<const Bert*>(&network)) {
    const Tensor mask = *expected.find("mask");
    const BertOutput out = bert->encode(ids, mask, *expected.find("types"));
    const Tensor counted = out.last_hidden_state * unsqueeze(to(mask, DType::f32), -1);
    const Tensor loss = mean(counted * out.last_hidden_state);
    return expected.find("pooled") != nullptr ? loss + mean(out.pooler_output) : loss;
  }
  const Tensor logits = network(ids);
  const std::int64_t time = ids.size(1), vocabulary = logits.size(2);
  return cross_entropy(reshape(narrow(logits, 1, 0, time - 1), {-1, vocabulary}),
                       reshape(narrow(ids, 1, 1, time - 1), {-1}));
}

TEST(SlowPeers, LanguageModelsAgreeWithTransformers) {
  if (!test::python_has("torch, transformers, safetensors"))
    GTEST_SKIP() << test::python() << " has no transformers; set VELDT_PYTHON";
  const test::TempDir dir;
  ASSERT_EQ(test::run_python(
                str("-B ", VELDT_SOURCE, "/tests/golden/language.py ", dir.path(), " >/dev/null 2>&1")),
            0);
  for (const char* name : {"bert", "bert_classifier", "bert_masked", "roberta", "roberta_masked", "gpt2",
                           "llama", "llama_tied"}) {
    SCOPED_TRACE(name);
    const std::string folder = dir / name;
    nn::LoadReport report;
    const auto network = load_pretrained(folder, {}, &report);
    const io::SafeTensors expected = io::read_safetensors(folder + "/expected.safetensors");
    const bool pooled = expected.find("pooled") != nullptr;
    test::expect_outputs(
        *network, [&](const char* key) { return *expected.find(key); }, pooled);
    const bool is_masked = std::string(name).ends_with("_masked");
    EXPECT_EQ(report.missing.size(), is_masked ? 2u : 0u);
    EXPECT_EQ(report.unexpected.empty(), !is_masked && name != std::string("bert_classifier"));
    const Tensor loss = loss_of(*network, expected);
    EXPECT_NEAR(loss.item<float>(), expected.find("loss")->item<float>(), 1e-5);
    loss.backward();
    double most = 0;
    for (const auto& [parameter, tensor] : network->named_parameters()) {
      if (is_masked && is_below(parameter, "pooler")) continue;
      const Tensor* gradient = expected.find("gradient." + parameter);
      ASSERT_NE(gradient, nullptr) << parameter;
      most = std::max(most, test::farthest(tensor.grad(), *gradient));
    }
    EXPECT_LT(most, 1e-3);
    std::printf("%s: gradients differ by at most %.2g\n", name, most);
  }
  if (!std::filesystem::exists(dir / "sentences.json")) return;
  std::ifstream in(dir / "sentences.json");
  const auto sentences = nlohmann::json::parse(in);
  const std::string folder = sentences.at("model");
  const auto network = load_pretrained(folder);
  const auto tokenizer = data::SubwordTokenizer::load(folder + "/tokenizer.json");
  double most = 0;
  for (const auto& row : sentences.at("rows")) {
    const data::TokenBatch batch = tokenizer.encode_batch({row.at("sentence").get<std::string>()});
    const BertOutput out = dynamic_cast<const Bert&>(*network).encode(batch.ids, batch.attention_mask);
    const auto embedding = row.at("embedding").get<std::vector<double>>();
    most = std::max(most, test::farthest(mean_pooled(out.last_hidden_state, batch.attention_mask),
                                         Tensor::from<double>({1, std::ssize(embedding)}, embedding)));
  }
  EXPECT_LT(most, 1e-5);
  std::printf("all-MiniLM-L6-v2: %zu sentences differ by at most %.2g\n", sentences.at("rows").size(), most);
}

}  // namespace
}  // namespace veldt::models
