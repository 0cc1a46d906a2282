// What --live [[HOST:]PORT] said.
// Tests: tests/app/live_test.cpp
#pragma once

#include "veldt/live/http_server.h"

namespace veldt::app {

struct LiveFlags {
  bool live = false;
  live::ServerOptions at = {};
};

}  // namespace veldt::app
