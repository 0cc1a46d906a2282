// BERT, GPT-2 and Llama compared with transformers, and configurations from untrusted sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/golden/nn_and_optim.h"
#include "tests/models/language_cases.h"
#include "tests/support/error_of.h"
#include "tests/support/small_backend.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/warning.h"
#include "veldt/io/file.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/nn/lora.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/fallback.h"

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
    state.front().name = "another";
    io::write_safetensors(dir / "model.safetensors", state);
    EXPECT_THAT(error_of<Error>([&] { load_pretrained(dir.path()); }), HasSubstr(", which the file lacks"));
  }
}

// A folder as transformers writes it, of a golden network's config with some changes.
struct NetworkFolder {
  NetworkFolder(const char* name, const NamedTensors& state, const json& changes = json::object()) {
    json config = golden_networks().at(name).at("config");
    config.update(changes);
    io::write_file(dir / "config.json", config.dump());
    io::write_safetensors(dir / "model.safetensors", state);
  }
  const std::string& path() const { return dir.path(); }
  const test::TempDir dir = test::TempDir::in_memory();
};

const Tensor& three_ids() {
  static const Tensor ids = Tensor::of({1, 3}, {3, 4, 5}, DType::i64);
  return ids;
}

// As bert-base-uncased lies on the hub: a prefix, TensorFlow's words for norms, and the heads of its
// training. Heads for tasks are left out as well, and a pooler that is not there is new; both are said.
TEST(Language, BodiesOfBertAreLoadedFromFilesWithHeads) {
  NamedTensors state;
  for (auto [name, tensor] : golden_state("bert")) {
    if (name.ends_with("LayerNorm.weight")) name.replace(name.size() - 6, 6, "gamma");
    if (name.ends_with("LayerNorm.bias")) name.replace(name.size() - 4, 4, "beta");
    state.push_back({"bert." + name, tensor});
  }
  state.push_back({"cls.predictions.bias", Tensor::of({2}, {1, 2})});
  state.push_back({"classifier.weight", ones({2, 8})});
  nn::LoadReport report;
  const auto whole = load_pretrained(NetworkFolder("bert", state).path(), {}, &report);
  EXPECT_THAT(report.missing, testing::IsEmpty());
  EXPECT_THAT(report.unexpected, testing::ElementsAre("cls.predictions.bias", "classifier.weight"));
  const auto expected = (*golden_network("bert"))(three_ids()).values<float>();
  EXPECT_EQ((*whole)(three_ids()).values<float>(), expected);

  std::erase_if(state, [](const NamedTensor& t) { return t.name.starts_with("bert.pooler"); });
  const auto bare = load_pretrained(NetworkFolder("bert", state).path(), {}, &report);
  EXPECT_THAT(report.missing, testing::ElementsAre("pooler.dense.weight", "pooler.dense.bias"));
  EXPECT_EQ((*bare)(three_ids()).values<float>(), expected);
  std::string warned;
  const auto before = set_warning_listener([&](const std::string& text) { warned = text; });
  load_pretrained(NetworkFolder("bert", state).path());
  set_warning_listener(before);
  EXPECT_THAT(warned, HasSubstr("has no pooler: that part has new values"));

  // A file of a deeper network is none of this one, nor one that says something twice.
  state.push_back({"bert.encoder.layer.2.output.dense.bias", ones({8})});
  EXPECT_THAT(error_of<Error>([&] { load_pretrained(NetworkFolder("bert", state).path()); }),
              HasSubstr("encoder.layer.2.output.dense.bias"));
  state.back() = {"embeddings.LayerNorm.bias", ones({8})};
  EXPECT_THAT(error_of<IoError>([&] { load_pretrained(NetworkFolder("bert", state).path()); }),
              HasSubstr("two tensors for embeddings.LayerNorm.bias"));
}

TEST(Language, SaysWhichTensorOfAFileDoesNotFit) {
  const auto refusal = [](NamedTensors state) {
    return error_of<IoError>([&] { load_pretrained(NetworkFolder("llama", state).path()); });
  };
  NamedTensors state = golden_state("llama");
  for (NamedTensor& t : state)
    if (t.name == "model.norm.weight") t.tensor = ones({9});
  EXPECT_THAT(refusal(state), HasSubstr("model.norm.weight of [8], which is [9] in the file\n"));
  std::erase_if(state, [](const NamedTensor& t) { return t.name == "lm_head.weight"; });
  EXPECT_THAT(refusal(state), HasSubstr("in the file, and 1 more that do not fit"));
}

