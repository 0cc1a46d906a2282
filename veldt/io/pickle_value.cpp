// Finds what is in the values of a pickle.
#include "veldt/io/pickle_value.h"

namespace veldt::io {

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  for (std::size_t i = 0; dict.kind == PickleKind::dict && i + 1 < dict.items.size(); i += 2) {
    const PickleValue& found = values[dict.items[i]];
    if (found.kind == PickleKind::text && found.text == key) return &values[dict.items[i + 1]];
  }
  return nullptr;
}

std::string_view Pickle::class_of(const PickleValue& value) const {
  if (value.kind != PickleKind::object) return {};
  const PickleValue& callee = values[value.callee];
  return callee.kind == PickleKind::global ? std::string_view(callee.text) : std::string_view();
}

}  // namespace veldt::io
