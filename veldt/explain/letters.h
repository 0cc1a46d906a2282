// Letters of five by seven pixels, for legends. Only for heat.cpp.
// Tests: tests/explain/heat_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace veldt::explain {

// Rows from the top, the leftmost pixel in bit 4. Small letters look as capitals do; what there is no letter
// for is a box.
std::array<std::uint8_t, 7> letter(char c);

}  // namespace veldt::explain