TEST(Language, NumbersOfAnotherTypeAreTakenAtOnce) {
  const auto network =
      load_pretrained(NetworkFolder("llama", golden_state("llama")).path(), {.dtype = DType::f64});
  const Tensor logits = (*network)(three_ids());
  EXPECT_EQ(logits.dtype(), DType::f64);
  EXPECT_LT(test::farthest(logits, (*golden_network("llama"))(three_ids())), 1e-5);
  for (const char* name : {"bert", "gpt2", "llama"}) {  // bf16 has 8 bits
    const auto half = load_pretrained(NetworkFolder(name, golden_state(name)).path(), {.dtype = DType::bf16});
    const Tensor out = (*half)(three_ids());
    EXPECT_EQ(out.dtype(), DType::bf16);
    EXPECT_LT(test::farthest(out, (*golden_network(name))(three_ids())), 0.05) << name;
  }
  EXPECT_THAT(error_of<ConfigError>([&] {
                load_pretrained(NetworkFolder("llama", golden_state("llama")).path(), {.dtype = DType::i64});
              }),
              HasSubstr("i64"));
}

// On a device with memory of its own, which leaves to the cpu what it cannot do.
TEST(Language, NetworksWorkOnAnotherDevice) {
  const Device device = test::small_device();
  set_host_fallback(true);
  for (const char* name : {"bert", "gpt2", "llama"}) {
    SCOPED_TRACE(name);
    const auto here = golden_network(name);
    const auto there = load_pretrained(NetworkFolder(name, golden_state(name)).path(), {.device = device});
    for (const auto& [parameter, tensor] : there->named_parameters()) EXPECT_EQ(tensor.device(), device);
    EXPECT_LT(test::farthest(to((*there)(to(three_ids(), device)), Device{}), (*here)(three_ids())), 1e-5);
    if (const auto* model = dynamic_cast<const CausalModel*>(there.get())) {
      const GenerateOptions options{.max_new_tokens = 8};
      const Tensor ids = select(three_ids(), 0, 0);
      EXPECT_EQ(generate(*model, ids, options).values<std::int64_t>(),
                generate(dynamic_cast<const CausalModel&>(*here), ids, options).values<std::int64_t>());
    }
    nn::add_lora(*there, {name == std::string("gpt2") ? "c_attn" : name[0] == 'b' ? "query" : "q_proj"});
    const Tensor y = (*there)(to(three_ids(), device));
    sum(y * y).backward();
    for (const auto& [parameter, tensor] : there->trained_parameters())
      EXPECT_TRUE(tensor.grad().defined()) << parameter;
    nn::merge_lora(*there);
  }
  set_host_fallback(false);
  EXPECT_EQ(pool(device).stats().blocks_in_use, 0);
  pool(device).trim();
}

