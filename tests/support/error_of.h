// The text of the Error that something throws.
#pragma once

#include <string>

#include "veldt/core/error.h"

namespace veldt::test {

// "" if `act` throws no E.
template <class E = Error, class Act> std::string error_of(Act act) {
  try {
    act();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

}  // namespace veldt::test
