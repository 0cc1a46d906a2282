// Kernels with races that the search must find.
#include "tests/support/planted_races.h"

namespace veldt::test {
namespace {

int own() { return static_cast<int>(threadIdx.x); }
int of_block() { return own() + 64 * static_cast<int>(blockIdx.x); }

void other_thread(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  data[of_block()] = numbers[63 - own()];
}
void other_thread_behind_a_barrier(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  __syncthreads();
  data[of_block()] = numbers[63 - own()];
}
void written_again(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  __syncthreads();
  data[of_block()] = numbers[63 - own()];
  numbers[own()] = 7;
}
void behind_a_shuffle(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  const int sum = __shfl_xor_sync(gpu::kWholeWarp, own(), 1);
  data[of_block()] = numbers[own() ^ 1] + sum;
}
void behind_a_barrier_of_the_warp(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  __syncwarp();
  data[of_block()] = numbers[own() ^ 1];
}
void of_another_warp(int* data) {
  GPU_SHARED(int, numbers, 64);
  numbers[own()] = own();
  __syncwarp();
  data[of_block()] = numbers[own() ^ 32];
}
void same_element(int* data) {
  GPU_SHARED(int, flag, 1);
  if (own() % 7 == 0) flag[0] = 1;
  __syncthreads();
  data[own()] = flag[0];
}
void neighbouring_bytes(int* data) {
  GPU_SHARED(unsigned char, bytes, 64);
  bytes[own()] = static_cast<unsigned char>(own());
  data[of_block()] = bytes[own()];
}
void blocks_that_meet(int* data) { data[own() + static_cast<int>(blockIdx.x)] = own(); }
void blocks_apart(int* data) { data[of_block()] = own(); }
void atomics(int* data) {
  GPU_SHARED(int, sum, 1);
  if (own() == 0) sum[0] = 0;
  __syncthreads();
  atomicAdd(sum, own());
  atomicAdd(data, own());
  __syncthreads();
  data[1 + of_block()] = sum[0];
}

}  // namespace

const Planted& planted(int i) {
  static const Planted all[kPlanted] = {{"another thread's number, without a barrier", true, 1, other_thread},
                                        {"another thread's number", false, 2, other_thread_behind_a_barrier},
                                        {"written while another reads", true, 1, written_again},
                                        {"a shuffle is no barrier", true, 1, behind_a_shuffle},
                                        {"a number of the warp", false, 2, behind_a_barrier_of_the_warp},
                                        {"a number of another warp", true, 1, of_another_warp},
                                        {"two write the same number", true, 1, same_element},
                                        {"neighbouring bytes", false, 2, neighbouring_bytes},
                                        {"blocks that write the same", true, 2, blocks_that_meet},
                                        {"blocks that write apart", false, 2, blocks_apart},
                                        {"atomics", false, 2, atomics}};
  return all[i];
}

}  // namespace veldt::test
