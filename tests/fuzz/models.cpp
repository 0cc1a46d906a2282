// Models: fields, networks of a recipe, known networks, checkpoints and what a run goes on from.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/fuzz/target.h"
#include "tests/support/temp_dir.h"
#include "tests/train/small_task.h"
#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/field/field.h"
#include "veldt/field/prior.h"
#include "veldt/io/digest.h"
#include "veldt/io/json.h"
#include "veldt/io/safetensors.h"
#include "veldt/models/model_file.h"
#include "veldt/models/pretrained.h"
#include "veldt/ops/create.h"
#include "veldt/nn/evaluating.h"
#include "veldt/recipe/model.h"
#include "veldt/recipe/pruned.h"
#include "veldt/recipe/trained.h"
#include "veldt/tensor/plan.h"
#include "veldt/train/checkpoint.h"
#include "veldt/train/manifest.h"
#include "veldt/tensor/graph.h"

namespace veldt::fuzz {
namespace {

using Json = nlohmann::ordered_json;

// ---- fields ----

// A few of its levels, whatever size it was fitted at; and of a small picture all.
void draw(const field::Field& field) {
  const field::FieldOptions& o = field.options();
  const auto take = [](const Tensor&, std::int64_t) { return true; };
  for (const int samples : {1, 0})
    field.render_bands({o.is_sound() ? 1 : 3, 2}, {.supersample = samples}, take);
  if (!o.is_sound() && o.width <= 16 && o.height <= 16) field.render_bands({o.width, o.height}, {}, take);
}

// The options of a field, in JSON; its weights follow from them.
void read_field(const std::string& bytes) {
  const field::FieldOptions options = field::field_options_from_json(bytes);
  require(field::field_options_from_json(field::to_json(options)) == options,
          "options that are written and read again are the same");
  if (field::stored_count(options) > 5000) return;
  const field::Field made(options, 1);
  const auto read = field::Field::from_tensors(made.tensors(), made.metadata(), "a file");
  require(read.options() == options, "a field has its options");
  draw(read);
}

std::vector<std::string> field_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& file : files_in("tests/golden/fields", ".safetensors")) {
    test::put_bytes(scratch("field"), file);
    field::FieldOptions options = field::Field::load(scratch("field")).options();
    for (std::int64_t& width : options.widths) width = std::min<std::int64_t>(width, 8);
    seeds.push_back(field::to_json(options));
  }
  return seeds;
}

std::vector<std::string> field_words() {
  return {"\"encodings\":[",
          "\"kind\":\"grid\"",
          "\"kind\":\"fourier\"",
          "\"kind\":\"frequency\"",
          "\"dimensions\":1",
          "\"closing\":1",
          "\"bits\":16",
          "\"squares\":true",
          "\"period\":2",
          "\"tones\":[[0],[1]]",
          "\"plain\"",
          "\"sigmoid\"",
          "\"corners\"",
          "\"wire\"",
          "\"octaves\":",
          "1073741824",
          "1e308",
          "-0.0"};
}

void read_field_file(const std::string& bytes) { draw(field::Field::load(file_of(bytes))); }

// The same file without digests, which a change would spoil.
std::string undigested(const std::string& path) {
  io::SafeTensorsHeader header = io::read_safetensors_header(path);
  Json json{{"__metadata__", header.metadata}};
  for (const io::TensorInfo& t : header.tensors)
    json[t.name] = {{"dtype", t.dtype}, {"shape", t.shape}, {"data_offsets", {t.begin, t.end}}};
  const std::string text = json.dump(), file = bytes_of_file(path);
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 4; ++i) length[i] = static_cast<char>(text.size() >> (8 * i));
  return length + text + file.substr(file.size() - header.tensors.back().end);
}

