// Libraries of devices that cannot be used say why.
#include "veldt/tensor/device_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <clocale>
#include <filesystem>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

std::string refusal_of(const std::string& library) {
  set_device_library(DeviceKind::cuda, library);
  EXPECT_FALSE(look_for_devices(DeviceKind::cuda).usable);
  const std::string said = error_of<DeviceError>([] { device_library(DeviceKind::cuda); });
  set_device_library(DeviceKind::cuda, "");
  return said;
}

std::string path_of_libc() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&std::setlocale), &info) != 0 ? info.dli_fname : "";
}

TEST(DeviceLibrary, OfAnotherBuildIsRefused) {
  const auto path = std::filesystem::path(VELDT_BINARY).parent_path() / ".." / "lib" / "libstale_plugin.so";
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  const std::string said = refusal_of(path.string());
  EXPECT_NE(said.find("cannot use the device cuda"), std::string::npos) << said;
  EXPECT_NE(said.find("this is another build"), std::string::npos) << said;
}

TEST(DeviceLibrary, ThatIsNoneIsRefused) {
  const TempDir dir;
  const std::string missing = refusal_of(dir / "libveldt_cuda.so");
  EXPECT_NE(missing.find("could not be loaded"), std::string::npos) << missing;
  const std::string other = refusal_of(path_of_libc());
  EXPECT_NE(other.find("is not a library of Veldt"), std::string::npos) << other;
}

}  // namespace
}  // namespace veldt::test
