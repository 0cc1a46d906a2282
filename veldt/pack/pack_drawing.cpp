// A tensor's pixels for the codec.
#include "veldt/pack/pack_drawing.h"

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"

namespace veldt::pack {

std::string pack_drawing(const Tensor& picture, FunctionRef<void(double)> heard) {
  if (picture.rank() != 3 || picture.dtype() != DType::u8)
    throw ShapeError(str("cannot pack a tensor of shape ", picture.shape()),
                     "a picture is u8 [height, width, channels]", "read it with keep_bytes");
  const Tensor host = contiguous(picture);
  return write_exactly(codec::drawing_of({host.data<std::uint8_t>(), static_cast<std::size_t>(host.numel())},
                                         {picture.size(1), picture.size(0)}, picture.size(2)),
                       heard);
}

}  // namespace veldt::pack
