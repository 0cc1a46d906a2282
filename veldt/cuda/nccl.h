// NCCL, NVIDIA's library for messages between GPUs (NCCL 2.10 and later). It is opened when ranks with GPUs
// want to talk to each other. Its header is not needed: the few functions and numbers below are part of its
// binary interface.
// Tests: tests/cuda/nccl_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "veldt/core/device_links.h"
#include "veldt/cuda/gpu.h"

namespace veldt::cuda {

using NcclStatus = int;  // 0: success
struct NcclGroup;        // ncclComm
struct NcclId {
  char bytes[128];
};
inline constexpr int kNcclBytes = 1;  // ncclUint8

struct Nccl {
  NcclStatus (*version)(int*);
  NcclStatus (*new_id)(NcclId*);
  NcclStatus (*join)(NcclGroup**, int size, NcclId, int rank);
  NcclStatus (*leave)(NcclGroup*);
  NcclStatus (*abort)(NcclGroup*);
  NcclStatus (*state)(NcclGroup*, NcclStatus*);
  const char* (*text)(NcclStatus);
  NcclStatus (*begin)();
  NcclStatus (*end)();
  NcclStatus (*send)(const void*, std::size_t count, int type, int to, NcclGroup*, cudaStream_t);
  NcclStatus (*receive)(void*, std::size_t count, int type, int from, NcclGroup*, cudaStream_t);
};

// Null where there is none, or one that lacks a function; `why` gets what the loader says.
const Nccl* find_nccl(std::string* why = nullptr);

// Of DevicePlugin.
std::string link_library();
std::string new_links_id();
std::unique_ptr<DeviceLinks> open_links(const std::string& id, int rank, int size);

}  // namespace veldt::cuda