// Every size that costs memory is held against the file before any is taken.
TEST(Language, RefusesSizesThatTheFileDoesNotFill) {
  const std::map<const char*, std::vector<const char*>> sizes = {
      {"bert",
       {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "max_position_embeddings",
        "type_vocab_size"}},
      {"gpt2", {"vocab_size", "n_embd", "n_layer", "n_positions", "n_inner"}},
      {"llama", {"vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "head_dim"}}};
  for (const auto& [name, keys] : sizes) {
    const NamedTensors state = golden_state(name);
    for (const char* key : keys) {
      SCOPED_TRACE(str(name, ' ', key));
      for (const std::int64_t size : {std::int64_t{1024}, std::int64_t{1} << 24, std::int64_t{1} << 40}) {
        const auto why = error_of<IoError>([&] {
          load_pretrained(NetworkFolder(name, state, {{key, size}}).path());
        });
        EXPECT_THAT(why, HasSubstr("cannot build the network of"));
        EXPECT_THAT(why, testing::AnyOf(HasSubstr("its sizes ask for"), HasSubstr("its layers are "),
                                        HasSubstr("from 1 to"), HasSubstr("heads for")));
      }
    }
  }
}

TEST(Language, KnowsTheTokensThatEndAText) {
  using testing::ElementsAre;
  const NamedTensors state = golden_state("gpt2");
  const auto ends = [&](const json& changes, const std::string& generation) {
    const NetworkFolder folder("gpt2", state, changes);
    if (!generation.empty()) io::write_file(folder.dir / "generation_config.json", generation);
    return load_causal(folder.path())->end_tokens();
  };
  EXPECT_THAT(ends({{"eos_token_id", 2}}, ""), ElementsAre(2));
  EXPECT_THAT(ends({{"eos_token_id", {2, 7}}}, "{}"), ElementsAre(2, 7));
  EXPECT_THAT(ends({{"eos_token_id", nullptr}}, ""), testing::IsEmpty());
  EXPECT_THAT(ends({{"eos_token_id", 2}}, R"({"eos_token_id": [5, 6]})"), ElementsAre(5, 6));
  EXPECT_THAT(error_of<IoError>([&] { ends({{"eos_token_id", "two"}}, ""); }), HasSubstr("eos_token_id"));
  EXPECT_THAT(error_of<IoError>([&] {
                ends({{"eos_token_id", 2}}, "[");
              }),
              HasSubstr("generation_config.json"));
}

// Positions count what is no padding, so that it may stand before a text too.
TEST(Language, RobertaCountsItsPositions) {
  json config = golden_networks().at("bert").at("config");
  config["model_type"] = "roberta";
  config["pad_token_id"] = 1;
  const auto network = from_config(config.dump());
  network->eval();
  const auto& roberta = dynamic_cast<const Bert&>(*network);
  EXPECT_EQ(roberta.max_tokens(), 62);
  const Tensor mask = to(Tensor::of({1, 5}, {0, 0, 1, 1, 1}, DType::i64), DType::boolean);
  const Tensor alone = roberta.encode(three_ids()).last_hidden_state;
  const Tensor padded =
      roberta.encode(Tensor::of({1, 5}, {1, 1, 3, 4, 5}, DType::i64), mask).last_hidden_state;
  EXPECT_LT(test::farthest(narrow(padded, 1, 2, 3), alone), 1e-6);
  config["pad_token_id"] = 63;
  EXPECT_THAT(error_of<IoError>([&] { from_config(config.dump()); }), HasSubstr("pad_token_id of 63"));
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

// GPT-2's projections too, whose weights are [in, out].
TEST(Language, AdaptersAreForEachKindOfProjection) {
  const std::map<const char*, std::vector<std::string>> targets = {
      {"bert", {"query", "intermediate.dense"}}, {"gpt2", {"c_attn", "mlp.c_proj"}}, {"llama", {"q_proj"}}};
  for (const auto& [name, names] : targets) {
    SCOPED_TRACE(name);
    const auto network = golden_network(name), other = golden_network(name);
    const Tensor before = (*network)(three_ids());
    EXPECT_EQ(nn::add_lora(*network, names, {.rank = 2, .alpha = 3}).size(), 2 * names.size());
    EXPECT_EQ((*network)(three_ids()).values<float>(), before.values<float>());
    Rng rng(5);
    for (const NamedTensor& p : network->trained_parameters()) nn::init::normal(p.tensor, 0, 0.2, rng);
    const Tensor taught = (*network)(three_ids());
    EXPECT_GT(test::farthest(taught, before), 1e-2);
    nn::load_lora(*other, nn::lora_state(*network));
    EXPECT_EQ((*other)(three_ids()).values<float>(), taught.values<float>());
    nn::merge_lora(*network);
    EXPECT_LT(test::farthest((*network)(three_ids()), taught), 1e-5);
    EXPECT_EQ(network->state_dict().size(), golden_network(name)->state_dict().size());
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
  EXPECT_THAT(changed("gpt2", "n_layer", 0), HasSubstr("0 layers"));
  EXPECT_THAT(changed("gpt2", "n_embd", 1ll << 60), HasSubstr("n_embd"));
  EXPECT_THAT(changed("llama", "num_key_value_heads", 3), HasSubstr("3 heads"));
  EXPECT_THAT(changed("llama", "rope_parameters", {{"rope_type", "yarn"}}), HasSubstr("\"yarn\""));
  EXPECT_THAT(changed("llama", "rope_parameters", {{"rope_type", "linear"}, {"factor", 0}}),
              HasSubstr("no sense"));
}

}  // namespace
}  // namespace veldt::models
