// The error of a rank of which nothing is heard any more.
// Tests: tests/dist/communicator_test.cpp
#pragma once

#include <string_view>

#include "veldt/core/error.h"

namespace veldt::dist {

class LostRank : public LostError {
 public:
  LostRank(int rank, std::string_view what, std::string_view why, std::string_view fix)
      : LostError(what, why, fix), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};

}  // namespace veldt::dist
