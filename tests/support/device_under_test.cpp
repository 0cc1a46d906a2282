// Opens the emulated device or a real one for tests, and writes down what they computed there.
#include "tests/support/device_under_test.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/device_library.h"

namespace veldt::test {
namespace {

// Where the build puts it, and a package of the tests: in ../lib of the program's folder.
std::string library_of_tests(const char* name) {
  namespace fs = std::filesystem;
  Dl_info here{};
  fs::path program;
  if (dladdr(reinterpret_cast<const void*>(&on_real_gpu), &here) != 0 && here.dli_fname != nullptr)
    program = here.dli_fname;
  if (!program.is_absolute()) program = fs::read_symlink("/proc/self/exe");
  return (program.parent_path() / ".." / "lib" / name).lexically_normal().string();
}

class RealGpu : public testing::Environment {
  void SetUp() override {
    const DeviceReport found = look_for_devices(DeviceKind::cuda);
    if (!found.usable) GTEST_SKIP() << "no GPU: " << found.reason;
  }
};
[[maybe_unused]] const testing::Environment* const g_real_gpu =
    on_real_gpu() ? testing::AddGlobalTestEnvironment(new RealGpu) : nullptr;

}  // namespace

bool on_real_gpu() {
  const char* wanted = std::getenv("VELDT_TEST_GPU");
  return wanted != nullptr && *wanted == '1';
}

void use_device_under_test() {
  static const bool chosen = [] {
    if (!on_real_gpu()) set_device_library(DeviceKind::cuda, library_of_tests("libcuda_emulated.so"));
    return true;
  }();
  static_cast<void>(chosen);
}

void* symbol_on_gpu(const char* library, const char* name) {
  void* const opened = dlopen(library_of_tests(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  return opened == nullptr ? nullptr : dlsym(opened, name);
}

void note_result(DType dtype, const void* data, std::size_t bytes, double precision) {
  const char* path = std::getenv("VELDT_TEST_RESULTS");
  if (path == nullptr) return;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << test.test_suite_name() << '.' << test.name() << ' ' << dtype;
  if (precision > 0) file << '~' << precision;
  file << ' ' << bytes << '\n';
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  if (!file) ADD_FAILURE() << "cannot write to " << path;
}

void note_result(const Tensor& on_cpu, double precision) {
  const Tensor t = contiguous(on_cpu.detach());
  note_result(t.dtype(), t.view().data, static_cast<std::size_t>(t.numel()) * size_of(t.dtype()), precision);
}

}  // namespace veldt::test
