// Opening a device and its memory, as the backend's table needs it.
// Tests: tests/cuda/runtime_test.cpp
#pragma once

#include <cstddef>

#include "veldt/core/backend.h"
#include "veldt/core/device_plugin.h"

namespace veldt::cuda {

// How many devices the driver shows. Throws DeviceError that says why there is none.
int device_count();
// Makes `index` the device of this process. Throws DeviceError if it cannot be used, or another already is.
void open_device(int index);
DeviceFacts device_facts(int index);
std::size_t free_bytes();

// DeviceSteps.
void* make_steps(const View* result);
void begin_steps(void* steps, StepMode mode);
void step_done(void* steps);
void changing(void* steps, bool on);
void end_steps(void* steps, bool complete);
void launch_steps(void* steps, const View* results);
void destroy_steps(void* steps);

// Memory that a kernel needs for itself: where there is none, after the tensors' pool has made room.
void* allocate_scratch(std::size_t bytes);
// Of Scratch: in a captured step, places in memory that was taken before (steps.cu).
void* take_scratch(std::size_t bytes);
void give_scratch(void* p);
void on_full(void (*make_room)());
// Has the tensors' pool give back what it keeps; false while nothing may wait.
bool make_room();

void* allocate(std::size_t bytes);
void deallocate(void* p, std::size_t bytes);
void upload(void* to_device, const void* from_host, std::size_t bytes);
void download(void* to_host, const void* from_device, std::size_t bytes);
void synchronize();

}  // namespace veldt::cuda
