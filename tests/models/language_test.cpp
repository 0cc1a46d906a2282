// BERT, GPT-2 and Llama compared with transformers, and configurations from untrusted sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/golden/nn_and_optim.h"
#include "tests/models/language_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/file.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/ops/create.h"

namespace veldt::models {
namespace {

using nlohmann::json;
using test::error_of;
using testing::HasSubstr;

const json& golden_networks() {
  static const json networks = test::read_golden("language.json");
  return networks;
}

NamedTensors golden_state(const std::string& name) {
  NamedTensors state;
  for (const auto& [key, tensor] : golden_networks().at(name).at("state").items())
    state.push_back({key, test::tensor_of(tensor, DType::f32)});
  return state;
}

std::unique_ptr<nn::Module> golden_network(const std::string& name) {
  auto network = from_config(golden_networks().at(name).at("config").dump());
  network->load_state_dict(golden_state(name));
  network->eval();
  return network;
}

TEST(GoldenLanguage, NetworksAreThoseOfTransformers) {
  for (const char* name : {"bert", "gpt2", "llama"}) {
    SCOPED_TRACE(name);
    const json& expected = golden_networks().at(name).at("expected");
    test::expect_outputs(*golden_network(name), [&](const char* key) {
      const std::string text = key;
      const bool whole =
          text == "ids" || text == "types" || text == "mask" || text == "greedy" || text == "penalty";
      return test::tensor_of(expected.at(key), whole ? DType::i64 : DType::f32);
    });
  }
}

// As transformers and others have written them: with a prefix more or less, with buffers and a head that is
// tied.
TEST(Language, ReadsFoldersWithNamesOfEveryVersion) {
  for (const char* name : {"bert", "gpt2", "llama"}) {
    SCOPED_TRACE(name);
    const test::TempDir dir = test::TempDir::in_memory();
    io::write_file(dir / "config.json", golden_networks().at(name).at("config").dump());
    NamedTensors state = golden_state(name);
    for (NamedTensor& tensor : state) {
      if (tensor.name.starts_with("transformer."))
        tensor.name = tensor.name.substr(12);
      else if (name == std::string("bert"))
        tensor.name = "bert." + tensor.name;
    }
    if (name == std::string("gpt2")) {
      state.push_back({"h.0.attn.bias", ones({1, 1, 64, 64})});
      state.push_back({"lm_head.weight", state.front().tensor});
    }
    io::write_safetensors(dir / "model.safetensors", state);
    const auto network = load_pretrained(dir.path());
    EXPECT_FALSE(network->training());
    const Tensor ids = Tensor::of({1, 3}, {3, 4, 5}, DType::i64);
    EXPECT_EQ((*network)(ids).values<float>(), (*golden_network(name))(ids).values<float>());
    std::filesystem::remove(dir / "model.safetensors");
    EXPECT_THAT(error_of<IoError>([&] { load_pretrained(dir.path()); }), HasSubstr("model.safetensors"));
    io::write_torch(dir / "pytorch_model.bin", state);
    EXPECT_EQ((*load_pretrained(dir.path()))(ids).values<float>(),
              (*golden_network(name))(ids).values<float>());
    json huge = golden_networks().at(name).at("config");
    huge["vocab_size"] = 1 << 24;
    io::write_file(dir / "config.json", huge.dump());
    EXPECT_THAT(error_of<IoError>([&] { load_pretrained(dir.path()); }),
                HasSubstr("several times as many numbers"));
    io::write_file(dir / "config.json", golden_networks().at(name).at("config").dump());
    state.pop_back();
    state.back().name = "another";
    io::write_safetensors(dir / "model.safetensors", state);
    EXPECT_THAT(error_of<Error>([&] { load_pretrained(dir.path()); }), HasSubstr("another"));
  }
}

// As bert-base-uncased lies on the hub: a prefix, TensorFlow's words for norms, and the heads of its
// training.
TEST(Language, TheFirstFilesOfBertFit) {
  const test::TempDir dir = test::TempDir::in_memory();
  io::write_file(dir / "config.json", golden_networks().at("bert").at("config").dump());
  NamedTensors state;
  for (auto [name, tensor] : golden_state("bert")) {
    if (name.ends_with("LayerNorm.weight")) name.replace(name.size() - 6, 6, "gamma");
    if (name.ends_with("LayerNorm.bias")) name.replace(name.size() - 4, 4, "beta");
    state.push_back({"bert." + name, tensor});
  }
  state.push_back({"cls.predictions.bias", Tensor::of({2}, {1, 2})});
  io::write_safetensors(dir / "model.safetensors", state);
  const Tensor ids = Tensor::of({1, 3}, {3, 4, 5}, DType::i64);
  EXPECT_EQ((*load_pretrained(dir.path()))(ids).values<float>(),
            (*golden_network("bert"))(ids).values<float>());
}

TEST(Language, BertAloneDoesNotContinueText) {
  const test::TempDir dir = test::TempDir::in_memory();
  io::write_file(dir / "config.json", golden_networks().at("bert").at("config").dump());
  io::write_safetensors(dir / "model.safetensors", golden_state("bert"));
  EXPECT_THAT(error_of<ConfigError>([&] { load_causal(dir.path()); }), HasSubstr("does not continue text"));
}

TEST(Language, PaddingChangesNothing) {
  const auto network = golden_network("bert");
  const auto& bert = dynamic_cast<const Bert&>(*network);
  const Tensor ids = Tensor::of({1, 5}, {3, 4, 5, 0, 0}, DType::i64);
  const Tensor mask = to(Tensor::of({1, 5}, {1, 1, 1, 0, 0}, DType::i64), DType::boolean);
  const Tensor alone = bert.encode(narrow(ids, 1, 0, 3)).last_hidden_state,
               padded = bert.encode(ids, mask).last_hidden_state;
  EXPECT_LT(test::farthest(narrow(padded, 1, 0, 3), alone), 1e-6);
  const Tensor pooled = mean_pooled(padded, mask);
  EXPECT_LT(test::farthest(pooled, mean_pooled(alone, ones({1, 3}, DType::boolean))), 1e-6);
  EXPECT_NEAR(sum(pooled * pooled).item<float>(), 1, 1e-6);
  EXPECT_THAT(error_of<ShapeError>([&] { bert.encode(ids, narrow(mask, 1, 0, 3)); }),
              HasSubstr("attention_mask"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                bert.encode(zeros({1, 65}, DType::i64));
              }),
              HasSubstr("64 positions"));
}

// Dropout works in training alone, and every parameter gets a gradient.
TEST(Language, NetworksAreTaught) {
  for (const char* name : {"bert", "gpt2", "llama"}) {
    SCOPED_TRACE(name);
    json config = golden_networks().at(name).at("config");
    for (const char* key : {"hidden_dropout_prob", "attention_probs_dropout_prob", "attn_pdrop",
                            "resid_pdrop", "embd_pdrop", "attention_dropout"})
      if (config.contains(key)) config[key] = 0.5;
    const auto network = from_config(config.dump());
    const Tensor ids = Tensor::of({1, 4}, {3, 4, 5, 6}, DType::i64);
    const auto run = [&] {
      const auto* bert = dynamic_cast<const Bert*>(network.get());
      return bert != nullptr ? sum(bert->encode(ids).pooler_output) : sum((*network)(ids) * (*network)(ids));
    };
    EXPECT_NE(run().item<float>(), run().item<float>());
    run().backward();
    for (const NamedTensor& p : network->named_parameters()) EXPECT_TRUE(p.tensor.grad().defined()) << p.name;
    network->eval();
    EXPECT_EQ(run().item<float>(), run().item<float>());
  }
}

TEST(Language, RefusesConfigurationsThatItDoesNotHave) {
  const auto refused = [](const std::string& text) {
    return std::string(test::thrown_by<IoError>([&] { from_config(text); }).what());
  };
  const auto changed = [&](const char* name, const char* key, const json& value) {
    json config = golden_networks().at(name).at("config");
    config[key] = value;
    return refused(config.dump());
  };
  EXPECT_THAT(refused("{"), HasSubstr("cannot read config.json"));
  EXPECT_THAT(refused("[]"), HasSubstr("no object"));
  EXPECT_THAT(refused("{}"), HasSubstr("\"model_type\""));
  EXPECT_THAT(changed("bert", "model_type", "mystery"), HasSubstr("\"mystery\""));
  EXPECT_THAT(changed("bert", "hidden_act", "relu"), HasSubstr("\"hidden_act\" is \"relu\""));
  EXPECT_THAT(changed("bert", "hidden_size", 1.5), HasSubstr("\"hidden_size\" is not a whole number"));
  EXPECT_THAT(changed("bert", "num_attention_heads", 3), HasSubstr("3 heads"));
  EXPECT_THAT(changed("gpt2", "n_layer", 0), HasSubstr("n_layer of 0"));
  EXPECT_THAT(changed("gpt2", "n_embd", 1ll << 60), HasSubstr("n_embd"));
  EXPECT_THAT(changed("llama", "num_key_value_heads", 3), HasSubstr("3 heads"));
  EXPECT_THAT(changed("llama", "rope_parameters", {{"rope_type", "yarn"}}), HasSubstr("\"yarn\""));
  EXPECT_THAT(changed("llama", "rope_parameters", {{"rope_type", "linear"}, {"factor", 0}}),
              HasSubstr("no sense"));
}

}  // namespace
}  // namespace veldt::models
