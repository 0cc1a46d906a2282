// Runs a compute shader: its text through glslc, then on Mesa's lavapipe, a Vulkan device that needs no GPU.
// Both are looked for when a test runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace veldt::test {

class Vulkan {
 public:
  Vulkan();
  ~Vulkan();
  Vulkan(const Vulkan&) = delete;
  Vulkan& operator=(const Vulkan&) = delete;

  // Why it cannot be used here, or "".
  const std::string& missing() const { return missing_; }
  const std::string& device() const { return device_; }

  // A shader with the buffers 0, 1 .. of floats in set 0, the last of which it writes, one number a thread in
  // groups of 64; and two numbers as push constants: which formula, and how many elements. Gives what it
  // wrote, for each formula. Throws std::runtime_error.
  std::vector<std::vector<float>> run(const std::string& shader,
                                      const std::vector<std::vector<float>>& inputs, int formulas);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string missing_, device_;
};

// SPIR-V of a shader. Throws std::runtime_error with what glslc says.
std::vector<std::uint32_t> compile_glsl(const std::string& shader);
bool has_glslc();

}  // namespace veldt::test
