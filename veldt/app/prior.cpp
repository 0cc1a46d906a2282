// Looks for the priors beside the program and where they are installed.
#include "veldt/app/frame.h"
#include "veldt/app/prior.h"

#include <fmt/format.h>

#include <filesystem>

#include "veldt/cli/terminal.h"
#include "veldt/core/error.h"

namespace veldt::app {
namespace {

// A damaged prior gives only a warning: the user did not cause it, and most fits need only one of the priors.
std::shared_ptr<const field::Prior> own_prior(const char* name) try {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  const std::filesystem::path path = program.parent_path() / "../share/veldt" / name;
  if (!std::filesystem::exists(path, failed)) return nullptr;
  return std::make_shared<field::Prior>(field::load_prior(path.lexically_normal()));
} catch (const IoError& e) {
  print_warning(fmt::format("{} ({}); pictures are redrawn without it until Veldt is installed again",
                            e.summary(), e.why()));
  return nullptr;
}

}  // namespace

Priors priors_from(const std::string& path) {
  if (path == "none") return {};
  Priors priors;
  if (!path.empty()) {
    priors.given = std::make_shared<const field::Prior>(field::load_prior(path));
    (priors.given->options().two_tone ? priors.two_tone : priors.means) = priors.given;
  }
  if (!priors.means) priors.means = own_prior("prior.safetensors");
  if (!priors.two_tone) priors.two_tone = own_prior("prior_two_tone.safetensors");
  return priors;
}

}  // namespace veldt::app
