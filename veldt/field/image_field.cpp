// Loads a field that is a picture, and draws it at any size.
#include "veldt/field/image_field.h"

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::field {

ImageField::ImageField(const Field& field) : Field(field) {
  if (options().is_sound())
    throw ConfigError("a sound cannot be drawn as a picture", "the field was fitted to a sound",
                      "use a SoundField");
}

ImageField ImageField::load(const std::string& path) {
  const Field field = Field::load(path);
  if (field.options().is_sound())
    throw IoError(IoError::Kind::malformed, str(path, " is not an image field"), "it holds a sound",
                  "give a model that was fitted to a picture");
  return ImageField(field);
}

Tensor ImageField::render(Size size, const RenderOptions& how) const {
  const std::int64_t width = size.width, height = size.height;
  samples_a_pixel(size, how);  // refuses invalid sizes before memory is allocated
  const Tensor picture = empty({height, width, options().channels}, DType::f32);
  render_bands(size, how, [&](const Tensor& rows, std::int64_t first) {
    slice(picture, 0, first, first + rows.size(0)).assign(rows);
    return true;
  });
  return picture;
}

}  // namespace veldt::field
