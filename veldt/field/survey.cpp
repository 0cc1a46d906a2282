// Shows each row to all who count.
#include "veldt/field/survey.h"

namespace veldt::field {

Surveyor::Surveyor(std::int64_t rows, std::int64_t columns, std::int64_t channels, DType dtype)
    : facts_(rows, columns, channels),
      across_(Axis::across, rows, columns, channels, dtype),
      down_(Axis::down, rows, columns, channels, dtype) {}

void Surveyor::add(const Tensor& stored, const Tensor& levels) {
  facts_.add(levels);
  across_.add(stored);
  down_.add(stored);
  digest_.update(levels.data<float>(), static_cast<std::size_t>(levels.numel()) * sizeof(float));
}

Survey Surveyor::survey() {
  return {.facts = facts_.facts(),
          .across = across_.spectrum(),
          .down = down_.spectrum(),
          .digest = digest_.text()};
}

}  // namespace veldt::field
