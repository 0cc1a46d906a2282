#include "veldt/app/prior.h"

#include <filesystem>

namespace veldt::app {

std::shared_ptr<const field::Prior> prior_from(const std::string& path) {
  if (path == "none") return nullptr;
  if (!path.empty()) return std::make_shared<field::Prior>(field::load_prior(path));
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  const std::filesystem::path own = program.parent_path() / "../share/veldt/prior.safetensors";
  if (!std::filesystem::exists(own, failed)) return nullptr;
  return std::make_shared<field::Prior>(field::load_prior(own.lexically_normal()));
}

}  // namespace veldt::app