// Small enough to be changed in many places.
std::vector<std::string> field_file_seeds() {
  const field::FieldOptions options{.widths = {2, 2}, .width = 4, .height = 3};
  field::Field(options, 1).save(scratch("field"));
  field::Field sound(
      {.widths = {2, 2}, .dimensions = 1, .head = field::Head::plain, .width = 1, .height = 5, .rate = 8}, 1);
  sound.set_closing(field::Closing(zeros({2, 5, 1, 1}, DType::f16)));
  sound.save(scratch("sound"));
  return {undigested(scratch("field")), undigested(scratch("sound"))};
}

// ---- priors ----

void read_prior(const std::string& bytes) {
  const field::Prior prior = field::load_prior(file_of(bytes));
  field::redraw(prior, zeros({1, 2, 3}));
  field::save_prior(scratch("copy"), prior);
  require(field::load_prior(scratch("copy")).options() == prior.options(),
          "a prior that is written and read again is of the same size");
}

std::vector<std::string> prior_seeds() {
  std::vector<std::string> seeds;
  for (const field::PriorOptions options : {field::PriorOptions{1, 0}, field::PriorOptions{2, 2, true}}) {
    field::save_prior(scratch("prior"), field::Prior(options));
    seeds.push_back(undigested(scratch("prior")));
  }
  return seeds;
}

// ---- networks over text ----

// A config.json, beside a file with too few tensors.
void read_config(const std::string& bytes) {
  const std::string folder = scratch("language");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << bytes;
  io::write_safetensors(folder + "/model.safetensors", {{"lm_head.weight", zeros({8, 8})}});
  models::load_pretrained(folder);
}

std::vector<std::string> config_seeds() {
  return {
      R"({"model_type":"bert","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,)"
      R"("intermediate_size":4,"max_position_embeddings":8,"hidden_act":"gelu"})",
      R"({"model_type":"roberta","vocab_size":9,"hidden_size":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":1,"intermediate_size":4,"max_position_embeddings":8,"pad_token_id":1})",
      R"({"model_type":"gpt2","vocab_size":9,"n_embd":4,"n_layer":1,"n_head":2,)"
      R"("n_positions":8,"n_inner":null})",
      R"({"model_type":"llama","vocab_size":9,"hidden_size":8,"intermediate_size":4,"num_hidden_layers":1,)"
      R"("num_attention_heads":2,"num_key_value_heads":1,"max_position_embeddings":8,"rope_scaling":)"
      R"({"rope_type":"llama3","factor":8,"original_max_position_embeddings":4}})"};
}

// ---- networks of a recipe ----

// {"recipe": {key: [texts]}, "facts": {..}}: what the metadata of a model file hold; its weights are too few
// or of other names.
void read_trained(const std::string& bytes) {
  const auto both = Json::parse(bytes, nullptr, false);
  if (!both.is_object() || !both.contains("recipe") || !both.contains("facts")) return;
  io::write_safetensors(scratch("model"), {{"0.weight", zeros({64, 64})}},
                        {{"kind", recipe::kNetworkFile.name},
                         {"format_version", "1"},
                         {"recipe", both["recipe"].dump()},
                         {"facts", both["facts"].dump()}});
  recipe::load(scratch("model"));
}

// The file of a quantised network, which is used if it can be read.
void read_quantized(const std::string& bytes) {
  const recipe::Trained trained = recipe::load(file_of(bytes));
  const NoGrad off;
  if (trained.facts.model.input.rank() == 3 && numel(trained.facts.model.input) <= 4096)
    trained.model(zeros(trained.facts.model.input.with_inserted(0, 1)));
}

