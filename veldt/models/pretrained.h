// Networks over text by the files of transformers: config.json says what they are, model.safetensors holds
// their numbers.
//   auto model = models::load_pretrained("all-MiniLM-L6-v2");
// Tests: tests/models/language_test.cpp, tests/models/language_peers_test.cpp, tests/fuzz/models.cpp
#pragma once

#include <memory>
#include <string>

#include "veldt/models/bert.h"
#include "veldt/models/causal_model.h"

namespace veldt::models {

// A new network as a config.json describes it, "model_type" bert, roberta (xlm-roberta, camembert), gpt2 or
// llama: a Bert, Gpt2 or Llama, whose dropout begins in training. It takes the memory that the sizes ask for.
// Throws IoError malformed, naming the key, for a type that is not known and for what changes the network in
// a way that Veldt does not have; keys that do not change it are left alone.
std::unique_ptr<nn::Module> from_config(const std::string& json, const std::string& where = "config.json",
                                        Rng& rng = nn::default_rng());

struct PretrainedOptions {
  DType dtype = DType::f32;  // of the parameters, whatever the file has
  Device device = {};
};

// The network in a folder: its config.json, and the weights that io::load_state() finds beside it; in
// evaluation. A name may lack the prefix of a network's inner part, or have one more ("bert."), and buffers
// that are computed may be there. The body of a file with a head for a task (BertForSequenceClassification,
// BertForMaskedLM ..) is loaded, and a BERT without a pooler gets a new one: `report` lists the head as
// unexpected and the pooler as missing; without a report a new part is a warning. Throws IoError missing or
// malformed, for sizes that the file does not fill too, and Error listing the names that do not fit.
std::unique_ptr<nn::Module> load_pretrained(const std::string& folder, const PretrainedOptions& options = {},
                                            nn::LoadReport* report = nullptr);
// The same, for a network that continues text; it knows the config's end tokens. Throws ConfigError for
// another.
std::unique_ptr<CausalModel> load_causal(const std::string& folder, const PretrainedOptions& options = {},
                                         nn::LoadReport* report = nullptr);

}  // namespace veldt::models
