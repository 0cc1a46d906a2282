// What a config.json says, as options, and names of files as names of parameters.
#include "veldt/models/pretrained.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/io/state.h"
#include "veldt/models/gpt2.h"
#include "veldt/models/llama.h"

namespace veldt::models {
namespace {

using ConfigJson = nlohmann::json;

class Config {
 public:
  // `most`: the numbers that the network may have, of which a file is to fill half at least.
  Config(const ConfigJson& json, std::string where, double most = INFINITY)
      : json_(json), where_(std::move(where)), most_(most) {
    if (!json.is_object()) refuse("it is no object");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw IoError(IoError::Kind::malformed, str("cannot build the network of ", where_), why,
                  "give the config.json of a network that Veldt has: bert, gpt2 or llama");
  }
  // Null where the key is missing.
  const ConfigJson& at(const char* key) const {
    static const ConfigJson kNone;
    const auto found = json_.find(key);
    return found == json_.end() ? kNone : *found;
  }
  void read(const char* key, std::int64_t& into) const {
    if (at(key).is_null()) return;
    const auto value = io::whole_number<std::int64_t>(at(key));
    if (!value) refuse(str('"', key, "\" is not a whole number"));
    into = *value;
  }
  void read(const char* key, double& into) const {
    if (at(key).is_null()) return;
    if (!at(key).is_number() || !std::isfinite(at(key).get<double>()))
      refuse(str('"', key, "\" is not a number"));
    into = at(key).get<double>();
  }
  void read(const char* key, bool& into) const {
    if (at(key).is_null()) return;
    if (!at(key).is_boolean()) refuse(str('"', key, "\" is not true or false"));
    into = at(key).get<bool>();
  }
  std::string text(const char* key, const char* otherwise) const {
    if (at(key).is_null()) return otherwise;
    if (!at(key).is_string()) refuse(str('"', key, "\" is not a text"));
    return at(key).get<std::string>();
  }
  // Before a network is made of sizes that a file says: about how many numbers it has.
  void check_count(std::int64_t vocabulary, std::int64_t size, std::int64_t layers,
                   std::int64_t inner) const {
    const auto n = [](std::int64_t value) { return static_cast<double>(value); };
    if (n(vocabulary) * n(size) + n(layers) * n(size) * (2 * n(size) + 2 * n(inner)) > most_)
      refuse("it has several times as many numbers as the file beside it");
  }
  // For what Veldt has in one form alone.
  void expect(const char* key, std::initializer_list<ConfigJson> known) const {
    if (at(key).is_null()) return;
    for (const ConfigJson& value : known)
      if (at(key) == value) return;
    refuse(str('"', key, "\" is ", io::dump_json(at(key)).substr(0, 80), ", which Veldt does not have"));
  }