std::vector<std::string> quantized_seeds() {
  std::vector<std::string> seeds;
  for (const compress::QuantizeOptions& options :
       {compress::QuantizeOptions{}, compress::QuantizeOptions{.bits = 4}}) {
    const recipe::Recipe recipe =
        recipe::recipe_of({{"data.kind", {"mnist"}},
                           {"train.epochs", {"1"}},
                           {"model.layers",
                            {"Conv2d(2, 3, padding=1)", "BatchNorm2d", "ReLU", "MaxPool2d(6)", "Flatten",
                             "Linear(32)", "Linear(outputs)"}}},
                          "a seed");
    recipe::Facts facts;
    facts.model = {{1, 12, 12}, DType::f32, 3};
    facts.classes = {"a", "b", "c"};
    recipe::Trained made{recipe, facts, recipe::build_model(recipe, facts.model)};
    made.model.eval();
    const NoGrad off;
    const Tensor x = zeros({1, 1, 12, 12});
    made.quantization = compress::quantize(
        made.model, options, [&] { made.model(x); }, compress::fold_batch_norms(made.model, x));
    recipe::save(scratch("made"), made);
    seeds.push_back(undigested(scratch("made")));
  }
  return seeds;
}

// Such a file with all its weights, made smaller: the smaller file opens too.
void prune_trained(const std::string& bytes) {
  const auto both = Json::parse(bytes, nullptr, false);
  if (!both.is_object() || !both.contains("recipe") || !both.contains("facts")) return;
  const recipe::Facts facts = recipe::facts_from_json(both["facts"].dump(), "a file");
  std::vector<std::pair<std::string, std::vector<std::string>>> given;
  if (!both["recipe"].is_object()) return;
  for (const auto& [key, texts] : both["recipe"].items()) {
    if (!texts.is_array()) return;
    given.emplace_back(key, std::vector<std::string>());
    for (const auto& text : texts) {
      if (!text.is_string()) return;
      given.back().second.push_back(text.get<std::string>());
    }
  }
  const recipe::Recipe made = recipe::recipe_of(given, "a file");
  if (made.acts() || numel(facts.model.input) > 4096 || facts.model.target.rank() > 0) return;
  const nn::Graph model = recipe::build_model(made, facts.model, 5000);
  Shape shape{1};
  for (const std::int64_t size : facts.model.input) shape.push_back(size);
  const nn::Evaluating evaluating(model);
  const StepFacts cost = step_facts([&] { model(zeros(shape, facts.model.dtype)); });
  if (cost.flops > 1e8 || cost.held_bytes + cost.eager_bytes > 100'000'000) return;
  recipe::save(scratch("whole"), made, facts, model, {});
  const recipe::Pruned smaller =
      recipe::pruned(recipe::load(scratch("whole")),
                     {.cut = {.share = 0.5}, .weights = compress::PruneOptions{.share = 0.5}});
  recipe::save(scratch("smaller"), smaller.network.recipe, smaller.network.facts, smaller.network.model, {});
  require(recipe::load(scratch("smaller")).model.parameter_count() <= model.parameter_count(),
          "a pruned network is no larger");
}

void read_facts(const std::string& bytes) {
  const std::string facts = recipe::in_json(recipe::facts_from_json(bytes, "a file"));
  require(recipe::in_json(recipe::facts_from_json(facts, "a copy")) == facts,
          "facts that are written and read again are the same");
}

std::vector<recipe::Facts> facts_of_each_kind() {
  recipe::Facts digits, text, numbers, pairs, noisy, dates;
  digits.model = {{1, 12, 12}, DType::f32, 3};
  digits.classes = {"a", "b", "c"};
  text.tokenizer = std::make_shared<data::CharTokenizer>("abcde ");
  text.model = {{7}, DType::i64, text.tokenizer->size()};
  pairs.tokenizer = std::make_shared<data::SubwordTokenizer>(data::SubwordTokenizer::train_bpe("abab", 257));
  pairs.model = {{7}, DType::i64, pairs.tokenizer->size()};
  numbers.model = {{2}, DType::f32, 1};
  numbers.inputs = {"x", "y"};
  numbers.columns = {{1, 2}, {0, 0.5}};
  noisy.model = {{1, 8, 8}, DType::f32, 1, {1, 8, 8}};
  dates.tokenizer = text.tokenizer;
  dates.model = {{7}, DType::i64, text.tokenizer->size(), {}, {4}};
  return {digits, text, numbers, noisy, dates, pairs};
}

