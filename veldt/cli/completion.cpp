// A script holds the whole tree, so that completion starts no process. All three shells offer flags after a
// verb; after a flag its choices, files for a path and nothing for a number; and files elsewhere.
#include "veldt/cli/completion.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <vector>

namespace veldt::cli {
namespace {

std::vector<std::string> flags_of(const Setting& s) {
  std::vector<std::string> flags;
  for (const std::string& name : s.option->get_lnames()) flags.push_back("--" + name);
  for (const std::string& name : s.option->get_snames()) flags.push_back("-" + name);
  return flags;
}

std::vector<std::string> verb_names(const VerbOptions& verb) {
  std::vector<std::string> names;
  for (const auto& below : verb.verbs) names.push_back(below->app->get_name());
  return names;
}

// What a shell offers for an argument: the choices of the verb's first argument.
std::vector<std::string> argument_choices(const VerbOptions& verb) {
  for (const Setting& s : verb.settings)
    if (s.option->get_positional() && !s.choices.empty()) return s.choices;
  return {};
}

bool takes_files(const VerbOptions& verb) {
  for (const Setting& s : verb.settings)
    if (s.option->get_positional() && s.kind == ValueKind::path) return true;
  return false;
}

// Calls `use` for each verb, parents first.
template <class Use> void each_verb(const VerbOptions& verb, const Use& use) {
  use(verb);
  for (const auto& below : verb.verbs) each_verb(*below, use);
}

// 'it'\''s': quoted as one word, whatever it contains.
std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

constexpr const char* kBashHead = R"(# bash completion for veldt; made by: veldt completion bash
_veldt() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev= path= flags= verbs= words= files= i
  COMPREPLY=()
  ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD-1]}
  # bash splits --flag=value into three words.
  if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
)";

constexpr const char* kBashTail = R"(  if [[ -n $words && $cur != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
  elif [[ -n $verbs ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$cur")
  elif [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}
complete -F _veldt veldt
)";

}  // namespace

std::string bash_completion(const VerbOptions& tree) {
  std::string paths, verbs, values;
  each_verb(tree, [&](const VerbOptions& verb) {
    const std::string path = verb.path().empty() ? "" : " " + verb.path();
    if (!path.empty()) paths += fmt::format("      {0}) path={0} ;;\n", in_quotes(path));
    std::vector<std::string> flags = {"--help", "-h"};
    if (path.empty()) flags.emplace_back("--version");
    for (const Setting& s : verb.settings) {
      const std::vector<std::string> own = flags_of(s);
      flags.insert(flags.end(), own.begin(), own.end());
      if (own.empty() || s.kind == ValueKind::on_off) continue;
      std::string patterns;
      for (const std::string& flag : own)
        patterns += (patterns.empty() ? "" : "|") + in_quotes(path + ":" + flag);
      std::string offer = "return";  // a number, a text: nothing can be offered
      if (s.kind == ValueKind::path) offer = "files=1 verbs=";
      if (!s.choices.empty())
        offer = fmt::format("words={}", in_quotes(fmt::format("{}", fmt::join(s.choices, " "))));
      values += fmt::format("    {}) {} ;;\n", patterns, offer);
    }
    std::vector<std::string> next = verb.verbs.empty() ? argument_choices(verb) : verb_names(verb);
    if (path.empty()) next.emplace_back("help");
    verbs += fmt::format("    {}) flags={} verbs={} files={} ;;\n", in_quotes(path),
                         in_quotes(fmt::format("{}", fmt::join(flags, " "))),
                         in_quotes(fmt::format("{}", fmt::join(next, " "))), takes_files(verb) ? "1" : "");
  });
  return kBashHead + paths + "    esac\n  done\n  case \"$path\" in\n" + verbs +
         "  esac\n  case \"$path:$prev\" in\n" + values + "  esac\n" + kBashTail;
}

namespace {

// In zsh's _arguments a description ends at ']' and a specification at ':'.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Setting& s) {
  if (s.kind == ValueKind::path) return "_files";
  if (!s.choices.empty()) return fmt::format("({})", fmt::join(s.choices, " "));
  return " ";  // nothing to offer
}

std::string zsh_argument(const Setting& s) {
  const std::string help = zsh_text(s.option->get_description());
  if (s.option->get_positional()) return in_quotes(fmt::format(":{}:{}", zsh_text(s.flag()), zsh_action(s)));
  const std::vector<std::string> flags = flags_of(s);
  std::string text;
  for (const std::string& flag : flags) {
    const std::string others = flags.size() > 1 ? fmt::format("({})", fmt::join(flags, " ")) : "";
    const bool has_value = s.kind != ValueKind::on_off;
    const char* joint = !has_value ? "" : flag.starts_with("--") ? "=" : "+";
    const std::string value =
        has_value ? fmt::format(":{}:{}", zsh_text(s.option->get_type_name()), zsh_action(s)) : "";
    text += (text.empty() ? "" : " \\\n    ") +
            in_quotes(fmt::format("{}{}{}[{}]{}", others, flag, joint, help, value));
  }
  return text;
}

