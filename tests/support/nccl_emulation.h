// A twin of NCCL for ranks that are threads of one process with the emulated device: the functions that Veldt
// calls, with their order and their errors.
#pragma once

#include <cstdint>

namespace veldt::gpu::emulation {

// refuses: as NCCL does where two processes share a GPU.
enum class NcclState { works, missing, refuses };
void set_nccl(NcclState state);
// As if a rank's process had ended: whoever asks is told of an error.
void end_nccl_groups();
// Messages that have arrived since the last call.
std::uint64_t take_nccl_messages();

}  // namespace veldt::gpu::emulation
