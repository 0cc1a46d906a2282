// Teaches a network a picture as a function of position, saves it, and draws it four times larger.
//   example_image_field [assets/cub_grey.png]
// Writes image_field.safetensors and image_field.png: the picture by Lanczos3, and as the network draws it.
#include <cstdio>
#include <string>

#include "veldt/veldt.h"

using namespace veldt;

int main(int argc, char** argv) try {
  const Tensor whole =
      io::read_image(argc > 1 ? argv[1] : "assets/cub_grey.png");                // [height, width, channels]
  const Tensor picture = data::resample(whole, {100, 100}, data::Filter::area);  // small: done in seconds

  // All that is left open is chosen from the picture; a listener hears how it goes.
  const field::FitOptions wishes{.seed = 7, .steps = 800, .width = 48, .depth = 3};
  const field::ImageField field = field::fit(picture, wishes, [](const train::Progress& now) {
    std::fprintf(stderr, "\rstep %4ld  %.1f dB ", static_cast<long>(now.step), now.measure->value);
  });
  field.save("image_field.safetensors");

  // The file alone is enough to draw it again, at any size.
  const field::ImageField loaded = field::ImageField::load("image_field.safetensors");
  const double psnr = train::psnr(loaded.render({100, 100}), picture);
  std::printf("\n%ld numbers draw %ld pixels with %.1f dB\n", static_cast<long>(loaded.parameter_count()),
              static_cast<long>(picture.numel()), psnr);

  const Tensor lanczos = clamp(data::resample(picture, {400, 400}, data::Filter::lanczos3), 0, 1);
  io::write_image("image_field.png", cat({lanczos, loaded.render({400, 400})}, 1));
  return psnr > 30 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "image_field: %s\n", error.what());
  return 2;
}
