// What --live [[HOST:]PORT] and --tensorboard DIR said.
// Tests: tests/app/live_test.cpp
#pragma once

#include <string>

#include "veldt/live/http_server.h"

namespace veldt::app {

struct LiveFlags {
  bool live = false;
  live::ServerOptions at = {};
  std::string tensorboard = {};  // a folder; empty: none
};

}  // namespace veldt::app
