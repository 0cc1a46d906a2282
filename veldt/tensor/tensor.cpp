// Handles: making, viewing and reading tensors.
#include "veldt/tensor/tensor.h"

#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"

namespace veldt {
namespace {

TensorImpl& need(const Tensor& t, const char* what) {
  if (!t.defined())
    throw Error(str("cannot take the ", what, " of an undefined tensor"), "it was never given a value",
                "assign it the result of an op first");
  return *t.impl();
}

bool can_hold_gradient(DType t) { return is_float(t); }

// x itself if it is contiguous, else a copy that is.
Tensor packed(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const Tensor copy = empty(x.shape(), x);
  kernels(x).copy(x.view(), copy.view());
  return copy;
}

// Both have one shape; the copy goes through the host, and dtypes and strides are converted on either side.
void copy_between_devices(const Tensor& source, const Tensor& target) {
  const Tensor from = packed(source);
  const bool direct = from.dtype() == target.dtype() && target.is_contiguous();
  const Tensor landing = direct ? target : empty(target.shape(), from.dtype(), target.device());
  const std::size_t bytes = static_cast<std::size_t>(from.numel()) * size_of(from.dtype());
  const auto on_host = [](const Tensor& t) { return t.device().kind == DeviceKind::cpu; };
  if (on_host(from)) {
    kernels(landing).upload(landing.view().data, from.view().data, bytes);
  } else if (on_host(landing)) {
    kernels(from).download(landing.view().data, from.view().data, bytes);
  } else {
    const std::unique_ptr<unsigned char[]> host(new unsigned char[bytes]);
    kernels(from).download(host.get(), from.view().data, bytes);
    kernels(landing).upload(landing.view().data, host.get(), bytes);
  }
  if (!direct) kernels(target).copy(landing.view(), target.view());
}

}  // namespace

const Shape& Tensor::shape() const { return need(*this, "shape").shape; }
const Strides& Tensor::strides() const { return need(*this, "strides").strides; }
std::int64_t Tensor::size(int dim) const { return shape()[wrap_dim(dim, rank(), "size")]; }
std::int64_t Tensor::numel() const { return veldt::numel(shape()); }
DType Tensor::dtype() const { return need(*this, "dtype").dtype; }
Device Tensor::device() const { return need(*this, "device").device; }
bool Tensor::is_contiguous() const { return veldt::is_contiguous(shape(), strides()); }

View Tensor::view() const {
  const TensorImpl& t = need(*this, "memory");
  if (t_interceptor) t_interceptor->on_view(t.storage);
  char* base = static_cast<char*>(t.storage->data());
  return {base + t.offset * static_cast<std::int64_t>(size_of(t.dtype)), t.dtype, t.shape, t.strides};
}

Tensor empty(const Shape& shape, DType dtype, Device device) {
  const std::int64_t n = numel(shape);
  // Today's processors address 2^47 bytes.
  if (n > (std::int64_t{1} << 47) / static_cast<std::int64_t>(size_of(dtype)))
    throw OutOfMemory(str("cannot allocate a tensor of ", dtype, ' ', shape), "it is larger than 2^47 bytes",
                      "check the sizes; if they came from a file, the file is damaged");
  auto impl = std::allocate_shared<TensorImpl>(SmallAllocator<TensorImpl>());
  impl->storage = std::allocate_shared<Storage>(SmallAllocator<Storage>(), memory(device),
                                                static_cast<std::size_t>(n) * size_of(dtype));
  impl->shape = shape;
  impl->strides = contiguous_strides(shape);
  impl->dtype = dtype;
  impl->device = device;
  return Tensor(std::move(impl));
}

Tensor empty(const Shape& shape, const Tensor& like) { return empty(shape, like.dtype(), like.device()); }

const Backend& kernels(const Tensor& t) { return backend(t.device()); }

template <class T> Tensor Tensor::from(const Shape& shape, std::span<const T> values, Device device) {
  if (veldt::numel(shape) != static_cast<std::int64_t>(values.size()))
    throw ShapeError(str("cannot fill a tensor of shape ", shape, " with ", values.size(), " values"),
                     str("the shape holds ", veldt::numel(shape)), "give one value for each element");
  if (t_interceptor) t_interceptor->on_transfer("Tensor::from()");
  Tensor out = empty(shape, dtype_of<T>, device);
  kernels(out).upload(out.view().data, values.data(), values.size_bytes());
  return out;
}

Tensor Tensor::from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> bytes, Device device) {
  const Tensor out = empty(shape, dtype, device);
  const std::size_t wanted = static_cast<std::size_t>(out.numel()) * size_of(dtype);
  if (bytes.size() != wanted)
    throw ShapeError(str("cannot fill a tensor of ", dtype, ' ', shape, " with ", bytes.size(), " bytes"),
                     str("it holds ", wanted), "give the bytes of each element");
  if (dtype == DType::boolean)
    for (const std::byte byte : bytes)
      if (byte > std::byte{1})
        throw ShapeError(str("cannot take the byte ", std::to_integer<int>(byte), " as a boolean"),
                         "it is neither 0 nor 1", "compare first, for example byte != 0");
  if (t_interceptor) t_interceptor->on_transfer("Tensor::from_bytes()");
  kernels(out).upload(out.view().data, bytes.data(), bytes.size());
  return out;
}

