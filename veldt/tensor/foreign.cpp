// Tensors over the memory of others: a Storage whose Memory only knows how to let go of it.
#include "veldt/tensor/foreign.h"

#include <memory>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"

// The binary interface of DLPack before 1.0, which PyCapsules named "dltensor" hold: dlpack.h at version 0.6
// (https://github.com/dmlc/dlpack). kDLBool is of 0.7.
struct DLManagedTensor {
  void* data = nullptr;
  std::int32_t device_type = 0, device_id = 0;
  std::int32_t rank = 0;
  std::uint8_t code = 0, bits = 0;
  std::uint16_t lanes = 1;
  std::int64_t *shape = nullptr, *strides = nullptr;
  std::uint64_t byte_offset = 0;
  void* context = nullptr;
  void (*deleter)(DLManagedTensor* self) = nullptr;
};

namespace veldt {
namespace {

constexpr std::int32_t kDlpackCpu = 1;

struct DlpackType {
  std::uint8_t code, bits;
  DType dtype;
};
// Codes: 0 signed and 1 unsigned integers, 2 floats, 4 bfloat16, 6 booleans.
constexpr DlpackType kDlpackTypes[] = {{2, 32, DType::f32}, {2, 64, DType::f64}, {4, 16, DType::bf16},
                                       {2, 16, DType::f16}, {0, 64, DType::i64}, {0, 32, DType::i32},
                                       {1, 8, DType::u8},   {0, 8, DType::i8},   {6, 8, DType::boolean}};

// Lives as long as the one Storage that takes from it.
class ForeignMemory final : public Memory {
 public:
  ForeignMemory(void* data, std::function<void(void*)> release) : data_(data), release_(std::move(release)) {}
  void* take(std::size_t, Storage&) override { return data_; }
  void give(void* p, std::size_t, Storage&) noexcept override {
    if (release_) release_(p);
    delete this;
  }

 private:
  void* data_;
  std::function<void(void*)> release_;
};

void check_memory(const void* data, const Shape& shape, const Strides& strides, DType dtype) {
  if (strides.rank() != shape.rank())
    throw ShapeError(str("cannot view memory as ", shape, " by ", strides.rank(), " strides"),
                     str("it has ", shape.rank(), " dimension(s)"), "give one stride for each dimension");
  if (numel(shape) == 0) return;
  for (const std::int64_t stride : strides)
    if (stride < 0)
      throw ShapeError(str("cannot view memory as ", shape, " by the strides ", strides), "one is below 0",
                       "make a copy that runs forward");
  if (data == nullptr)
    throw ShapeError(str("cannot view memory as ", shape), "the pointer is null",
                     "give the first element's address");
  if (reinterpret_cast<std::uintptr_t>(data) % size_of(dtype) != 0)
    throw ShapeError(str("cannot view memory at ", data, " as ", dtype),
                     str("it is no multiple of ", size_of(dtype), " bytes"),
                     "copy it into a Tensor with from()");
}

// What to_dlpack() gives away, and the tensor that keeps the memory.
struct Exported {
  DLManagedTensor managed;
  Tensor tensor;
  Shape shape;
  Strides strides;
};

}  // namespace

Tensor from_blob(void* data, const Shape& shape, const Strides& strides, DType dtype,
                 std::function<void(void*)> release) {
  check_memory(data, shape, strides, dtype);
  if (t_interceptor) t_interceptor->on_transfer("from_blob()");
  const std::size_t bytes = extent_of({data, dtype, shape, strides}).bytes();
  auto owner = std::make_unique<ForeignMemory>(data, std::move(release));
  auto impl = std::allocate_shared<TensorImpl>(SmallAllocator<TensorImpl>());
  impl->storage = std::allocate_shared<Storage>(SmallAllocator<Storage>(), *owner, bytes);
  owner.release();  // the storage gives itself back to it
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = dtype;
  impl->storage->set_label("memory of others");
  return Tensor(std::move(impl));
}

Tensor from_blob(void* data, const Shape& shape, DType dtype, std::function<void(void*)> release) {
  return from_blob(data, shape, contiguous_strides(shape), dtype, std::move(release));
}

DLManagedTensor* to_dlpack(const Tensor& x) {
  const View view = x.view();
  if (x.requires_grad())
    throw Error(str("cannot give away a tensor of ", x.shape(), " that requires a gradient"),
                "the other side would not record what it does", "give x.detach()");
  if (x.device().kind != DeviceKind::cpu)
    throw DeviceError(str("cannot give away memory on ", x.device()), "DLPack is for the CPU here",
                      "move it with to(x, Device{})");
  if (t_interceptor) t_interceptor->on_transfer("to_dlpack()");
  auto out = std::make_unique<Exported>();
  out->tensor = x.alias(x.shape(), x.strides(), 0);
  out->shape = x.shape();
  out->strides = x.strides();
  DLManagedTensor& managed = out->managed;
  managed.data = view.data;
  managed.device_type = kDlpackCpu;
  managed.rank = x.rank();
  for (const DlpackType& type : kDlpackTypes)
    if (type.dtype == x.dtype()) managed.code = type.code, managed.bits = type.bits;
  if (x.rank() > 0) managed.shape = &out->shape[0], managed.strides = &out->strides[0];
  managed.context = out.get();
  managed.deleter = [](DLManagedTensor* self) { delete static_cast<Exported*>(self->context); };
  return &out.release()->managed;
}

Tensor from_dlpack(DLManagedTensor* managed) {
  const DLManagedTensor& m = *managed;
  if (m.device_type != kDlpackCpu)
    throw DeviceError(str("cannot take memory of DLPack's device ", m.device_type),
                      "only the CPU's is taken here", "move it to the CPU first");
  std::optional<DType> dtype;
  for (const DlpackType& type : kDlpackTypes)
    if (m.code == type.code && m.bits == type.bits && m.lanes == 1) dtype = type.dtype;
  if (!dtype)
    throw ShapeError(str("cannot take DLPack's type ", int{m.code}, " of ", int{m.bits}, " bits and ",
                         m.lanes, " lane(s)"),
                     "Veldt has f32, f64, bf16, f16, i64, i32, u8 and booleans",
                     "convert it on the other side");
  const auto rank = static_cast<std::size_t>(m.rank);
  const Shape shape(std::span<const std::int64_t>(m.shape, rank));
  const Strides strides = m.strides == nullptr ? contiguous_strides(shape)
                                               : Strides(std::span<const std::int64_t>(m.strides, rank));
  return from_blob(static_cast<char*>(m.data) + m.byte_offset, shape, strides, *dtype, [managed](void*) {
    if (managed->deleter != nullptr) managed->deleter(managed);
  });
}

}  // namespace veldt
