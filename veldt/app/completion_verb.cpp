// veldt completion SHELL: a script for the shell, on stdout.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "veldt/cli/completion.h"
#include "veldt/cli/exit.h"
#include "veldt/app/verbs.h"

namespace veldt::app {
namespace {

constexpr const char* kInstall =
    "  veldt completion fish > ~/.config/fish/completions/veldt.fish\n"
    "  veldt completion zsh > \"${fpath[1]}/_veldt\"      once; then restart zsh\n"
    "  source <(veldt completion bash)                  a line for ~/.bashrc\n";

}  // namespace

Run add_completion(VerbOptions& verb, Context& context) {
  auto shell = std::make_shared<std::string>();
  add_choice(verb, "SHELL", *shell, {"bash", "zsh", "fish"}, "bash, zsh or fish").required();
  verb.examples(kInstall);
  verb.reads_config = false;
  return [shell, &context] {
    const VerbOptions& tree = *context.tree;
    const std::string script = *shell == "bash"  ? bash_completion(tree)
                               : *shell == "zsh" ? zsh_completion(tree)
                                                 : fish_completion(tree);
    if (context.json)
      context.out.json({{"shell", *shell}, {"script", script}});
    else
      context.out.text(script);
    return kOk;
  };
}

}  // namespace veldt::app
