// The list of the waist, and what is made from it.
#include "veldt/core/entries.h"

#include <gmock/gmock.h>

#include <tuple>
#include <type_traits>

#include "tests/support/error_of.h"
#include "veldt/core/backend.h"
#include "veldt/core/convolution.h"
#include "veldt/core/error.h"
#include "veldt/core/grid.h"
#include "veldt/core/guarded.h"
#include "veldt/core/mlp.h"
#include "veldt/core/quantized.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/pooling.h"

namespace veldt::test {
namespace {

using testing::HasSubstr;

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                          DType::i32, DType::u8,  DType::i8,   DType::boolean};
constexpr char kDevice[] = "a device";

// A kernel that counts its calls.
int g_calls = 0;
template <class Member> struct Counting;
template <class Result, class... Args> struct Counting<Result (*Backend::*)(Args...)> {
  static Result call(Args...) {
    ++g_calls;
    return Result();
  }
};

// Some value of each parameter's type, with views of the dtype.
template <class T> T some(const View& view) {
  if constexpr (std::is_same_v<T, const View&>) {
    return view;
  } else if constexpr (std::is_same_v<T, const View*>) {
    return &view;
  } else {
    static std::remove_cvref_t<T> value{};
    return value;
  }
}
template <class Result, class... Args> void call(Result (*function)(Args...), DType dtype) {
  View view;
  view.dtype = dtype;
  function(some<Args>(view)...);
}

template <Entry entry, auto guarded_kernel> void expect_refusals() {
  const EntryFacts& facts = facts_of(entry);
  SCOPED_TRACE(facts.name);
  for (const DType t : kAll) {
    g_calls = 0;
    if (facts.dtypes.has(t)) {
      call(guarded_kernel, t);
      EXPECT_EQ(g_calls, 1) << t;
    } else {
      const std::string said = error_of<NoKernel>([&] { call(guarded_kernel, t); });
      EXPECT_EQ(g_calls, 0) << t;
      EXPECT_THAT(said, HasSubstr(str("no kernel of ", facts.name, " for ", t, " on a device")));
      EXPECT_THAT(said, HasSubstr(text_of(facts.dtypes)));
    }
  }
}

TEST(Entries, RefuseTheDtypesThatTheyDoNotTake) {
#define VELDT_ENTRY(name, ...) \
  expect_refusals<Entry::name, guarded<kDevice, Entry::name, Counting<decltype(&Backend::name)>::call>>();
#define VELDT_ANSWER(result, name, ...) VELDT_ENTRY(name)
#include "veldt/core/entries.inc"
}

template <class Member> struct CountOfViews;
template <class Result, class... Args> struct CountOfViews<Result (*Backend::*)(Args...)> {
  static constexpr int value =
      (0 + ... + (std::is_same_v<Args, const View&> || std::is_same_v<Args, const View*>));
};

// A view that no call has would be read past the end of its arguments.
template <auto member> void expect_views(const EntryFacts& facts, const char* name) {
  constexpr int count = CountOfViews<decltype(member)>::value;
  EXPECT_LT(facts.typed, count) << name;
  EXPECT_EQ(facts.writes >> count, 0u) << name;
  EXPECT_STREQ(facts.name, name);
}
TEST(Entries, SpeakOfViewsThatTheyHave) {
#define VELDT_ENTRY(entry, ...) expect_views<&Backend::entry>(facts_of(Entry::entry), #entry);
#include "veldt/core/entries.inc"
}

TEST(DTypes, AreNamedInASentence) {
  EXPECT_EQ(text_of(kF32F64), "f32 and f64");
  EXPECT_EQ(text_of(kFloats), "f32, f64, bf16 and f16");
  EXPECT_EQ(text_of(DTypes{}.with(DType::u8)), "u8");
}

}  // namespace
}  // namespace veldt::test