std::vector<std::string> facts_seeds() {
  std::vector<std::string> seeds;
  for (const recipe::Facts& facts : facts_of_each_kind()) seeds.push_back(recipe::in_json(facts));
  return seeds;
}

std::vector<std::string> trained_seeds() {
  std::vector<recipe::Facts> facts = facts_of_each_kind();
  facts.insert(facts.begin(), facts.front());  // two recipes of pictures
  const Json recipes[] = {
      {{"data.kind", {"mnist"}},
       {"train.epochs", {"1"}},
       {"model.layers",
        {"Conv2d(3, 3, padding=1)", "BatchNorm2d", "ReLU", "MaxPool2d(2)", "Flatten", "Linear(outputs)"}}},
      {{"data.kind", {"mnist"}},
       {"train.epochs", {"1"}},
       {"model.architecture", {"mobilenet_v2(width=0.1, dropout=0)"}},
       {"model.from", {"w.pth"}},
       {"model.freeze", {"body", "features.0"}},
       {"optimizer.groups.head", {"0.1"}}},
      {{"data.kind", {"text"}},
       {"data.path", {"a"}},
       {"data.context", {"7"}},
       {"train.steps", {"9"}},
       {"model.layers", {"Embedding(4)", "LSTM(5)", "Linear(outputs)"}}},
      {{"data.kind", {"table"}},
       {"data.path", {"a"}},
       {"data.target", {"z"}},
       {"train.time", {"5s"}},
       {"model.layers", {"Linear(4)", "Tanh", "Linear(outputs)"}}},
      {{"data.kind", {"denoise"}},
       {"data.crop", {"8"}},
       {"data.noise", {"0.1"}},
       {"data.grey", {"true"}},
       {"train.steps", {"9"}},
       {"values.w", {"3"}},
       {"block.b.parameters", {"n", "s=1"}},
       {"block.b.layers", {"c: Conv2d(n, 3, stride=s, padding=1)", "ReLU"}},
       {"block.b.shortcut", {"Conv2d(n, 1, stride=s)"}},
       {"block.b.then", {"GELU"}},
       {"model.layers",
        {"2 x b(w)", "Save(a)", "b(2*w, 2)", "Upsample(2)", "Cat(a)", "Conv2d(outputs, 1)", "Add(input)"}}},
      {{"data.kind", {"pairs"}},
       {"data.path", {"a"}},
       {"train.steps", {"9"}},
       {"model.layers",
        {"Embedding(4)", "TransformerEncoderLayer(2)", "Save(m)", "Load(target)", "Embedding(4)",
         "TransformerDecoderLayer(2, m)", "Linear(outputs)"}}}};
  std::vector<std::string> seeds;
  for (std::size_t i = 0; i < std::size(recipes); ++i)
    seeds.push_back(Json{{"recipe", recipes[i]}, {"facts", Json::parse(recipe::in_json(facts[i]))}}.dump());
  return seeds;
}

// ---- known networks ----

// {"architecture": .., "options": {..}, "preprocessing": {..}}: what the metadata of such a file hold; of its
// weights there is one.
void read_known(const std::string& bytes) {
  const auto all = Json::parse(bytes, nullptr, false);
  if (!all.is_object() || !all.contains("architecture") || !all["architecture"].is_string()) return;
  std::map<std::string, std::string> metadata{{"kind", models::kModelKind},
                                              {"format_version", "1"},
                                              {"architecture", all["architecture"].get<std::string>()}};
  for (const char* part : {"options", "preprocessing"})
    if (all.contains(part)) metadata[part] = all[part].dump();
  io::write_safetensors(scratch("known"), {{"features.0.0.weight", zeros({64, 64})}}, metadata);
  models::load(scratch("known"));
}