 private:
  const ConfigJson& json_;
  std::string where_;
  double most_;
};

std::unique_ptr<nn::Module> bert_of(const Config& config, Rng& rng) {
  BertOptions o;
  config.expect("hidden_act", {"gelu"});
  config.expect("position_embedding_type", {"absolute"});
  config.expect("is_decoder", {false});
  config.read("vocab_size", o.vocab_size);
  config.read("hidden_size", o.hidden_size);
  config.read("num_hidden_layers", o.num_hidden_layers);
  config.read("num_attention_heads", o.num_attention_heads);
  config.read("intermediate_size", o.intermediate_size);
  config.read("max_position_embeddings", o.max_position_embeddings);
  config.read("type_vocab_size", o.type_vocab_size);
  config.read("layer_norm_eps", o.layer_norm_eps);
  config.read("hidden_dropout_prob", o.hidden_dropout_prob);
  config.read("attention_probs_dropout_prob", o.attention_probs_dropout_prob);
  config.check_count(o.vocab_size, o.hidden_size, o.num_hidden_layers, o.intermediate_size);
  return std::make_unique<Bert>(o, rng);
}

std::unique_ptr<nn::Module> gpt2_of(const Config& config, Rng& rng) {
  Gpt2Options o;
  config.expect("activation_function", {"gelu_new", "gelu_pytorch_tanh"});
  config.expect("scale_attn_weights", {true});
  config.expect("scale_attn_by_inverse_layer_idx", {false});
  config.expect("add_cross_attention", {false});
  config.read("vocab_size", o.vocab_size);
  config.read("n_positions", o.n_positions);
  config.read("n_embd", o.n_embd);
  config.read("n_layer", o.n_layer);
  config.read("n_head", o.n_head);
  config.read("n_inner", o.n_inner);
  config.read("layer_norm_epsilon", o.layer_norm_epsilon);
  config.read("resid_pdrop", o.resid_pdrop);
  config.read("embd_pdrop", o.embd_pdrop);
  config.read("attn_pdrop", o.attn_pdrop);
  config.read("tie_word_embeddings", o.tie_word_embeddings);
  config.check_count(o.vocab_size, o.n_embd, o.n_layer, o.n_inner > 0 ? o.n_inner : 4 * o.n_embd);
  config.check_count(o.n_positions, o.n_embd, 0, 0);
  return std::make_unique<Gpt2>(o, rng);
}

// "rope_scaling", or since transformers 5 "rope_parameters", which has the base too.
void read_rope(const Config& config, LlamaOptions& o) {
  config.read("rope_theta", o.rope_theta);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (config.at(key).is_null()) continue;
    const Config rope(config.at(key), str("config.json, \"", key, '"'));
    rope.read("rope_theta", o.rope_theta);
    rope.expect("partial_rotary_factor", {1.0});
    const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
    if (type == "default") continue;
    if (type != "linear" && type != "llama3")
      config.refuse(
          str('"', key, "\" is of the type \"", type.substr(0, 40), "\", which Veldt does not have"));
    RopeScaling& scaling = o.rope_scaling.emplace();
    scaling.llama3 = type == "llama3";
    scaling.original_max_position_embeddings = o.max_position_embeddings;
    rope.read("factor", scaling.factor);
    rope.read("low_freq_factor", scaling.low_freq_factor);
    rope.read("high_freq_factor", scaling.high_freq_factor);
    rope.read("original_max_position_embeddings", scaling.original_max_position_embeddings);
    if (scaling.factor <= 0 || (scaling.llama3 && scaling.high_freq_factor <= scaling.low_freq_factor))
      config.refuse(str('"', key, "\" has factors that make no sense"));
  }
}

std::unique_ptr<nn::Module> llama_of(const Config& config, Rng& rng) {
  LlamaOptions o;
  config.expect("hidden_act", {"silu"});
  config.read("vocab_size", o.vocab_size);
  config.read("hidden_size", o.hidden_size);
  config.read("intermediate_size", o.intermediate_size);
  config.read("num_hidden_layers", o.num_hidden_layers);
  config.read("num_attention_heads", o.num_attention_heads);
  o.num_key_value_heads = o.num_attention_heads;
  config.read("num_key_value_heads", o.num_key_value_heads);
  if (o.num_attention_heads > 0) o.head_dim = o.hidden_size / o.num_attention_heads;
  config.read("head_dim", o.head_dim);
  config.read("max_position_embeddings", o.max_position_embeddings);
  config.read("rms_norm_eps", o.rms_norm_eps);
  config.read("attention_dropout", o.attention_dropout);
  config.read("attention_bias", o.attention_bias);
  config.read("mlp_bias", o.mlp_bias);
  config.read("tie_word_embeddings", o.tie_word_embeddings);
  read_rope(config, o);
  config.check_count(o.vocab_size, o.hidden_size, o.num_hidden_layers, o.intermediate_size);
  config.check_count(o.num_attention_heads, o.head_dim, 0, 0);
  return std::make_unique<Llama>(o, rng);
}

// Buffers that files of some versions have, and that are computed.
bool is_computed(const std::string& name) {
  for (const char* end : {"embeddings.position_ids", "rotary_emb.inv_freq", "attn.masked_bias"})
    if (name.ends_with(end)) return true;
  return name.ends_with(".attn.bias");  // GPT-2's triangle
}

// The first files of BERT call a norm's factors and shifts as TensorFlow does.
std::string with_torch_norms(std::string name) {
  const auto replace = [&](std::string_view end, std::string_view by) {
    if (name.ends_with(end)) name.replace(name.size() - end.size(), end.size(), by);
  };
  replace("LayerNorm.gamma", "LayerNorm.weight");
  replace("LayerNorm.beta", "LayerNorm.bias");
  return name;
}

// The file's tensors under the network's names: a prefix that one of the two has and the other lacks is made
// the same. The heads with which BERT was trained are left out.
NamedTensors renamed(const NamedTensors& tensors, const nn::Module& network) {
  std::set<std::string> known;
  for (const auto& [name, tensor] : network.state_dict()) known.insert(name);
  NamedTensors all;
  for (const auto& [given, tensor] : tensors) {
    if (is_computed(given)) continue;
    const std::string name = with_torch_norms(given);
    std::string found = name;
    for (const char* prefix : {"transformer.", "model.", "bert."}) {
      if (known.contains(found)) break;
      if (known.contains(prefix + name))
        found = prefix + name;
      else if (name.starts_with(prefix) && known.contains(name.substr(std::string(prefix).size())))
        found = name.substr(std::string(prefix).size());
    }
    // A head that is the embedding itself.
    if (found == "lm_head.weight" && !known.contains(found)) continue;
    if (found.starts_with("cls.") && !known.contains(found)) continue;
    all.push_back({found, tensor});
  }
  return all;
}

std::unique_ptr<nn::Module> network_of(const std::string& text, const std::string& where, double most,
                                       Rng& rng) {
  ConfigJson json;
  try {
    json = io::parse_json<ConfigJson>(text);
  } catch (const IoError& e) {
    throw IoError(IoError::Kind::malformed, str("cannot read ", where), e.why(),
                  "give a network's config.json");
  }
  const Config config(json, where, most);
  const std::string type = config.text("model_type", "");
  try {
    if (type == "bert") return bert_of(config, rng);
    if (type == "gpt2") return gpt2_of(config, rng);
    if (type == "llama") return llama_of(config, rng);
  } catch (const ConfigError& e) {
    config.refuse(str(e.summary(), ": ", e.why()));
  }
  config.refuse(str("\"model_type\" is \"", type.substr(0, 40), "\", which Veldt does not have"));
}

// The file with the numbers: whole, in parts, or PyTorch's.
io::LoadedState state_in(const std::string& folder) {
  const std::string whole = folder + "/model.safetensors";
  for (const std::string& path : {whole, whole + ".index.json", folder + "/pytorch_model.bin"})
    if (std::filesystem::exists(path)) return io::load_state(path);
  return io::load_state(whole);
}

}  // namespace

std::unique_ptr<nn::Module> from_config(const std::string& text, const std::string& where, Rng& rng) {
  return network_of(text, where, INFINITY, rng);
}

std::unique_ptr<nn::Module> load_pretrained(const std::string& folder) {
  const std::string path = folder + "/config.json", text = io::read_file(path, io::kMaxJsonBytes);
  const io::LoadedState state = state_in(folder);
  double numbers = 0;
  for (const auto& [name, tensor] : state.tensors) numbers += static_cast<double>(tensor.numel());
  auto network = network_of(text, path, 2 * numbers + 1e6, nn::default_rng());
  network->load_state_dict(renamed(state.tensors, *network));
  network->eval();
  return network;
}

std::unique_ptr<CausalModel> load_causal(const std::string& folder) {
  auto network = load_pretrained(folder);
  if (auto* model = dynamic_cast<CausalModel*>(network.get())) {
    network.release();
    return std::unique_ptr<CausalModel>(model);
  }
  throw ConfigError(str(network->title(), " does not continue text"), "it encodes it",
                    "give a GPT-2 or a Llama");
}

}  // namespace veldt::models