std::string zsh_function_name(const VerbOptions& verb) {
  std::string name = "_veldt";
  for (const char c : verb.path().empty() ? "" : " " + verb.path()) name += c == ' ' ? '_' : c;
  return name;
}

std::string zsh_function(const VerbOptions& verb) {
  std::string text = fmt::format("{}() {{\n", zsh_function_name(verb));
  const std::string help = in_quotes("(- *)--help[show this text]");
  if (verb.verbs.empty()) {
    text += "  _arguments \\\n    " + help;
    for (const Setting& s : verb.settings) text += " \\\n    " + zsh_argument(s);
    return text + "\n}\n";
  }
  text += "  local state line\n  local -a verbs\n  verbs=(\n";
  for (const auto& below : verb.verbs) {
    std::string entry = below->app->get_name() + ":";
    for (const char c : below->app->get_description()) entry += c;
    text += fmt::format("    {}\n", in_quotes(entry));
  }
  if (verb.parent == nullptr) text += "    'help:show the text of a verb'\n";
  text += fmt::format(
      "  )\n  _arguments -C \\\n    {}{} \\\n    '1: :->verb' '*::argument:->rest'\n"
      "  case $state in\n    verb) _describe verb verbs ;;\n    rest)\n      case $line[1] in\n",
      help, verb.parent == nullptr ? " '(- *)--version[show the version]'" : "");
  for (const auto& below : verb.verbs)
    text += fmt::format("        {}) {} ;;\n", below->app->get_name(), zsh_function_name(*below));
  return text + "      esac\n  esac\n}\n";
}

}  // namespace

std::string zsh_completion(const VerbOptions& tree) {
  std::string text = "#compdef veldt\n# zsh completion for veldt; made by: veldt completion zsh\n";
  each_verb(tree, [&](const VerbOptions& verb) { text += zsh_function(verb); });
  // Autoloaded from fpath the file is the function itself; sourced, it only registers it.
  return text + "if [[ $funcstack[1] == _veldt ]]; then\n  _veldt \"$@\"\nelse\n  compdef _veldt veldt\nfi\n";
}

namespace {

// In fish only the backslash and the quote mean something between quotes.
std::string fish_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "'";
}

std::string fish_setting(const Setting& s, const std::string& condition) {
  std::string text = fmt::format("complete -c veldt -n {}", condition);
  for (const std::string& name : s.option->get_lnames()) text += " -l " + name;
  for (const std::string& name : s.option->get_snames()) text += " -s " + name;
  if (s.kind == ValueKind::path)
    text += " -r -F";
  else if (!s.choices.empty())
    text += fmt::format(" -x -a {}", fish_quotes(fmt::format("{}", fmt::join(s.choices, " "))));
  else if (s.kind != ValueKind::on_off)
    text += " -x";
  return text + " -d " + fish_quotes(s.option->get_description()) + "\n";
}

std::string fish_verb(const VerbOptions& verb) {
  const std::string condition = fish_quotes(fmt::format("__veldt_at \"{}\"", verb.path()));
  std::string text = fmt::format("complete -c veldt -n {} -l help -s h -d 'show this text'\n", condition);
  if (verb.parent == nullptr)
    text += fmt::format("complete -c veldt -n {} -l version -d 'show the version'\n", condition);
  if (verb.parent == nullptr)
    text += fmt::format("complete -c veldt -n {} -a help -d 'show the text of a verb'\n", condition);
  for (const auto& below : verb.verbs)
    text += fmt::format("complete -c veldt -n {} -a {} -d {}\n", condition, below->app->get_name(),
                        fish_quotes(below->app->get_description()));
  if (takes_files(verb)) text += fmt::format("complete -c veldt -n {} -F\n", condition);
  const std::vector<std::string> choices = argument_choices(verb);
  if (!choices.empty())
    text += fmt::format("complete -c veldt -n {} -a {}\n", condition,
                        fish_quotes(fmt::format("{}", fmt::join(choices, " "))));
  for (const Setting& s : verb.settings)
    if (!s.option->get_positional()) text += fish_setting(s, condition);
  return text;
}

}  // namespace

std::string fish_completion(const VerbOptions& tree) {
  std::string paths;
  each_verb(tree, [&](const VerbOptions& verb) {
    if (!verb.path().empty()) paths += " " + fish_quotes(verb.path());
  });
  std::string text =
      "# fish completion for veldt; made by: veldt completion fish\n"
      "function __veldt_at  # true if the verbs typed so far are these\n"
      "  set -l path\n"
      "  for word in (commandline -opc)[2..]\n"
      "    set -l longer (string trim \"$path $word\")\n"
      "    contains -- $longer" +
      paths +
      "; and set path $longer\n"
      "  end\n"
      "  test \"$path\" = \"$argv[1]\"\n"
      "end\n"
      "complete -c veldt -f\n";
  each_verb(tree, [&](const VerbOptions& verb) { text += fish_verb(verb); });
  return text;
}

}  // namespace veldt::cli
