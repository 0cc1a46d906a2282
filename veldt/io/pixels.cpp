// Copies a picture's numbers to the host as floats, whatever their dtype and strides.
#include "veldt/io/pixels.h"

namespace veldt::io {
namespace {

Tensor host_floats(const Tensor& image) {
  if (!is_float(image.dtype()))
    throw ShapeError(str("cannot write a picture of ", image.dtype()), "values are 0..1, in a float dtype",
                     "convert it to f32 and divide by its largest level");
  if (image.dtype() == DType::f32 && image.is_contiguous() && image.device().kind == DeviceKind::cpu)
    return image;
  Tensor single = empty(image.shape(), DType::f32, image.device());
  single.assign(image.detach());
  return Tensor::from<float>(image.shape(), single.values<float>());
}

}  // namespace

Pixels host_pixels(const Tensor& image) {
  if (image.rank() != 2 && image.rank() != 3)
    throw ShapeError(str("cannot write ", image.shape(), " as a picture"), str("its rank is ", image.rank()),
                     "give [height, width, channels] or [height, width]");
  Pixels pixels;
  pixels.image = host_floats(image);
  pixels.values = pixels.image.data<float>();
  pixels.height = image.size(0);
  pixels.width = image.size(1);
  pixels.channels = image.rank() == 3 ? image.size(2) : 1;
  return pixels;
}

}  // namespace veldt::io
