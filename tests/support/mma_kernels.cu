// Fragments are filled element by element as the PTX ISA tells it, so that a wrong place gives a wrong
// product.
#include "tests/support/mma_kernels.h"

#include <bit>
#include <cstring>

#include "veldt/cuda/mlp_product-inl.h"

namespace veldt::test {
namespace {

// "a0 .. a7: row = groupID for i of 0, 1, 4, 5, else groupID + 8; column = 2 threadID_in_group + i % 2, 8
// more from a4 on. b0 .. b3: row = 2 threadID_in_group + i % 2, 8 more from b2 on; column = groupID. c0 ..
// c3: row = groupID, 8 more from c2 on; column = 2 threadID_in_group + i % 2."
__global__ void multiply_bf16(MmaOperands* o) {
  const unsigned group = threadIdx.x >> 2, thread = threadIdx.x % 4;
  unsigned a[4] = {}, b[2] = {};
  for (unsigned i = 0; i < 8; ++i) {
    const unsigned row = i % 4 < 2 ? group : group + 8, column = 2 * thread + (i & 1) + (i >= 4 ? 8 : 0);
    a[i / 2] |= (std::bit_cast<unsigned>(o->a[row * 16 + column]) >> 16) << 16 * (i % 2);
  }
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = 2 * thread + (i & 1) + (i >= 2 ? 8 : 0);
    b[i / 2] |= (std::bit_cast<unsigned>(o->b[row * 8 + group]) >> 16) << 16 * (i % 2);
  }
  float d[4] = {1, 1, 1, 1};
  gpu::mma_bf16(d, a, b);
  for (unsigned i = 0; i < 4; ++i) o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)] = d[i];
}

// "a0 .. a3: row = groupID for a0 and a2, else groupID + 8; column = threadID_in_group for a0 and a1, else 4
// more. b0, b1: row = threadID_in_group, 4 more for b1; column = groupID."
__global__ void multiply_tf32(MmaOperands* o) {
  const unsigned group = threadIdx.x >> 2, thread = threadIdx.x % 4;
  unsigned a[4], b[2];
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = i % 2 == 0 ? group : group + 8, column = i < 2 ? thread : thread + 4;
    a[i] = gpu::to_tf32(o->a[row * 8 + column]);
  }
  for (unsigned i = 0; i < 2; ++i) b[i] = gpu::to_tf32(o->b[(thread + 4 * i) * 8 + group]);
  float d[4] = {1, 1, 1, 1};
  gpu::mma_tf32(d, a, b);
  for (unsigned i = 0; i < 4; ++i) o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)] = d[i];
}

__global__ void multiply_f32(MmaOperands* o) {
  using Numbers = cuda::Products<Precision::f32>;
  const auto group = static_cast<unsigned>(cuda::lane_group()),
             thread = static_cast<unsigned>(cuda::lane_in_group());
  const float* const b = o->b;
  GPU_SHARED(float4, shared, 32);
  shared[threadIdx.x] = reinterpret_cast<const float4*>(o->a)[threadIdx.x];
  __syncwarp();
  cuda::Sum d[1];
  for (unsigned i = 0; i < 4; ++i) d[0][i] = o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)];
  const Numbers::Right right = Numbers::right(std::bit_cast<unsigned>(b[thread * 8 + group]),
                                              std::bit_cast<unsigned>(b[(thread + 4) * 8 + group]));
  Numbers::add<1>(d, Numbers::left(reinterpret_cast<const float*>(shared), 8), &right);
  for (unsigned i = 0; i < 4; ++i) o->d[(i < 2 ? group : group + 8) * 8 + 2 * thread + (i & 1)] = d[0][i];
}

// Thread 4 r + c has bytes 4 c .. 4 c + 3 of row r.
__global__ void load(MmaOperands* o) {
  GPU_SHARED(uint4, shared, 32);
  shared[threadIdx.x] = reinterpret_cast<const uint4*>(o->rows)[threadIdx.x];
  __syncwarp();
  unsigned v[4];
  gpu::load_rows(v, shared + threadIdx.x);
  for (unsigned i = 0; i < 4; ++i) {
    std::uint16_t* const to = o->loaded + i * 64 + threadIdx.x * 2;
    to[0] = static_cast<std::uint16_t>(v[i]), to[1] = static_cast<std::uint16_t>(v[i] >> 16);
  }
}

// ".trans: the matrix is loaded in column-major format": thread 4 c + r / 2 has element r % 2 of column c.
__global__ void transpose(MmaOperands* o) {
  GPU_SHARED(uint4, shared, 32);
  shared[threadIdx.x] = reinterpret_cast<const uint4*>(o->rows)[threadIdx.x];
  __syncwarp();
  unsigned v[4];
  gpu::load_transposed(v, shared + threadIdx.x);
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned h = 0; h < 2; ++h)
      o->transposed[i * 64 + threadIdx.x / 4 * 8 + threadIdx.x % 4 * 2 + h] =
          static_cast<std::uint16_t>(v[i] >> 16 * h);
}

__global__ void round(MmaOperands* o) {
  const float x = o->numbers[threadIdx.x];
  o->tf32[threadIdx.x] = gpu::to_tf32(x);
  o->bf16_pairs[threadIdx.x] = gpu::to_bf16_pair(x, -x);
  o->tanh[threadIdx.x] = gpu::fast_tanh(x);
}

const char* run(void (*kernel)(MmaOperands*), MmaOperands* operands) {
  // Host memory that the device can reach.
  static void* memory = nullptr;
  static cudaStream_t stream = nullptr;
  cudaError_t error = cudaSuccess;
  if (stream == nullptr) error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (error == cudaSuccess && memory == nullptr) error = cudaMallocHost(&memory, sizeof *operands);
  if (error == cudaSuccess) {
    std::memcpy(memory, operands, sizeof *operands);
    error = gpu::launch(kernel, 1, 32, 0, stream, static_cast<MmaOperands*>(memory));
  }
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  std::memcpy(operands, memory, sizeof *operands);
  return nullptr;
}

}  // namespace

extern "C" const char* veldt_run_mma(MmaKernel kernel, MmaOperands* operands) {
  switch (kernel) {
    case MmaKernel::multiply_bf16: return run(multiply_bf16, operands);
    case MmaKernel::multiply_tf32: return run(multiply_tf32, operands);
    case MmaKernel::multiply_f32: return run(multiply_f32, operands);
    case MmaKernel::load: return run(load, operands);
    case MmaKernel::transpose: return run(transpose, operands);
    case MmaKernel::round: return run(round, operands);
  }
  return "no such kernel";
}

}  // namespace veldt::test
