// What the prior learns from: crops of photographs and drawings, turned and mirrored by chance.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/tensor/tensor.h"

namespace veldt::prior {

// The pictures of a folder and those in it, by name. Throws IoError missing if there are none, or if one of
// the folders cannot be read.
std::vector<std::string> pictures_in(const std::string& folder);

class Crops {
 public:
  // Reads all pictures into memory, a byte a sample. Photographs count at a half to a sixth of their size as
  // well: what is sharp there was not softened by the camera. Throws as io::read_image, and ConfigError for a
  // picture that is smaller than `least` pixels at either side.
  Crops(const std::vector<std::string>& photographs, const std::vector<std::string>& drawings,
        std::int64_t least);

  // Fills `crop`, size x size levels in 0..1, with a part of one channel, or the luma, of a picture: of a
  // drawing with this probability, else of a photograph, where of two parts the busier is taken.
  void draw(Rng& rng, double drawings, std::int64_t size, std::span<float> crop) const;

 private:
  void cut(Rng& rng, const Tensor& picture, std::int64_t size, std::span<float> crop) const;

  std::vector<Tensor> photographs_, drawings_;  // u8 [height, width, channels]
};

}  // namespace veldt::prior
