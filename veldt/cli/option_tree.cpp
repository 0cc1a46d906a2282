// Each add_ function gives CLI11 a callback that reads the text itself, so that errors are Veldt's.
#include "veldt/cli/option_tree.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <utility>

#include "veldt/core/device.h"
#include "veldt/tensor/fallback.h"

namespace veldt::cli {
namespace {

constexpr const char* kShared = "Everywhere";  // the group of settings that all verbs have

std::string shown(std::int64_t value) { return std::to_string(value); }
std::string shown(double value) { return fmt::format("{}", value); }
std::string shown(const std::string& value) { return value; }
template <class T> std::string shown(const std::optional<T>& value) {
  return value ? shown(*value) : std::string();
}
std::string shown_seconds(double seconds) { return seconds > 0 ? shown(seconds) + "s" : ""; }

Setting& add(VerbOptions& verb, const std::string& names, ValueKind kind, const std::string& type,
             const std::string& default_text, const std::string& help,
             std::function<void(const io::Source&, const std::string&)> set) {
  Setting& setting = verb.settings.emplace_back();
  setting.kind = kind;
  setting.set = std::move(set);
  setting.option = verb.app->add_option(
      names,
      [&setting](const CLI::results_t& given) {
        setting.take({setting.flag(), setting.flag() + " "}, given.back(), "flag");
        return true;
      },
      help);
  setting.option->type_name(type)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->default_str(default_text);
  return setting;
}

// Reads with `read(source, text)` into `into`.
template <class T, class Read>
Setting& add_into(VerbOptions& verb, const std::string& names, ValueKind kind, const std::string& type,
                  T& into, const std::string& help, Read read) {
  return add(verb, names, kind, type, shown(into), help,
             [&into, read](const io::Source& source, const std::string& text) { into = read(source, text); });
}

template <class T>
Setting& add_any_count(VerbOptions& verb, const std::string& names, T& into, io::CountRange range,
                       const std::string& help) {
  return add_into(verb, names, ValueKind::count, "N", into, help,
                  [range](auto& source, auto& text) { return io::count_from(source, text, range); });
}

template <class T>
Setting& add_any_number(VerbOptions& verb, const std::string& names, T& into, io::NumberRange range,
                        const std::string& help) {
  return add_into(verb, names, ValueKind::number, "X", into, help,
                  [range](auto& source, auto& text) { return io::number_from(source, text, range); });
}

template <class T>
Setting& add_any_choice(VerbOptions& verb, const std::string& names, T& into,
                        const std::vector<std::string>& choices, const std::string& help) {
  Setting& setting =
      add_into(verb, names, ValueKind::choice, fmt::format("{}", fmt::join(choices, "|")), into, help,
               [choices](auto& source, auto& text) { return io::choice_from(source, text, choices); });
  setting.choices = choices;
  return setting;
}

Setting& add_many(VerbOptions& verb, const std::string& names, ValueKind value_kind, const std::string& kind,
                  const std::string& help,
                  std::function<void(const io::Source& source, const std::string& text)> set) {
  Setting& setting = verb.settings.emplace_back();
  setting.kind = value_kind;
  setting.set = std::move(set);
  setting.option = verb.app->add_option(
      names,
      [&setting](const CLI::results_t& given) {
        for (const std::string& text : given)
          setting.take({setting.flag(), setting.flag() + " "}, text, "flag");
        return true;
      },
      help);
  setting.option->type_name(kind)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  if (setting.option->get_positional())
    setting.option->expected(1, 1 << 20)->allow_extra_args(true);
  else
    setting.option->allow_extra_args(false);
  return setting;
}

}  // namespace

std::string Setting::flag() const {
  if (option->get_positional()) return option->get_name(true);
  if (!option->get_lnames().empty()) return "--" + option->get_lnames().front();
  return "-" + option->get_snames().front();
}

std::string Setting::key() const { return flag().substr(flag().find_first_not_of('-')); }

std::string Setting::environment() const {
  std::string name = "VELDT_" + key();
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

bool Setting::is_shared() const { return option->get_group() == kShared; }

void Setting::take(const io::Source& source, const std::string& text, const std::string& from) {
  set(source, text);
  origin = from;
  value = text;
}

Setting& Setting::required() {
  option->required();
  return command_line_only();
}

Setting& Setting::excludes(const Setting& other) {
  option->excludes(other.option);
  return *this;
}

Setting& Setting::waives(const Setting& other) {
  set = [set = std::move(set), option = other.option](const io::Source& source, const std::string& text) {
    set(source, text);
    if (io::switch_from(source, text)) option->required(false);
  };
  return *this;
}

Setting& Setting::command_line_only() {
  configurable = false;
  return *this;
}

VerbOptions& VerbOptions::add_verb(const std::string& name, const std::string& summary) {
  auto& verb = verbs.emplace_back(std::make_unique<VerbOptions>());
  verb->app = app->add_subcommand(name, summary);
  verb->parent = this;
  return *verb;
}

VerbOptions* VerbOptions::find_verb(const std::string& name) const {
  for (const auto& verb : verbs)
    if (verb->app->get_name() == name) return verb.get();
  return nullptr;
}

Setting* VerbOptions::find_key(const std::string& key) {
  for (Setting& setting : settings)
    if (setting.configurable && setting.key() == key) return &setting;
  return nullptr;
}

void VerbOptions::examples(const std::string& text) { app->footer(text); }

std::string VerbOptions::path() const {
  if (parent == nullptr) return {};
  const std::string above = parent->path();
  return above.empty() ? app->get_name() : above + " " + app->get_name();
}

std::string VerbOptions::table() const {
  std::string name = path();
  std::replace(name.begin(), name.end(), ' ', '.');
  return name;
}

Setting& add_count(VerbOptions& verb, const std::string& names, std::int64_t& into, io::CountRange range,
                   const std::string& help) {
  return add_any_count(verb, names, into, range, help);
}
Setting& add_count(VerbOptions& verb, const std::string& names, std::optional<std::int64_t>& into,
                   io::CountRange range, const std::string& help) {
  return add_any_count(verb, names, into, range, help);
}
Setting& add_number(VerbOptions& verb, const std::string& names, double& into, io::NumberRange range,
                    const std::string& help) {
  return add_any_number(verb, names, into, range, help);
}
Setting& add_number(VerbOptions& verb, const std::string& names, std::optional<double>& into,
                    io::NumberRange range, const std::string& help) {
  return add_any_number(verb, names, into, range, help);
}
Setting& add_duration(VerbOptions& verb, const std::string& names, double& into, const std::string& help) {
  Setting& setting = add_into(verb, names, ValueKind::duration, "TIME", into, help, io::seconds_from);
  setting.option->default_str(shown_seconds(into));
  return setting;
}
Setting& add_choice(VerbOptions& verb, const std::string& names, std::string& into,
                    const std::vector<std::string>& choices, const std::string& help) {
  return add_any_choice(verb, names, into, choices, help);
}
Setting& add_choice(VerbOptions& verb, const std::string& names, std::optional<std::string>& into,
                    const std::vector<std::string>& choices, const std::string& help) {
  return add_any_choice(verb, names, into, choices, help);
}

Setting& add_path(VerbOptions& verb, const std::string& names, std::string& into, const std::string& help) {
  return add_into(verb, names, ValueKind::path, "PATH", into, help,
                  [](auto& source, auto& text) { return io::path_from(source, text); })
      .command_line_only();
}
Setting& add_text(VerbOptions& verb, const std::string& names, const std::string& kind,
                  const std::string& help,
                  std::function<void(const io::Source& source, const std::string& text)> read) {
  return add(verb, names, ValueKind::text, kind, "", help, std::move(read));
}
Setting& add_texts(VerbOptions& verb, const std::string& names, const std::string& kind,
                   std::vector<std::string>& into, const std::string& help) {
  return add_many(verb, names, ValueKind::text, kind, help,
                  [&into](const io::Source&, const std::string& text) { into.push_back(text); });
}
Setting& add_pairs(VerbOptions& verb, const std::string& names, const std::string& kind,
                   std::vector<std::string>& into, const std::string& help) {
  Setting& setting = add_texts(verb, names, kind, into, help).command_line_only();
  setting.option->type_size(2);
  return setting;
}
Setting& add_paths(VerbOptions& verb, const std::string& names, std::vector<std::string>& into,
                   const std::string& help) {
  return add_many(verb, names, ValueKind::path, "PATH", help,
                  [&into](const io::Source& source, const std::string& text) {
                    into.push_back(io::path_from(source, text));
                  })
      .command_line_only();
}
Setting& add_switch(VerbOptions& verb, const std::string& names, bool& into, const std::string& help) {
  Setting& setting = verb.settings.emplace_back();
  setting.kind = ValueKind::on_off;
  setting.set = [&into](const io::Source& source, const std::string& text) {
    into = io::switch_from(source, text);
  };
  setting.option = verb.app->add_flag_function(
      names,
      [&setting](std::int64_t times) {
        setting.take({setting.flag(), setting.flag() + "="}, times > 0 ? "true" : "false", "flag");
      },
      help);
  return setting;
}

std::string command_to_resume(const Context& context, const std::string& verb, const std::string& flag,
                              const std::string& value) {
  std::vector<std::string> arguments = context.arguments;
  if (std::find(arguments.begin(), arguments.end(), "--resume") == arguments.end())
    arguments.insert(arguments.begin() + 2, "--resume");  // right after the verb, because a "--" may follow
  for (const Setting& s : context.tree->find_verb(verb)->settings)
    if (const bool missing = s.flag() == flag && s.origin == "default";
        missing || s.origin == s.environment())
      arguments.insert(arguments.begin() + 2, s.flag() + "=" + (missing ? value : s.value));
  return quoted_for_shell(arguments);
}

Setting& add_device(VerbOptions& verb, std::string& into) {
  std::vector<std::string> choices = {"auto"};
  std::string shown = "auto";
  for (std::size_t i = 0; i < device_kinds(); ++i) {
    choices.emplace_back(name_of(static_cast<DeviceKind>(i)));
    shown += "|" + choices.back() + (i > 0 ? "[:N]" : "");
  }
  Setting& setting = add_into(
      verb, "--device", ValueKind::choice, shown, into, "where to compute",
      [choices](auto& source, const std::string& text) {
        if (text.starts_with("gpu"))
          throw io::bad_value(source, text, "GPUs are called cuda, or cuda:1 for the second",
                              "use " + io::example_of(source, "cuda"));
        const std::size_t colon = text.find(':');
        const std::string kind = text.substr(0, colon);
        if (colon == text.npos || kind == "cpu" || !device_kind(kind))
          return io::choice_from(source, text, choices);
        const std::string digits = text.substr(colon + 1);
        if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("0123456789") != digits.npos)
          throw io::bad_value(source, text, "a device's number is an integer, 0 or more",
                              "use " + io::example_of(source, kind + ":0"));
        return text;
      });
  setting.choices = choices;
  const std::vector<std::string> fallbacks = {"none", "host"};
  Setting& fallback = add(verb, "--fallback", ValueKind::choice, "none|host", "none",
                          "what to do where the device lacks a kernel: stop with an error (none), or let the "
                          "cpu work on copies (host)",
                          [fallbacks](auto& source, const std::string& text) {
                            set_host_fallback(io::choice_from(source, text, fallbacks) == "host");
                          });
  fallback.choices = fallbacks;
  return setting;
}

Setting& add_max_pixels(VerbOptions& verb, std::int64_t& into, bool and_sounds) {
  return add_count(verb, "--max-pixels", into, {.least = 1},
                   std::string("refuse larger pictures (samples that take four bytes count as pixels)") +
                       (and_sounds ? ", and sounds with more samples" : ""));
}

void add_threads(VerbOptions& verb, Context& context) {
  add_count(verb, "--threads", context.threads, {.least = 1, .most = 1024},
            "how many threads compute (all cores unless given)")
      .option->group(kShared);
}

void add_shared_flags(VerbOptions& verb, Context& context) {
  add_switch(verb, "--json", context.json, "print the result as one JSON object").option->group(kShared);
  add_switch(verb, "--quiet", context.quiet, "no progress and no notes on stderr").option->group(kShared);
  Setting& config = add_path(verb, "--config", context.config, "read settings from this file too");
  config.option->group(kShared);
}

}  // namespace veldt::cli
