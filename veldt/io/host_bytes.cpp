// Gathers a tensor's elements in row-major order in host memory, or points to them if they are already stored
// that way.
#include "veldt/io/host_bytes.h"

namespace veldt::io {

HostBytes::HostBytes(const Tensor& tensor) : packed_(tensor.detach()) {
  if (!packed_.is_contiguous()) {
    packed_ = empty(tensor.shape(), tensor);
    packed_.assign(tensor.detach());
  }
  size_ = static_cast<std::size_t>(packed_.numel()) * size_of(packed_.dtype());
  data_ = packed_.view().data;
  if (packed_.device().kind == DeviceKind::cpu) return;
  copy_.resize(size_);
  kernels(packed_).download(copy_.data(), data_, size_);
  data_ = copy_.data();
}

}  // namespace veldt::io
