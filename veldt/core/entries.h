// The facts of each entry of the waist, from the list in core/entries.inc.
// Tests: tests/core/entries_test.cpp
#pragma once

#include <cstdint>
#include <string>

#include "veldt/core/dtype.h"

namespace veldt {

enum class Entry : std::uint8_t {
#define VELDT_ENTRY(name, ...) name,
#define VELDT_ANSWER(result, name, ...) name,
#include "veldt/core/entries.inc"
};

// A set of dtypes.
struct DTypes {
  std::uint32_t bits = 0;

  constexpr bool has(DType t) const { return (bits >> static_cast<int>(t) & 1) != 0; }
  template <class... T> constexpr DTypes with(T... more) const {
    return {(bits | ... | (1u << static_cast<int>(more)))};
  }
};
inline constexpr DTypes kAnyDType{0x1FF};
inline constexpr DTypes kF32F64 = DTypes{}.with(DType::f32, DType::f64);
inline constexpr DTypes kFloats = kF32F64.with(DType::bf16, DType::f16);
// "f32 and f64"
std::string text_of(DTypes);

// A set of a call's views.
template <class... Index> constexpr std::uint32_t views(Index... index) { return (0u | ... | (1u << index)); }

struct EntryFacts {
  const char* name;
  std::uint32_t writes = 0;  // the views it writes; for a call with a list of views, its step defines them
  bool updates = false;      // it reads what it writes, or leaves parts unchanged; else it fills them
  int typed = 0;             // the view whose dtype must be one of `dtypes`, which also define the others
  DTypes dtypes = kAnyDType;
};

inline constexpr EntryFacts kEntryFacts[] = {
#define VELDT_ENTRY(entry, parameters, flops, ...) {.name = #entry __VA_OPT__(, ) __VA_ARGS__},
#define VELDT_ANSWER(result, entry, parameters, ...) {.name = #entry __VA_OPT__(, ) __VA_ARGS__},
#include "veldt/core/entries.inc"
};
constexpr const EntryFacts& facts_of(Entry entry) { return kEntryFacts[static_cast<int>(entry)]; }

// Throws NoKernel: `device` has no kernel of `what` ("lstm", or a formula's "atan2") for a dtype.
[[noreturn]] void refuse_dtype(const char* device, const char* what, DType given, DTypes taken);

// The same for an entry that reads one dtype and writes another.
[[noreturn]] void refuse_dtypes(const char* device, const char* what, DType from, DType to);

}  // namespace veldt