Tensor Tensor::of(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  const Tensor wide = from<double>(shape, std::span<const double>(values.begin(), values.size()));
  if (dtype == DType::f64) return wide;
  Tensor out = empty(shape, dtype);
  out.assign(wide);
  return out;
}

template <class T> T Tensor::item() const {
  if (numel() != 1)
    throw ShapeError(str("item() needs one element, the tensor is ", shape()), str("it has ", numel()),
                     "reduce it first, with sum() or mean()");
  if (t_interceptor) t_interceptor->on_transfer("item()", this);
  Tensor as = empty(shape(), dtype_of<T>, device());
  as.assign(detach());
  return as.values<T>()[0];
}

template <class T> std::vector<T> Tensor::values() const {
  if (dtype() != dtype_of<T>)
    throw DeviceError(str("cannot read a tensor of ", dtype(), " as ", dtype_of<T>), "the types differ",
                      str("convert it first: to(x, DType::", dtype_of<T>, ")"));
  if (t_interceptor) t_interceptor->on_transfer("values()", this);
  Tensor packed = *this;
  if (!is_contiguous()) {
    packed = empty(shape(), *this);
    packed.assign(detach());
  }
  const auto n = static_cast<std::size_t>(numel());
  std::unique_ptr<T[]> host(new T[n]);  // std::vector<bool> has no memory of its own to copy into
  kernels(packed).download(host.get(), packed.view().data, n * sizeof(T));
  return std::vector<T>(host.get(), host.get() + n);
}

std::vector<std::byte> Tensor::bytes() const {
  if (t_interceptor) t_interceptor->on_transfer("bytes()", this);
  const Tensor rows = packed(*this);
  std::vector<std::byte> host(static_cast<std::size_t>(numel()) * size_of(dtype()));
  kernels(rows).download(host.data(), rows.view().data, host.size());
  return host;
}

template <class T> T* Tensor::data() const {
  if (dtype() != dtype_of<T> || device().kind != DeviceKind::cpu)
    throw DeviceError(str("cannot point into a tensor of ", dtype(), " on ", device(), " as ", dtype_of<T>),
                      "the dtype or the device differs", "convert it with to(), or use values()");
  if (t_interceptor) t_interceptor->on_transfer("data()");
  return view().as<T>();
}

void Tensor::assign(const Tensor& source) {
  TensorImpl& t = need(*this, "memory");
  if (t.node && grad_enabled())
    throw Error("cannot assign into the result of an op", "a gradient flows through it",
                "make a new tensor by where(), cat() or stack(), or do so within a NoGrad");
  if (t.shape != source.shape())
    throw ShapeError(str("cannot assign ", source.shape(), " into ", t.shape), "the shapes differ",
                     "reshape or expand the source");
  Tensor from = source;
  // Two storages may be of one memory: from_blob() of others'.
  if (source.impl()->storage == t.storage ||
      (source.device() == t.device && extent_of(source.view()).overlaps(extent_of(view())))) {
    // Kernels must not overwrite what they still have to read.
    from = empty(t.shape, source);
    kernels(*this).copy(source.view(), from.view());
  }
  if (source.device() != t.device) {
    copy_between_devices(source, *this);
  } else {
    kernels(*this).copy(from.view(), view());
  }
  t.storage->bump_version();
}

bool Tensor::is_replaceable() const {
  const TensorImpl& t = need(*this, "memory");
  if (impl_.use_count() > 1) return false;
  if (!t.node) return t.storage.use_count() == 1;
  return std::none_of(t.node->inputs.begin(), t.node->inputs.end(), [&](const Input& in) {
    return in.tensor.defined() && in.tensor.impl_->storage == t.storage && in.tensor.impl_.use_count() > 1;
  });
}

bool Tensor::is_shared() const {
  const TensorImpl& t = need(*this, "memory");
  return impl_.use_count() > 1 || t.storage.use_count() > 1;
}

bool Tensor::is_leaf() const { return !need(*this, "gradient").node; }
bool Tensor::requires_grad() const { return defined() && impl_->requires_grad; }

Tensor& Tensor::set_requires_grad(bool on) {
  TensorImpl& t = need(*this, "gradient");
  if (t.node)
    throw Error("cannot change requires_grad of the result of an op", "only leaves can be switched",
                "use detach() to cut a result off the graph");
  if (on && !can_hold_gradient(t.dtype))
    throw Error(str("a tensor of ", t.dtype, " cannot require a gradient"), "only floating point dtypes can",
                "convert it to f32 or f64");
  t.requires_grad = on;
  return *this;
}

Tensor Tensor::grad() const {
  const TensorImpl& t = need(*this, "gradient");
  return t.grad_stale ? Tensor() : t.grad;
}

