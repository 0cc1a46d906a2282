#include "veldt/app/prior.h"

#include <filesystem>

namespace veldt::app {
namespace {

std::shared_ptr<const field::Prior> own_prior(const char* name) {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  const std::filesystem::path path = program.parent_path() / "../share/veldt" / name;
  if (!std::filesystem::exists(path, failed)) return nullptr;
  return std::make_shared<field::Prior>(field::load_prior(path.lexically_normal()));
}

}  // namespace

Priors priors_from(const std::string& path) {
  if (path == "none") return {};
  Priors priors{.means = own_prior("prior.safetensors"), .two_tone = own_prior("prior_two_tone.safetensors")};
  if (path.empty()) return priors;
  auto given = std::make_shared<const field::Prior>(field::load_prior(path));
  (given->options().two_tone ? priors.two_tone : priors.means) = priors.given = given;
  return priors;
}

}  // namespace veldt::app
