// veldt import FILE: a network's tensors from PyTorch, NumPy and others, under other names if wished for,
// alone or as a known architecture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/app/describe_state.h"
#include "veldt/app/frame.h"
#include "veldt/app/in_words.h"
#include "veldt/app/inputs.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/name_rules.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/state.h"
#include "veldt/io/suggest.h"
#include "veldt/io/torch_file.h"
#include "veldt/models/model_file.h"

namespace veldt::app {
namespace {

constexpr const char* kImportExamples =
    "  veldt import resnet18.pth                                  what is in it\n"
    "  veldt import resnet18.pth --as resnet18 -o resnet18.safetensors\n"
    "  veldt import checkpoint.pt --take state_dict --map '^0\\.' 'features.' -o net.safetensors\n"
    "  veldt import net.safetensors -o net.pt                     for torch.load\n";

struct ImportFlags {
  std::string input, output, take;
  std::vector<std::string> pass_over, map;
  std::optional<std::string> architecture;
};

bool is_torch_name(const std::string& path) { return path.ends_with(".pt") || path.ends_with(".pth"); }

void check_import_output(const ImportFlags& flags, Context& context) {
  if (flags.output.empty()) return;
  if (!is_torch_name(flags.output) && !flags.output.ends_with(".safetensors"))
    throw UsageError(fmt::format("cannot write {}", flags.output),
                     "tensors are written as .safetensors, or as .pt for PyTorch",
                     "give it one of these endings");
  check_output(flags.output, "--output", {flags.input}, context);
}

// The state with the names that the rules give it.
void rename(io::LoadedState& state, const std::vector<std::string>& flags) {
  io::NameRules rules;
  for (std::size_t i = 0; i + 1 < flags.size(); i += 2) rules.push_back({flags[i], flags[i + 1]});
  const NamedTensors mapped = io::map_names(state.tensors, rules);
  std::map<std::string, std::string> names;
  for (std::size_t i = 0; i < mapped.size(); ++i) names[state.tensors[i].name] = mapped[i].name;
  for (io::ConvertedTensor& tensor : state.converted) tensor.name = names.at(tensor.name);
  state.tensors = mapped;
}

// The architecture, with as many outputs as the file's head has.
models::Model model_for(const std::string& architecture, const io::LoadedState& state) {
  models::Options options;
  const models::About& about = models::about(architecture);
  const Tensor* head = state.find(about.head + ".weight");
  for (const models::OptionInfo& option : about.options)
    if (option.name == "classes" && head != nullptr && head->rank() > 0 && head->size(0) >= option.least &&
        head->size(0) <= option.most)
      options[option.name] = static_cast<double>(head->size(0));
  return models::make_model(architecture, options);
}

// The file's name that is likeliest what a missing tensor is called there: with more before it, or less, or
// near.
std::string near_name(const std::string& missing, const std::vector<std::string>& unexpected) {
  for (const std::string& name : unexpected)
    if (name.ends_with("." + missing) || missing.ends_with("." + name)) return name;
  return unexpected.size() < 1000 ? io::nearest_of(missing, unexpected) : "";
}

nlohmann::ordered_json missing_rows(const nn::LoadReport& report) {
  constexpr std::size_t kMostCompared = 200;  // a row takes a millisecond
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < report.missing.size(); ++i)
    rows.push_back({{"name", report.missing[i]},
                    {"near", i < kMostCompared ? near_name(report.missing[i], report.unexpected) : ""}});
  return rows;
}

nlohmann::ordered_json fit_in_json(const models::Model& model, const nn::LoadReport& report,
                                   std::size_t tensors) {
  nlohmann::ordered_json fit = {{"architecture", model.architecture}};
  for (const auto& [name, value] : model.options) {
    if (value == std::floor(value))
      fit[name] = static_cast<std::int64_t>(value);
    else
      fit[name] = value;
  }
  fit["fitted"] = tensors - report.unexpected.size() - report.mismatched.size();
  if (!report.missing.empty()) fit["missing"] = missing_rows(report);
  if (!report.unexpected.empty()) fit["unexpected"] = report.unexpected;
  if (!report.mismatched.empty()) fit["mismatched"] = report.mismatched;
  return fit;
}

// How to map the file's names to the network's, going by one of them.
std::string mapping_for(const std::string& missing, const std::vector<std::string>& unexpected) {
  const std::string near = near_name(missing, unexpected);
  if (near.empty()) return "choose another architecture, or map the names: --map REGEX TEXT";
  if (near.ends_with("." + missing)) {
    std::string prefix;
    for (const char c : near.substr(0, near.size() - missing.size()))
      prefix += c == '.' ? "\\." : std::string(1, c);
    return fmt::format("the file has {}: --map '^{}' ''", near, prefix);
  }
  if (missing.ends_with("." + near))
    return fmt::format("the file has {}: --map '^' '{}'", near,
                       missing.substr(0, missing.size() - near.size()));
  return fmt::format("map the names, the file has {}: --map REGEX TEXT", near);
}

// Tensors beyond the network's are left out; without all of its own there is no network.
void require_fit(const std::string& path, const std::string& architecture, const nn::LoadReport& report) {
  if (report.missing.empty() && report.mismatched.empty()) return;
  std::string why = report.missing.empty() ? "" : fmt::format("{} is missing", report.missing.front());
  if (report.missing.size() > 1)
    why = fmt::format("{} tensors are missing, {} first", report.missing.size(), report.missing.front());
  if (!report.mismatched.empty())
    why += fmt::format("{}{}", why.empty() ? "" : "; ", report.mismatched.front());
  if (report.mismatched.size() > 1) why += fmt::format(", and {} more", report.mismatched.size() - 1);
  throw IoError(IoError::Kind::malformed, fmt::format("{} does not fit {}", path, architecture), why,
                report.missing.empty() ? "choose another architecture"
                                       : mapping_for(report.missing.front(), report.unexpected));
}

void write_tensors(const std::string& path, const NamedTensors& tensors) {
  if (is_torch_name(path))
    io::write_torch(path, tensors);
  else
    io::write_safetensors(path, tensors, {{"format", "pt"}});  // which transformers asks for
}

int import(const ImportFlags& flags, Context& context) {
  check_import_output(flags, context);
  io::LoadedState state = io::load_state(flags.input, {.take = flags.take, .pass_over = flags.pass_over});
  rename(state, flags.map);
  nlohmann::ordered_json out = describe_state(flags.input, state);
  std::optional<models::Model> model;
  nn::LoadReport report;
  if (flags.architecture) {
    model = model_for(*flags.architecture, state);
    report = model->network->load_state_dict(state.tensors, /*strict=*/false);
    out["fit"] = fit_in_json(*model, report, state.tensors.size());
  }
  const bool writes = !flags.output.empty();
  if (writes) out["output"] = flags.output;
  if (!context.json && writes) out.erase("tensors");  // the lines that matter would be out of sight
  const auto print = [&] {
    if (context.json)
      context.out.json(out);
    else
      context.out.text(in_words(out, 0));
  };
  if (!writes || (model && !report.complete())) {
    if (!writes) print();
    if (model) require_fit(flags.input, *flags.architecture, report);
  }
  if (!writes) return kOk;
  if (model && !is_torch_name(flags.output))
    models::save(flags.output, *model);
  else
    write_tensors(flags.output, model ? model->network->state_dict() : state.tensors);
  if (!state.converted.empty() && !context.quiet)
    print_note(fmt::format("{} of {} tensors were converted, {} from {} to {}", state.converted.size(),
                           state.tensors.size(), on_one_line(state.converted[0].name),
                           state.converted[0].from, name_of(state.converted[0].to)));
  print();
  return kOk;
}

}  // namespace

Run add_import(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<ImportFlags>();
  add_path(verb, "FILE", flags->input,
           "tensors of a network: PyTorch's .pt, .pth and .bin, .safetensors, an index of several such files "
           "or the "
           "folder that has it, or NumPy's .npz")
      .required();
  add_path(verb, "-o,--output", flags->output,
           "where they go: .safetensors, or .pt for PyTorch; without it they are listed");
  add_choice(verb, "--as", flags->architecture, models::names(),
             "make a network of this architecture of them")
      .command_line_only();
  add_pairs(verb, "--map", "REGEX TEXT", flags->map,
            "replace what matches in the names, $1 being the first group; may be given several times");
  add_text(verb, "--take", "KEY", "of a checkpoint: the key that holds the tensors, such as model_ema",
           [flags](auto&, auto& text) { flags->take = text; })
      .command_line_only();
  add_texts(verb, "--pass-over", "CLASS", flags->pass_over,
            "read past objects of this class, which Veldt does not know; may be given several times")
      .command_line_only();
  verb.examples(kImportExamples);
  return [flags, &context] { return import(*flags, context); };
}

}  // namespace veldt::app
