// Puts a fit on one sheet: how it came about, and its enlargement beside the classical filters.
//   example_contact_sheet SHEET.png MODEL.safetensors SMALL.png TRUTH.png STAGE.png...
// First row: the stages, in the order given. Second row: a detail of SMALL enlarged to TRUTH's size by the
// bilinear filter, by Lanczos3 and by MODEL, which was fitted to SMALL; then TRUTH itself.
#include <cstdio>
#include <string>
#include <vector>

#include "veldt/veldt.h"

using namespace veldt;

constexpr std::int64_t kGap = 12;                                   // white pixels around each picture
constexpr double kDetailX = 0.17, kDetailY = 0.22, kDetail = 0.44;  // the part that is shown: the cub's face

// A white frame around the picture: [h, w, c] -> [h + 2 gap, w + 2 gap, c].
Tensor framed(const Tensor& picture) {
  const Tensor paper = ones({picture.size(0) + 2 * kGap, picture.size(1) + 2 * kGap, picture.size(2)});
  Tensor inside = slice(slice(paper, 0, kGap, kGap + picture.size(0)), 1, kGap, kGap + picture.size(1));
  inside.assign(picture);
  return paper;
}

// Pictures side by side, each `side` pixels wide and high.
Tensor row_of(const std::vector<Tensor>& pictures, std::int64_t side, data::Filter filter) {
  std::vector<Tensor> tiles;
  for (const Tensor& p : pictures)
    tiles.push_back(framed(clamp(data::resample(p, {side, side}, filter), 0, 1)));
  return cat(tiles, 1);
}

Tensor detail_of(const Tensor& picture) {
  const auto side = static_cast<double>(picture.size(1));
  const auto x = static_cast<std::int64_t>(kDetailX * side), y = static_cast<std::int64_t>(kDetailY * side);
  const auto n = static_cast<std::int64_t>(kDetail * side);
  return slice(slice(picture, 0, y, y + n), 1, x, x + n);
}

int main(int argc, char** argv) try {
  if (argc < 6) {
    std::fprintf(stderr, "usage: %s SHEET.png MODEL.safetensors SMALL.png TRUTH.png STAGE.png...\n", argv[0]);
    return 2;
  }
  std::vector<Tensor> stages;
  for (int i = 5; i < argc; ++i) stages.push_back(io::read_image(argv[i]));
  const Tensor small = io::read_image(argv[3]), truth = io::read_image(argv[4]);
  const std::int64_t height = truth.size(0), width = truth.size(1);

  const Tensor bilinear = clamp(data::resample(small, {width, height}, data::Filter::bilinear), 0, 1);
  const Tensor lanczos3 = clamp(data::resample(small, {width, height}, data::Filter::lanczos3), 0, 1);
  const Tensor drawn = field::ImageField::load(argv[2]).render({width, height});
  std::printf("enlarged to %ldx%ld, against the truth:\n", static_cast<long>(width),
              static_cast<long>(height));
  std::printf("  bilinear %.2f dB   Lanczos3 %.2f dB   Veldt %.2f dB\n", train::psnr(bilinear, truth),
              train::psnr(lanczos3, truth), train::psnr(drawn, truth));

  const auto count = static_cast<std::int64_t>(stages.size());
  const std::int64_t large = 360, wide = 4 * (large + 2 * kGap);
  const Tensor top = row_of(stages, wide / count - 2 * kGap, data::Filter::area);
  const Tensor bottom = row_of({detail_of(bilinear), detail_of(lanczos3), detail_of(drawn), detail_of(truth)},
                               large, data::Filter::area);
  const Tensor fill = ones({top.size(0), wide - top.size(1), 1});  // what the division left over
  io::write_image(argv[1], cat({cat({top, fill}, 1), bottom}, 0));
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "contact_sheet: %s\n", e.what());
  return 1;
}
