// What a config.json says, as options, and names of files as names of parameters.
#include "veldt/models/pretrained.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "veldt/core/error.h"
#include "veldt/core/warning.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"
#include "veldt/io/state.h"
#include "veldt/models/gpt2.h"
#include "veldt/models/llama.h"
#include "veldt/tensor/plan.h"

namespace veldt::models {
namespace {

using ConfigJson = nlohmann::json;

class Config {
 public:
  Config(const ConfigJson& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) refuse("it is no object");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw IoError(
        IoError::Kind::malformed, str("cannot build the network of ", where_), why,
        "give the config.json of the file, of a network that Veldt has: bert, roberta, gpt2 or llama");
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
  // A whole number or a list of some.
  std::vector<std::int64_t> numbers(const char* key) const {
    std::vector<std::int64_t> all;
    if (at(key).is_null()) return all;
    for (const ConfigJson& value : at(key).is_array() ? at(key) : ConfigJson::array({at(key)})) {
      const auto number = io::whole_number<std::int64_t>(value);
      if (!number) refuse(str('"', key, "\" is neither a whole number nor a list of them"));
      all.push_back(*number);
    }
    return all;
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
};

std::unique_ptr<nn::Module> bert_of(const Config& config, bool is_roberta, Rng& rng) {
  BertOptions o;
  if (is_roberta) config.read("pad_token_id", o.position_padding.emplace(1));
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
  return std::make_unique<Bert>(o, rng);
}

std::unique_ptr<CausalModel> gpt2_of(const Config& config, Rng& rng) {
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

std::unique_ptr<CausalModel> llama_of(const Config& config, Rng& rng) {
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

// Without the prefix of a network's inner part, which some files have and others lack.
std::string without_prefix(const std::string& name) {
  for (const std::string prefix : {"bert.", "roberta.", "transformer.", "model."})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

std::string first_word(const std::string& name) { return name.substr(0, name.find('.')); }

// A part that files for other tasks lack, and that may begin with new values: BERT's pooler.
bool may_be_new(const std::string& name) { return first_word(name) == "pooler"; }

struct FittedState {
  NamedTensors tensors;
  std::vector<std::string> left_out;
};

// The file's tensors under the network's names. Heads, for tasks or of the first training, are left out: what
// is below another word than the parts of the network.
FittedState fitted(const NamedTensors& tensors, const nn::Module& network) {
  std::map<std::string, std::string> own;
  std::set<std::string> parts;
  for (const auto& [name, tensor] : network.state_dict()) {
    own[without_prefix(name)] = name;
    parts.insert(first_word(without_prefix(name)));
  }
  // Of a network whose head is the embedding itself.
  if (dynamic_cast<const CausalModel*>(&network) != nullptr) parts.insert("lm_head");
  FittedState state;
  std::set<std::string> taken;
  for (const auto& [given, tensor] : tensors) {
    if (is_computed(given)) continue;
    const std::string name = without_prefix(with_torch_norms(given));
    if (const auto found = own.find(name); found != own.end()) {
      if (!taken.insert(name).second)
        throw IoError(IoError::Kind::malformed, str("cannot load ", given),
                      str("the file has two tensors for ", found->second), "leave one of them out");
      state.tensors.push_back({found->second, tensor});
    } else if (!parts.contains(first_word(name))) {
      state.left_out.push_back(given);
    } else if (name != "lm_head.weight") {
      state.tensors.push_back({given, tensor});  // which does not fit
    }
  }
  return state;
}

ConfigJson json_of(const std::string& text, const std::string& where) {
  try {
    return io::parse_json<ConfigJson>(text);
  } catch (const IoError& e) {
    throw IoError(IoError::Kind::malformed, str("cannot read ", where), e.why(),
                  "give the file that transformers wrote");
  }
}

std::unique_ptr<nn::Module> with_end_tokens(std::unique_ptr<CausalModel> model, const Config& config) {
  model->set_end_tokens(config.numbers("eos_token_id"));
  return model;
}

std::unique_ptr<nn::Module> network_of(const ConfigJson& json, const std::string& where, Rng& rng) {
  const Config config(json, where);
  const std::string type = config.text("model_type", "");
  try {
    for (const char* roberta : {"roberta", "xlm-roberta", "camembert"})
      if (type == roberta) return bert_of(config, true, rng);
    if (type == "bert") return bert_of(config, false, rng);
    if (type == "gpt2") return with_end_tokens(gpt2_of(config, rng), config);
    if (type == "llama") return with_end_tokens(llama_of(config, rng), config);
  } catch (const ConfigError& e) {
    config.refuse(str(e.summary(), ": ", e.why()));
  }
  config.refuse(str("\"model_type\" is \"", type.substr(0, 40), "\", which Veldt does not have"));
}

// Sizes are untrusted: the network is first made without memory, and each of its tensors looked for.
void check_size(const ConfigJson& json, const std::string& where, const NamedTensors& tensors) {
  const Config config(json, where);
  for (const char* key : {"num_hidden_layers", "n_layer"}) {
    std::int64_t layers = 1;
    config.read(key, layers);
    if (layers > std::ssize(tensors))
      config.refuse(str("its layers are ", layers, ", and the file beside it has fewer tensors"));
  }
  std::vector<std::string> wrong;
  const auto compare = [&] {
    Rng unused(0);
    const auto network = network_of(json, where, unused);
    std::map<std::string, Shape> in_file;
    for (const auto& [name, tensor] : fitted(tensors, *network).tensors) in_file[name] = tensor.shape();
    for (const auto& [name, tensor] : network->named_parameters()) {
      const auto found = in_file.find(name);
      if (found == in_file.end() && !may_be_new(name)) wrong.push_back(name + ", which the file lacks");
      if (found != in_file.end() && found->second != tensor.shape())
        wrong.push_back(str(name, " of ", tensor.shape(), ", which is ", found->second, " in the file"));
    }
  };
  try {
    step_facts(compare);
  } catch (const OutOfMemory& e) {  // of one tensor that no machine could hold
    wrong.push_back(str("more than there is: ", e.summary()));
  }
  if (!wrong.empty())
    config.refuse(str("its sizes ask for ", wrong.front(),
                      wrong.size() > 1 ? str(", and ", wrong.size() - 1, " more that do not fit") : ""));
}

// What text ends with is often said in a file of its own.
void read_generation(const std::string& path, nn::Module& network) {
  auto* model = dynamic_cast<CausalModel*>(&network);
  if (model == nullptr || !io::exists(path)) return;
  const ConfigJson json = json_of(io::read_file(path, io::kMaxJsonBytes), path);
  const Config config(json, path);
  if (!config.at("eos_token_id").is_null()) model->set_end_tokens(config.numbers("eos_token_id"));
}

}  // namespace

std::unique_ptr<nn::Module> from_config(const std::string& text, const std::string& where, Rng& rng) {
  return network_of(json_of(text, where), where, rng);
}

std::unique_ptr<nn::Module> load_pretrained(const std::string& folder, const PretrainedOptions& options,
                                            nn::LoadReport* report) {
  const std::string path = folder + "/config.json";
  const ConfigJson json = json_of(io::read_file(path, io::kMaxJsonBytes), path);
  const io::LoadedState file = io::load_state(folder);
  check_size(json, path, file.tensors);
  auto network = network_of(json, path, nn::default_rng());
  network->to(options.dtype);
  FittedState state = fitted(file.tensors, *network);
  nn::LoadReport found = network->load_state_dict(state.tensors, false);
  if (!found.unexpected.empty()) network->load_state_dict(state.tensors);  // says all that does not fit
  found.unexpected = std::move(state.left_out);
  if (report == nullptr && !found.missing.empty())
    warn(str(folder, " has no ", first_word(found.missing.front()),
             ": that part has new values, and is to be trained before it is used"));
  if (report != nullptr) *report = std::move(found);
  read_generation(folder + "/generation_config.json", *network);
  network->to(options.device);
  network->eval();
  return network;
}

std::unique_ptr<CausalModel> load_causal(const std::string& folder, const PretrainedOptions& options,
                                         nn::LoadReport* report) {
  auto network = load_pretrained(folder, options, report);
  if (auto* model = dynamic_cast<CausalModel*>(network.get())) {
    network.release();
    return std::unique_ptr<CausalModel>(model);
  }
  throw ConfigError(str(network->title(), " does not continue text"), "it encodes it",
                    "give a GPT-2 or a Llama");
}

}  // namespace veldt::models
