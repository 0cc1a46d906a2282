// Catches an exception. A test that uses it fails if nothing is thrown.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <type_traits>

#include "veldt/core/error.h"

namespace veldt::test {

// The E that `act` throws. The test fails where it throws nothing, something else, or an Error that does not
// say what, why and how to fix it. To test that nothing is thrown, use EXPECT_NO_THROW.
template <class E = Error, class Act> E thrown_by(Act act) {
  try {
    act();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    EXPECT_NE(error.summary(), "");
    EXPECT_NE(error.why(), "");
    EXPECT_NE(error.fix(), "");
    EXPECT_EQ(std::string(error.what()).find('\0'), std::string::npos);
    return error;
  } catch (const std::exception& other) {
    ADD_FAILURE() << "another exception was thrown: " << other.what();
  }
  if constexpr (std::is_same_v<E, IoError>)
    return {IoError::Kind::missing, "", "", ""};
  else
    return {"", "", ""};
}

// Its text.
template <class E = Error, class Act> std::string error_of(Act act) { return thrown_by<E>(act).what(); }

inline bool says(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace veldt::test
