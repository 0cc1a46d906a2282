// Gather, scatter-add and scatter on the emulated device against the CPU's: the same bits, for all dtypes and
// for rows that are moved in units of every size.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/both_devices.h"
#include "tests/support/error_of.h"
#include "veldt/core/error.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/impl.h"

namespace veldt::test {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                             DType::i32, DType::u8,  DType::i8,   DType::boolean};

class CudaGather : public testing::Test {
 protected:
  static void SetUpTestSuite() { use_emulated_device(); }
  ~CudaGather() override { gpu::emulation::set_order(gpu::emulation::Order::forward); }
};

void expect_equal(const Both& out, const std::string& what) {
  const Tensor got = from_device(out.there);
  ASSERT_EQ(gpu::emulation::take_fault(), "") << what;
  EXPECT_EQ(read(got).v, read(out.here).v) << what;
  // Nothing else was written either.
  const Storage &a = *got.impl()->storage, &b = *out.here.impl()->storage;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), std::min(a.bytes(), b.bytes())), 0) << what;
}

// Whole numbers for the whole dtypes, and halves exactly.
Values drawn_numbers(const Shape& shape, DType dtype, Rng& rng) {
  if (dtype == DType::f32 || dtype == DType::f64) return uniform(shape, rng);
  Values out = uniform(shape, rng, 0, dtype == DType::boolean ? 2 : 100);
  for (double& v : out.v) v = static_cast<double>(static_cast<int>(v));
  return out;
}

struct Case {
  Shape table, index;
  int dim;
  Shape repeated = {};  // dimensions along which the index has stride 0
  Layout layout = Layout::contiguous;
  DType dtype = DType::f32;
};

Tensor index_of_case(const Case& c, Rng& rng) {
  Shape shape = c.index;
  for (const std::int64_t d : c.repeated) shape[static_cast<int>(d)] = 1;
  Values values = uniform(shape, rng, 0, static_cast<double>(c.table[c.dim]));
  for (double& v : values.v) v = static_cast<double>(static_cast<std::int64_t>(v));
  const Tensor base = write(values, DType::i64);
  Strides strides = base.strides();
  for (const std::int64_t d : c.repeated) strides[static_cast<int>(d)] = 0;
  return base.alias(c.index, strides, 0);
}

enum class Entry { gather, scatter, scatter_add };
void expect(Entry entry, const Case& c) {
  Rng rng(5);
  const Both table(lay_out(drawn_numbers(c.table, c.dtype, rng), c.dtype, c.layout));
  const Both rows(lay_out(drawn_numbers(c.index, c.dtype, rng), c.dtype, c.layout)),
      index(index_of_case(c, rng));
  const auto run = [&](const Backend& b, const Tensor& t, const Tensor& i, const Tensor& r) {
    if (entry == Entry::gather) b.gather(t.view(), c.dim, i.view(), r.view());
    if (entry == Entry::scatter) b.scatter(r.view(), c.dim, i.view(), t.view());
    if (entry == Entry::scatter_add) b.scatter_add(r.view(), c.dim, i.view(), t.view());
  };
  run(backend(Device{}), table.here, index.here, rows.here);
  run(backend(kEmulated), table.there, index.there, rows.there);
  expect_equal(entry == Entry::gather ? rows : table,
               str(c.table, " by ", c.index, " along ", c.dim, ", ", c.dtype, ", ", name_of(c.layout)));
}

// Dimensions of all ranks, repeated and not; the tables are small, so that places are named often.
const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {{5}, {1}, 0},
      {{1}, {9}, 0},
      {{5}, {0}, 0},
      {{7}, {300}, 0},
      {{3, 4}, {5, 4}, 0},
      {{4, 3}, {4, 9}, 1},
      {{5, 6, 7}, {5, 11, 7}, 1},
      {{5, 6, 7}, {9, 6, 7}, 0},
      {{6, 8}, {40, 8}, 0, {1}},
      {{6, 7}, {40, 7}, 0, {1}},
      {{6, 3, 4}, {20, 3, 4}, 0, {1, 2}},
      {{6, 3, 4}, {20, 3, 4}, 0, {2}},
      {{2, 6, 4}, {2, 20, 4}, 1, {0, 2}},
      {{2, 6, 4}, {2, 20, 4}, 1, {0}},
      {{3, 5}, {3, 12}, 1, {0}},
      {{6, 4, 1}, {7, 4, 1}, 0, {1}},
      {{4, 2, 3}, {3, 2, 3}, 0, {0, 1, 2}},
  };
  return list;
}

void expect_all(Entry entry, DType dtype, const std::vector<Layout>& layouts = own_memory_layouts()) {
  for (Case c : cases())
    for (const Layout layout : layouts) {
      c.dtype = dtype;
      c.layout = layout;
      expect(entry, c);
    }
}

TEST_F(CudaGather, PicksWhatTheCpuPicks) {
  for (const DType dtype : kDTypes) expect_all(Entry::gather, dtype);
}

TEST_F(CudaGather, MovesRowsInUnitsOfEverySize) {
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::f64})
    for (const std::int64_t columns : {1, 2, 3, 4, 6, 8, 12, 16, 40})
      for (const Layout layout : own_memory_layouts()) {
        const Case c = {{6, columns}, {11, columns}, 0, {1}, layout, dtype};
        expect(Entry::gather, c);
        expect(Entry::scatter, c);
      }
}

TEST_F(CudaGather, OfSeveralWritesTheLastStays) {
  for (const DType dtype : kDTypes) expect_all(Entry::scatter, dtype);
}

TEST_F(CudaGather, AddsInTheOrderOfTheCpu) {
  expect_all(Entry::scatter_add, DType::f32);
  for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::u8})
    expect_all(Entry::scatter_add, dtype, {Layout::contiguous});
}

TEST_F(CudaGather, AddsToManyPlaces) {
  expect(Entry::scatter_add, {{300}, {2000}, 0});    // two digits
  expect(Entry::scatter_add, {{70000}, {1500}, 0});  // three
  expect(Entry::scatter_add, {{400, 6}, {900, 6}, 0, {1}});
  expect(Entry::scatter_add, {{90, 40}, {150, 40}, 0});
}

TEST_F(CudaGather, NeedsNoOrderOfItsThreads) {
  using gpu::emulation::Order;
  for (const Order order : {Order::reverse, Order::shuffled}) {
    gpu::emulation::set_order(order);
    for (const Entry entry : {Entry::scatter, Entry::scatter_add}) {
      expect(entry, {{300}, {2000}, 0});
      expect(entry, {{5, 6, 7}, {5, 30, 7}, 1});
      expect(entry, {{6, 8}, {400, 8}, 0, {1}});
    }
  }
}

TEST_F(CudaGather, RefusesToAddHalves) {
  const Tensor x = onto_device(write({{2}, {1, 2}}, DType::bf16)),
               i = onto_device(write({{2}, {0, 1}}, DType::i64));
  const std::string said =
      error_of<DeviceError>([&] { backend(kEmulated).scatter_add(x.view(), 0, i.view(), x.view()); });
  EXPECT_NE(said.find("there is no kernel of scatter_add for bf16 on cuda"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
