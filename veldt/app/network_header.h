// veldt export of a quantised network as a C++ header.
// Tests: tests/app/network_header_test.cpp
#pragma once

#include <string>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"

namespace veldt::app {

// Whether a model file, or the folder of a run, holds a field. Throws IoError as read_safetensors_header().
bool holds_field(const std::string& model);

// Writes it, and says what came of it. Returns the exit code. Throws Error as recipe::load() and
// publish::network_header(), and UsageError for a network of floats.
int export_network_header(const std::string& model, const std::string& output, Context& context);

}  // namespace veldt::app
