// The waist of the house. A Backend is memory and one function per op family, over Views: the entries of
// core/entries.inc. It does not know tensors and gradients. All checks (shapes, devices) happen above it, in
// ops/; a backend throws NoKernel for a dtype that an entry does not support. It may start small: only the
// five memory functions are required.
// Tests: tests/core/entries_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "veldt/core/device.h"
#include "veldt/core/entries.h"
#include "veldt/core/view.h"

namespace veldt {

// The constants of an elementwise op, such as omega of sine(x) = sin(omega x) or the bounds of clamp.
struct Scalars {
  double a = 0, b = 0;
};

// norm: the root of the sum of squares, only of floats.
enum class ReduceOp : std::uint8_t { sum, mean, prod, max, min, norm };
enum class RandomKind : std::uint8_t { uniform, normal, word, permutation };

// Element i of floats: first + span i / parts; of integers whole_first + whole_step i.
struct Ramp {
  double first = 0, span = 1, parts = 1;
  std::int64_t whole_first = 0, whole_step = 1;
};

struct DeviceSteps;     // core/device_steps.h
struct OptimizerStep;   // core/optimizer_step.h
struct MlpStep;         // core/mlp.h
struct GridLayout;      // core/grid.h
struct GridDerivative;  // core/grid.h
struct ConvLayout;      // core/convolution.h
struct FrozenConv;      // core/convolution.h
struct QuantizedConv;   // core/quantized.h
enum class ConvPart : std::uint8_t;
struct PoolLayout;  // core/pooling.h

struct Backend {
  Device device;

  // Memory, 64-byte aligned. allocate throws OutOfMemory.
  void* (*allocate)(std::size_t bytes);
  void (*deallocate)(void* p, std::size_t bytes);
  void (*upload)(void* to_device, const void* from_host, std::size_t bytes);
  void (*download)(void* to_host, const void* from_device, std::size_t bytes);
  void (*synchronize)();

  // All that follows may be null.

  // The name of formula `op` of an elementwise entry (unary, unary_slope, binary, ternary or compare), such
  // as "tanh"; null after the last. A backend that has this must use the cpu's order.
  const char* (*formula_name)(Entry entry, int op) = nullptr;
  // Whether matmul takes this dtype for a product [m, n]: f32 and f64 always; only these if null.
  bool (*multiplies)(DType, std::int64_t m, std::int64_t n) = nullptr;
  // The bytes of workspace that a call of mlp over n rows takes; 0 if this backend has no such kernel (bf16
  // on a processor that cannot multiply it), and if null.
  std::size_t (*mlp_workspace)(const MlpStep&, std::int64_t n, bool wants_dx) = nullptr;
  // Whether convolve_frozen is faster here than convolve, and may be called.
  bool (*freezes_convolutions)() = nullptr;
  // Whether convolve_quantized and multiply_narrow are there. Null: no.
  bool (*multiplies_integers)() = nullptr;
  // Whether lstm_quantized is. Null: no.
  bool (*steps_integers)() = nullptr;
  // Steps that it records and replays by itself.
  const DeviceSteps* steps = nullptr;
  // Free bytes of the device's memory.
  std::size_t (*free_bytes)() = nullptr;
  // Sets the function that it calls if a kernel's own allocation fails, before it tries again: tensors' pools
  // may hold free blocks.
  void (*on_full)(void (*make_room)()) = nullptr;

  // One function for each entry of the list. Null: it has none, and a call throws NoKernel, or is done by the
  // cpu if the program allows that (tensor/fallback.h).
#define VELDT_ENTRY(name, parameters, ...) void(*name) parameters = nullptr;
#define VELDT_ANSWER(result, name, parameters, ...) result(*name) parameters = nullptr;
#include "veldt/core/entries.inc"
};

}  // namespace veldt
