// veldt info FILE: what is in it. Each kind of file is described as JSON; the text output is that JSON in
// readable form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/describe.h"
#include "veldt/app/describe_state.h"
#include "veldt/cli/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/app/in_words.h"
#include "veldt/app/onnx_files.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/app/sweep_report.h"
#include "veldt/app/verbs.h"
#include "veldt/field/options.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/state.h"

namespace veldt::app {
namespace {

constexpr const char* kInfoExamples =
    "  veldt info cub.safetensors            the network, the picture it was fitted to, how it was trained\n"
    "  veldt info runs/cub --verify          every checkpoint of a run, read through and checked\n"
    "  veldt info runs/mnist-sweep           the table of a sweep\n"
    "  veldt info resnet18.pth               the tensors that PyTorch saved\n"
    "  veldt info cub.png --json\n";

struct InfoFlags {
  std::string path;
  bool verify = false, nodes = false;
  std::int64_t max_pixels = kMaxPixels;
};

using Json = nlohmann::ordered_json;

// A field's options under the names of the flags of veldt fit, without those that do not apply to this field.
Json options_for_people(const Json& options) {
  const bool takes_omega = field::takes_omega(field::field_options_from_json(options.dump()));
  Json out = Json::object();
  for (const auto& [key, value] : options.items()) {
    const bool is_first = key == "first_omega", is_omega = is_first || key == "omega";
    if (!is_omega)
      out[key] = value;
    else if (takes_omega)
      out[is_first ? "first-omega" : "omega"] = value;
  }
  return out;
}

// The parts of a description that text shows. JSON has all of it, under the names that files use.
Json for_people(Json description) {
  if (description.contains("not_supported") && description["not_supported"].empty())
    description.erase("not_supported");
  description.erase("facts");  // of a recipe's data: a vocabulary, the means of columns
  if (description.contains("recipe") && description["recipe"].is_object()) {
    Json& recipe = description["recipe"];
    recipe.erase("data.files");  // URLs and hashes
    for (auto& [key, texts] : recipe.items())
      if (texts.is_array() && texts.size() == 1 && !key.ends_with("layers")) texts = Json(texts.front());
  }
  for (Json* part : {&description, description.contains("field") ? &description["field"] : nullptr}) {
    if (part == nullptr || !part->contains("layers")) continue;
    (*part)["options"] = options_for_people(part->at("options"));
    Json* const training = part->contains("training") ? &part->at("training") : nullptr;
    if (training == nullptr || !training->is_object() || !training->contains("plan")) continue;
    Json& plan = training->at("plan");
    // 0: not asked for.
    for (const char* key : {"steps", "seconds", "target_psnr", "edge_share", "warmup", "schedule_offset"})
      if (plan.is_object() && plan.contains(key) && plan.at(key) == 0) plan.erase(key);
  }
  return description;
}

// A file of PyTorch's or NumPy's.
Json describe_tensors(const std::string& path, bool verify) {
  const io::LoadedState state = io::load_state(path);
  Json out = describe_state(path, state);
  if (!verify) return out;
  std::int64_t not_finite = 0;
  for (const NamedTensor& named : state.tensors) not_finite += count_not_finite(named.tensor);
  out["not_finite"] = not_finite;
  out["verified"] = true;
  return out;
}

Json describe(const InfoFlags& flags) {
  if (io::is_directory(flags.path)) return describe_directory(flags.path, flags.verify);
  switch (kind_of_file(flags.path)) {
    case FileKind::picture: return describe_picture(flags.path, flags.verify, flags.max_pixels);
    case FileKind::sound: return describe_sound(flags.path, flags.verify, flags.max_pixels);
    case FileKind::pixel_csv: return describe_table(flags.path, flags.max_pixels);
    case FileKind::safetensors: return describe_safetensors(flags.path, flags.verify);
    case FileKind::onnx: return describe_onnx(flags.path, flags.nodes, flags.verify);
    case FileKind::state: return describe_tensors(flags.path, flags.verify);
    case FileKind::unknown: break;
  }
  refuse_file(flags.path);
}

int info_of_sweep(const InfoFlags& flags, Context& context) {
  if (flags.verify || flags.nodes)
    throw UsageError(
        fmt::format("{} is not for the folder of a sweep", flags.verify ? "--verify" : "--nodes"),
        "it is for files", "name a run's model.safetensors, or leave it out");
  const recipe::SweepTable table = table_in_folder(flags.path);
  if (!context.json) {
    context.out.foreign_text(sweep_in_words(table, flags.path));
    return kOk;
  }
  Json out = {{"kind", "sweep"}};
  out.update(sweep_in_json(table, flags.path));
  context.out.json(out);
  return kOk;
}

int info(const InfoFlags& flags, Context& context) {
  if (io::exists(flags.path + "/sweep.json")) return info_of_sweep(flags, context);
  const Json description = describe(flags);
  if (context.json) {
    context.out.json(description);
  } else {
    context.out.text(in_words(for_people(description), 0));
  }
  if (flags.verify) require_whole(description);
  return kOk;
}

}  // namespace

Run add_info(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<InfoFlags>();
  add_path(
      verb, "FILE", flags->path,
      "a model, any file of tensors (.safetensors, .pt, .npz), an ONNX graph, a checkpoint, a directory of "
      "checkpoints, the folder of a run or of a sweep, a picture, a sound, a table (.csv)")
      .required();
  add_switch(verb, "--verify", flags->verify,
             "read every byte, check hashes and the names in a graph, count the numbers that are not finite; "
             "exits with 9 for damage");
  add_switch(verb, "--nodes", flags->nodes,
             "list the nodes of an ONNX graph and the types of their results, found by a run on zeros, "
             "unknown sizes being 1");
  add_max_pixels(verb, flags->max_pixels, true);
  verb.examples(kInfoExamples);
  return [flags, &context] { return info(*flags, context); };
}

}  // namespace veldt::app
