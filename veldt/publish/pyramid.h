// A picture of any size as tiles of every scale: the Deep Zoom format (.dzi), with a page that shows it.
// Tests: tests/publish/pyramid_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "veldt/core/size.h"
#include "veldt/field/field.h"

namespace veldt::publish {

struct PyramidOptions {
  std::string title = "A field";
  Size size{};              // of the largest level, in pixels
  std::int64_t tile = 256;  // pixels along a side, without overlap
};

// The tiles of all levels. Throws ConfigError for sizes that cannot be.
std::int64_t tile_count(const PyramidOptions& options);

// Hears how many tiles are there; false stops.
using TilesDone = std::function<bool(std::int64_t done)>;

// Writes FOLDER/index.html, tiles.dzi and tiles_files/LEVEL/COLUMN_ROW.png; level L has ceil(side / 2^(last -
// L)) pixels a side, each drawn by the field itself. A file is whole or not there, and tiles.dzi and
// index.html come last. What an earlier call has left there is kept, if it was of the same field and size, so
// that it goes on. Returns false if it was stopped. Throws ConfigError for a sound, and for a folder that
// holds tiles of another field or size, or an index.html, tiles.dzi or tiles_files not made by this; IoError
// unwritable.
bool write_pyramid(
    const field::Field& field, const std::string& folder, const PyramidOptions& options,
    const TilesDone& done = [](std::int64_t) { return true; });

}  // namespace veldt::publish
