// Says what is wrong with a command line, and which flag or verb was probably meant.
#include "veldt/cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "veldt/io/suggest.h"

namespace veldt::cli {
namespace {

std::string help_hint(const CLI::App& app) { return fmt::format("see '{} --help'", full_name(app)); }

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    for (const std::string& name : option->get_snames()) flags.push_back("-" + name);
  }
  return flags;
}

std::vector<std::string> verbs_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

// "did you mean '--steps'?" or, with nothing near, `otherwise`.
std::string suggestion(const std::string& word, const std::vector<std::string>& known,
                       const std::string& otherwise) {
  const std::string nearest = io::nearest_of(word, known);
  return nearest.empty() ? otherwise : fmt::format("did you mean '{}'?", nearest);
}

UsageError unknown_flag(const CLI::App& app, const std::string& given) {
  const std::string flag = given.substr(0, given.find('='));
  const std::vector<std::string> known = flags_of(app);
  // What is written has -o in most verbs, and --out where it is a folder.
  const bool means_out = flag == "-o" || flag == "--output";
  if (means_out && std::find(known.begin(), known.end(), "--out") != known.end())
    return {fmt::format("'{}' has no flag '{}'", full_name(app), flag),
            "it writes a folder, which --out names", "did you mean '--out'?"};
  return {fmt::format("'{}' has no flag '{}'", full_name(app), flag),
          fmt::format("its flags are listed by '{} --help'", full_name(app)),
          suggestion(flag, known, help_hint(app))};
}

// Names that other programs use.
std::string verb_for(const std::string& word) {
  static const std::map<std::string, const char*> kMeant = {
      {"upscale", "resize"},   {"enlarge", "resize"},   {"scale", "resize"},  {"shrink", "resize"},
      {"train-image", "fit"},  {"learn", "fit"},        {"teach", "fit"},     {"draw", "render"},
      {"play", "render"},      {"diff", "compare"},     {"evaluate", "eval"}, {"test", "eval"},
      {"classify", "predict"}, {"generate", "predict"}, {"show", "info"},     {"inspect", "info"}};
  const auto found = kMeant.find(word);
  return found == kMeant.end() ? "" : fmt::format("did you mean '{}'?", found->second);
}

UsageError unknown_verb(const CLI::App& app, const std::string& given) {
  const std::vector<std::string> known = verbs_of(app);
  const std::string meant = app.get_parent() == nullptr ? verb_for(given) : "";
  return {fmt::format("there is no verb '{}'", given),
          fmt::format("the verbs of '{}' are {}", full_name(app), fmt::join(known, ", ")),
          meant.empty() ? suggestion(given, known, help_hint(app)) : meant};
}

// A flag or a word that the verb does not take.
std::optional<UsageError> explain_extra(const CLI::App& app) {
  // Flags that follow a mistyped verb are not this level's.
  if (auto verb = mistyped_verb(app)) return verb;
  const std::vector<std::string> extra = app.remaining();
  for (const std::string& word : extra)
    if (word.size() > 1 && word[0] == '-' && word != "--") return unknown_flag(app, word);
  if (extra.empty()) return std::nullopt;
  return UsageError(fmt::format("'{}' does not know what to do with '{}'", full_name(app), extra.front()),
                    "it takes no more arguments", help_hint(app));
}

std::string names_of_missing(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_required() && option->count() == 0)
      names.push_back(option->get_positional()
                          ? option->get_name(true)
                          : fmt::format("{} {}", option->get_name(), option->get_type_name()));
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

const CLI::App& deepest(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::optional<UsageError> mistyped_verb(const CLI::App& app) {
  const std::vector<std::string> extra = app.remaining();
  if (verbs_of(app).empty() || !app.get_subcommands().empty() || extra.empty()) return std::nullopt;
  if (extra.front().starts_with('-') && extra.front().size() > 1) return std::nullopt;
  return unknown_verb(app, extra.front());
}

UsageError explain(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App& app = deepest(root);
  // A mistyped flag often leaves something else missing: it is named first.
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent())
    if (auto extra = explain_extra(*level)) return *extra;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::string missing = names_of_missing(app);
    if (!missing.empty())
      return {fmt::format("'{}' needs {}", full_name(app), missing), "nothing was given for it",
              help_hint(app)};
    if (!verbs_of(app).empty())
      return {fmt::format("'{}' needs a verb", full_name(app)),
              fmt::format("it can {}", fmt::join(verbs_of(app), ", ")), help_hint(app)};
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string text = error.what();
    return {fmt::format("{} has no value", text.substr(0, text.find(':'))),
            "the command line ends after it, or it has the wrong number of values", help_hint(app)};
  }
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return {error.what(), "the two ask for different things", "give one of them"};
  return {error.what(), fmt::format("'{}' could not read its command line", full_name(app)), help_hint(app)};
}

}  // namespace veldt::cli