std::vector<std::string> known_seeds() {
  std::vector<std::string> seeds;
  for (const char* name : {"mobilenet_v3_small", "vit_b_16", "unet"}) {
    Json options = Json::object();
    for (const auto& [option, value] : models::complete(name, {{"classes", 2}})) options[option] = value;
    const Json preprocessing = {
        {"shorter_side", 8}, {"height", 8}, {"width", 8}, {"mean", {0.5}}, {"deviation", {0.25}}};
    seeds.push_back(
        Json{{"architecture", name}, {"options", options}, {"preprocessing", preprocessing}}.dump());
  }
  return seeds;
}

std::vector<std::string> known_words() { return models::names(); }

// ---- checkpoints ----

train::CheckpointData small_checkpoint(const std::string& state) {
  test::SmallTask task;
  train::CheckpointData data{
      .step = 7, .model = task.model().state_dict(), .optim = task.optimizer().state_dict()};
  for (const auto& [name, tensor] : task.own_state()) data.optim.push_back({"task." + name, tensor});
  data.state_json = state;
  return data;
}

const char* const kState = R"({"step":7,"seconds":0.5,"loss":0.25,"threads":1,"config":{"task":"small"}})";

// A whole checkpoint, but for a manifest of these bytes with the digest that it should have.
void read_manifest(const std::string& bytes) {
  static const std::string path = [] {
    train::CheckpointDir directory(scratch("manifests"));
    directory.save(small_checkpoint(kState));
    return directory.path_of(7);
  }();
  auto manifest = nlohmann::json::parse(bytes, nullptr, false);
  std::string text = bytes;
  if (manifest.is_object()) {
    manifest.erase("xxh3");
    const std::string rest = manifest.dump();
    manifest["xxh3"] = io::digest_of(rest.data(), rest.size());
    text = manifest.dump();
  }
  test::put_bytes(path + "/" + train::kManifestFile, text);
  require(train::read_checkpoint(path).state_json == kState, "a checkpoint that can be read is whole");
}

std::vector<std::string> manifest_seeds() {
  train::CheckpointDir directory(scratch("manifests"));
  directory.save(small_checkpoint(kState));
  return {bytes_of_file(directory.path_of(7) + "/" + train::kManifestFile)};
}

// What a run is to go on from: the bytes of its state, a zero byte, and those of its optimizer, or none for
// whole ones. The manifest is of them.
void resume(const std::string& bytes) {
  const std::string directory = scratch("run"), path = directory + "/ckpt-00000007";
  std::filesystem::remove_all(directory);
  const std::size_t zero = std::min(bytes.find('\0'), bytes.size());
  train::CheckpointDir(directory).save(small_checkpoint(bytes.substr(0, zero)));
  if (zero + 1 < bytes.size()) {
    test::put_bytes(path + "/optim.safetensors", bytes.substr(zero + 1));
    train::write_manifest(path, 7);
  }
  test::SmallTask task;
  train::RunOptions options = test::small_run(9, directory);
  options.resume = true;
  train::run(task, options, test::stop_after(3));
}

std::vector<std::string> resume_seeds() {
  io::write_safetensors(scratch("optim"), small_checkpoint(kState).optim);
  return {kState, kState + std::string(1, '\0') + bytes_of_file(scratch("optim"))};
}

}  // namespace

std::vector<Target> model_targets() {
  return {{"field", read_field, field_seeds, field_words},
          {"field_file", read_field_file, field_file_seeds},
          {"prior", read_prior, prior_seeds},
          {"config", read_config, config_seeds},
          {"facts", read_facts, facts_seeds},
          {"trained", read_trained, trained_seeds, recipe::layer_names},
          {"quantized", read_quantized, quantized_seeds},
          {"pruned", prune_trained, trained_seeds, recipe::layer_names},
          {"known", read_known, known_seeds, known_words},
          {"manifest", read_manifest, manifest_seeds},
          {"resume", resume, resume_seeds}};
}

}  // namespace veldt::fuzz
