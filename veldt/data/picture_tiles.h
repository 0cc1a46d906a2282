// Square parts of pictures as examples, for networks that turn pictures into pictures.
// Tests: tests/data/picture_tiles_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/data/dataset.h"

namespace veldt::data {

// The pictures (io::is_picture_name) of a folder, in the order of their names; folders in it are not looked
// into. Throws IoError missing for no folder, and for a folder without pictures.
std::vector<std::string> pictures_of_folder(const std::string& folder);

struct TileOptions {
  std::int64_t size = 64;
  // Pixels around a tile that belong to the example too, as far as the picture goes: for a crop at random.
  std::int64_t margin = 0;
  bool grey = false;  // one channel; else three, without alpha
};

// Tiles [channels, size, size] in 0..1 that lie side by side in the middle of each picture. All pictures are
// kept in memory, 8 bits a channel. Throws IoError as io::read_image(), malformed for a picture smaller than
// a tile, and for more than four gigabytes of pictures; ConfigError for a size below 1 or a margin below 0.
DatasetPtr picture_tiles(const std::vector<std::string>& paths, TileOptions options = {});

}  // namespace veldt::data