void Tensor::set_grad(const Tensor& gradient) {
  TensorImpl& t = need(*this, "gradient");
  if (gradient.defined() && gradient.shape() != t.shape)
    throw ShapeError(str("cannot give a gradient of ", gradient.shape(), " to a tensor of ", t.shape),
                     "the shapes differ", "give one number for each element");
  if (gradient.defined() && (gradient.dtype() != t.dtype || gradient.device() != t.device))
    throw ShapeError(str("cannot give a gradient of ", gradient.dtype(), " on ", gradient.device(),
                         " to a tensor of ", t.dtype, " on ", t.device),
                     "dtype or device differ", "convert the gradient with to()");
  // A copy: backward() adds to it in place, and gradients may share memory or repeat one number by a stride
  // of 0.
  if (gradient.defined()) {
    const Tensor own = empty(t.shape, t.dtype, t.device);
    kernels(own).copy(gradient.view(), own.view());
    keep_grad_in(*this, own);
  } else {
    t.grad = Tensor();
    t.grad_stale = false;
  }
}

void Tensor::zero_grad() {
  TensorImpl& t = need(*this, "gradient");
  if (t_interceptor) t_interceptor->on_zero_grad(*this);
  if (t.grad.defined() && t.grad.impl()->node) t.grad = Tensor();  // its graph may hold this very leaf
  t.grad_stale = t.grad.defined();
}

Tensor Tensor::detach() const {
  const TensorImpl& t = need(*this, "values");
  Tensor out = alias(t.shape, t.strides, 0);
  mark_cut(out, *this, "detach");
  return out;
}

Tensor Tensor::alias(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  const TensorImpl& t = need(*this, "memory");
  auto impl = std::allocate_shared<TensorImpl>(SmallAllocator<TensorImpl>());
  impl->storage = t.storage;
  impl->offset = t.offset + offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = t.dtype;
  impl->device = t.device;
  return Tensor(std::move(impl));
}

void move_into_slab(Tensor& leaf, const Tensor& slab, std::int64_t offset) {
  const Tensor place = slab.alias(leaf.shape(), contiguous_strides(leaf.shape()), offset);
  kernels(leaf).copy(leaf.view(), place.view());
  replace_values(leaf, place);
}

void keep_grad_in(Tensor& leaf, const Tensor& memory) {
  TensorImpl& t = need(leaf, "gradient");
  t.grad = memory;
  t.grad_stale = false;
}

void replace_values(Tensor& leaf, const Tensor& values) {
  TensorImpl& to = need(leaf, "memory");
  const TensorImpl& from = need(values, "memory");
  if (to.node)
    throw Error("cannot give new values to the result of an op", "a gradient flows through it", "use a leaf");
  if (to.shape != from.shape || to.dtype != from.dtype || to.device != from.device) {
    to.grad = Tensor();  // it no longer fits
    to.grad_stale = false;
  }
  to.storage = from.storage;
  to.offset = from.offset;
  to.shape = from.shape;
  to.strides = from.strides;
  to.dtype = from.dtype;
  to.device = from.device;
}

template Tensor Tensor::from<float>(const Shape&, std::span<const float>, Device);
template Tensor Tensor::from<double>(const Shape&, std::span<const double>, Device);
template Tensor Tensor::from<std::int64_t>(const Shape&, std::span<const std::int64_t>, Device);
template Tensor Tensor::from<std::int32_t>(const Shape&, std::span<const std::int32_t>, Device);
template Tensor Tensor::from<std::uint8_t>(const Shape&, std::span<const std::uint8_t>, Device);
template Tensor Tensor::from<std::int8_t>(const Shape&, std::span<const std::int8_t>, Device);
template Tensor Tensor::from<bool>(const Shape&, std::span<const bool>, Device);
template std::vector<float> Tensor::values<float>() const;
template std::vector<double> Tensor::values<double>() const;
template std::vector<std::int64_t> Tensor::values<std::int64_t>() const;
template std::vector<std::int32_t> Tensor::values<std::int32_t>() const;
template std::vector<std::uint8_t> Tensor::values<std::uint8_t>() const;
template std::vector<std::int8_t> Tensor::values<std::int8_t>() const;
template std::vector<bool> Tensor::values<bool>() const;
template float Tensor::item<float>() const;
template double Tensor::item<double>() const;
template std::int64_t Tensor::item<std::int64_t>() const;
template std::int32_t Tensor::item<std::int32_t>() const;
template std::uint8_t Tensor::item<std::uint8_t>() const;
template std::int8_t Tensor::item<std::int8_t>() const;
template bool Tensor::item<bool>() const;
template float* Tensor::data<float>() const;
template double* Tensor::data<double>() const;
template std::int64_t* Tensor::data<std::int64_t>() const;
template std::int32_t* Tensor::data<std::int32_t>() const;
template std::uint8_t* Tensor::data<std::uint8_t>() const;
template std::int8_t* Tensor::data<std::int8_t>() const;
template bool* Tensor::data<bool>() const;

}  // namespace veldt
