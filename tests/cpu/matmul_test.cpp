// Matrix products against a plain loop in double, for the shapes that take different paths and the layouts of
// views.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"
#include "veldt/cpu/gemm.h"

namespace veldt {
namespace {
using test::Array;

template <class T> double product(const View& a, const View& b, const View* bias, const Shape& index) {
  double sum = bias ? static_cast<double>(test::at<T>(*bias, index)) : 0.0;
  for (std::int64_t p = 0; p < a.shape[2]; ++p)
    sum += static_cast<double>(test::at<T>(a, {index[0], index[1], p})) *
           static_cast<double>(test::at<T>(b, {index[0], p, index[2]}));
  return sum;
}

template <class T> void expect_product(const View& a, const View& b, const View* bias, const View& out) {
  cpu::backend().matmul(a, b, bias, out);
  const double tolerance =
      (sizeof(T) == 4 ? 4e-7 : 1e-15) * (4 + std::sqrt(static_cast<double>(a.shape[2])) * 4);
  test::for_each_index(out.shape, [&](const Shape& index) {
    ASSERT_NEAR(static_cast<double>(test::at<T>(out, index)), product<T>(a, b, bias, index), tolerance)
        << a.shape << " x " << b.shape << " at " << index << (bias ? " with bias" : "");
  });
}

// a and b each as they are and as a transposed view, without and with a bias of each form, into a dense
// output and into a transposed one.
template <class T> void expect_products(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k) {
  Array<T> a = Array<T>::random({batch, m, k}, 1), b = Array<T>::random({batch, k, n}, 2);
  Array<T> at = Array<T>::random({batch, k, m}, 3), bt = Array<T>::random({batch, n, k}, 4);
  Array<T> row = Array<T>::random({1, 1, n}, 5), column = Array<T>::random({1, m, 1}, 6);
  View row_bias = test::repeated(test::repeated(row.view(), 0, batch), 1, m);
  View column_bias = test::repeated(test::repeated(column.view(), 0, batch), 2, n);
  for (const View& left : {a.view(), test::transposed(at.view(), 1, 2)})
    for (const View& right : {b.view(), test::transposed(bt.view(), 1, 2)})
      for (const View* bias : {static_cast<const View*>(nullptr), static_cast<const View*>(&row_bias),
                               static_cast<const View*>(&column_bias)}) {
        Array<T> out({batch, m, n}, T(77)), out_t({batch, n, m}, T(77));
        expect_product<T>(left, right, bias, out.view());
        expect_product<T>(left, right, bias, test::transposed(out_t.view(), 1, 2));
      }
}

TEST(Matmul, AgreesWithAPlainLoopOnSmallShapes) {
  for (std::int64_t m : {1, 2, 5, 17})
    for (std::int64_t n : {1, 3, 4, 33})
      for (std::int64_t k : {1, 2, 3, 8, 65}) {
        expect_products<float>(1, m, n, k);
        expect_products<double>(1, m, n, k);
      }
}

TEST(Matmul, AgreesWithAPlainLoopOnProductsOfLists) {
  for (std::int64_t k : {600, 4096, 4097, 70'001}) {
    expect_products<float>(1, 1, 1, k);
    expect_products<double>(1, 1, 1, k);
  }
}

TEST(Matmul, AgreesWithAPlainLoopOnShapesOfNeuralFields) {
  expect_products<float>(1, 300, 128, 2);
  expect_products<float>(1, 300, 1, 128);
  expect_products<float>(1, 300, 3, 130);
  expect_products<float>(1, 300, 2, 127);
  expect_products<float>(1, 128, 2, 300);
  expect_products<float>(1, 3, 130, 300);
  expect_products<float>(1, 100, 64, 70);
}

// The three products of a Linear layer: forward x w^T + bias, dx = dz w, dw = dz^T x.
template <class T> void expect_linear(std::int64_t batch, std::int64_t in, std::int64_t out) {
  Array<T> x = Array<T>::random({1, batch, in}, 7), w = Array<T>::random({1, out, in}, 8);
  Array<T> dz = Array<T>::random({1, batch, out}, 9), bias = Array<T>::random({1, 1, out}, 10);
  Array<T> z({1, batch, out}), dx({1, batch, in}), dw({1, out, in});
  const View rows = test::repeated(bias.view(), 1, batch);
  expect_product<T>(x.view(), test::transposed(w.view(), 1, 2), &rows, z.view());
  expect_product<T>(dz.view(), w.view(), nullptr, dx.view());
  expect_product<T>(test::transposed(dz.view(), 1, 2), x.view(), nullptr, dw.view());
}

TEST(Matmul, AgreesWithAPlainLoopOnLayersWithLargeBatches) {
  expect_products<float>(1, 511, 32, 70);
  expect_products<float>(1, 515, 33, 70);
  expect_products<float>(1, 512, 32, 300);
  expect_linear<float>(515, 70, 33);
  expect_linear<float>(512, 256, 96);
}

TEST(Matmul, AgreesWithAPlainLoopWhereManyTasksShareTheWork) {
  expect_linear<float>(9001, 33, 20);
  expect_linear<float>(9001, 2, 40);
  expect_linear<float>(9001, 40, 1);
  expect_linear<float>(9001, 40, 3);
  expect_linear<double>(9001, 20, 9);
}

TEST(Matmul, MultipliesBatchesAndRepeatsABatchOfStrideZero) {
  expect_products<float>(3, 20, 9, 12);
  expect_products<double>(3, 7, 9, 12);
  expect_products<float>(20, 4, 2, 3);
  Array<float> a = Array<float>::random({1, 20, 30}, 11), b = Array<float>::random({4, 30, 40}, 12);
  Array<float> out({4, 20, 40});
  expect_product<float>(test::repeated(a.view(), 0, 4), b.view(), nullptr, out.view());
}

TEST(Matmul, ReadsOperandsWithoutAUnitStride) {
  Array<float> a = Array<float>::random({2, 40, 60}, 13), b = Array<float>::random({2, 60, 80}, 14);
  Array<float> out({2, 40, 80});
  const View every_second = test::sliced<float>(test::sliced<float>(b.view(), 2, 1, 40, 2), 1, 0, 30, 2);
  expect_product<float>(test::sliced<float>(a.view(), 2, 0, 30, 2), every_second, nullptr,
                        test::sliced<float>(out.view(), 2, 0, 40, 2));
  // One row repeated along m, and one value along both of b's dimensions.
  expect_product<float>(test::repeated(test::sliced<float>(a.view(), 1, 3, 1), 1, 40), b.view(), nullptr,
                        out.view());
  View constant = test::sliced<float>(test::sliced<float>(b.view(), 1, 3, 1), 2, 3, 1);
  constant = test::repeated(test::repeated(constant, 1, 60), 2, 80);
  expect_product<float>(a.view(), constant, nullptr, out.view());
}

TEST(Matmul, ReadsRowsThatLieFurtherApartThanTheyAreLong) {
  Array<float> a = Array<float>::random({1, 50, 100}, 15), b = Array<float>::random({1, 80, 90}, 16);
  Array<float> out({1, 50, 90}, 5.0f);
  const View left = test::sliced<float>(a.view(), 2, 10, 80);
  expect_product<float>(left, test::sliced<float>(b.view(), 2, 3, 70), nullptr,
                        test::sliced<float>(out.view(), 2, 1, 70));
  EXPECT_EQ(out[0], 5.0f);
  EXPECT_EQ(out[71], 5.0f);
}

TEST(Matmul, OfNothingIsZeroOrTheBias) {
  Array<float> a({2, 3, 0}), b({2, 0, 4}), bias = Array<float>::random({1, 1, 4}, 17), out({2, 3, 4}, 9.0f);
  cpu::backend().matmul(a.view(), b.view(), nullptr, out.view());
  EXPECT_EQ(out.values(), std::vector<float>(24, 0.0f));
  const View rows = test::repeated(test::repeated(bias.view(), 0, 2), 1, 3);
  cpu::backend().matmul(a.view(), b.view(), &rows, out.view());
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(out[i], bias[i % 4]);
  Array<float> no_rows({2, 0, 0}), none({2, 0, 4});
  cpu::backend().matmul(no_rows.view(), b.view(), nullptr, none.view());
}

TEST(Matmul, PassesNanAndInfinityOn) {
  for (std::int64_t n : {1, 40}) {
    Array<float> a({1, 64, 70}, 1.0f), b({1, 70, n}, 1.0f), out({1, 64, n});
    a[5 * 70 + 3] = NAN;
    a[6 * 70 + 69] = INFINITY;
    cpu::backend().matmul(a.view(), b.view(), nullptr, out.view());
    for (std::int64_t j = 0; j < n; ++j) {
      EXPECT_EQ(out[4 * n + j], 70.0f);
      EXPECT_TRUE(std::isnan(out[5 * n + j]));
      EXPECT_EQ(out[6 * n + j], INFINITY);
    }
  }
}

TEST(Matmul, GivesTheSameBitsInEveryRun) {
  for (const Shape& shape : {Shape{5000, 128, 2}, Shape{5000, 64, 64}, Shape{64, 64, 5000},
                             Shape{128, 2, 5000}, Shape{1, 1, 70'001}}) {
    Array<float> a = Array<float>::random({1, shape[0], shape[2]}, 18);
    Array<float> b = Array<float>::random({1, shape[2], shape[1]}, 19);
    Array<float> once({1, shape[0], shape[1]}), again({1, shape[0], shape[1]});
    cpu::backend().matmul(a.view(), b.view(), nullptr, once.view());
    cpu::backend().matmul(a.view(), b.view(), nullptr, again.view());
    EXPECT_EQ(once.values(), again.values()) << shape;
  }
}

TEST(Matmul, RefusesIntegers) {
  Array<std::int64_t> x({1, 2, 2});
  EXPECT_THROW(cpu::backend().matmul(x.view(), x.view(), nullptr, x.view()), DeviceError);
}

// Added to ones, by itself, and from a bias.
template <class T> void expect_gemm(const View& a, const View& b) {
  const std::int64_t m = a.shape[1], n = b.shape[2], k = a.shape[2];
  Array<T> added({1, m, n}, T(1)), alone({1, m, n}), biased({1, m, n}),
      bias = Array<T>::random({1, 1, n}, 24);
  const auto matrix = []<class U>(const View& v, U*) {
    return cpu::Matrix<U>{v.as<U>(), v.strides[1], v.strides[2]};
  };
  const auto left = matrix(a, static_cast<const T*>(nullptr)),
             right = matrix(b, static_cast<const T*>(nullptr));
  cpu::gemm(m, n, k, left, right, {added.view().template as<T>(), n, 1}, true);
  cpu::gemm(m, n, k, left, right, {alone.view().template as<T>(), n, 1}, false);
  cpu::gemm(m, n, k, left, right, {biased.view().template as<T>(), n, 1}, false,
            bias.view().template as<T>());
  const double tolerance = (sizeof(T) == 4 ? 2e-6 : 4e-15) * std::sqrt(static_cast<double>(k) + 1);
  test::for_each_index({1, m, n}, [&](const Shape& index) {
    const double wanted = product<T>(a, b, nullptr, index);
    ASSERT_NEAR(static_cast<double>(test::at<T>(alone.view(), index)), wanted, tolerance);
    ASSERT_NEAR(static_cast<double>(test::at<T>(added.view(), index)), wanted + 1, tolerance);
    ASSERT_NEAR(static_cast<double>(test::at<T>(biased.view(), index)),
                wanted + static_cast<double>(bias[index[2]]), tolerance);
  });
}

template <class T> void expect_gemm(std::int64_t m, std::int64_t n, std::int64_t k) {
  Array<T> a = Array<T>::random({1, m, k}, 20), at = Array<T>::random({1, k, m}, 22);
  Array<T> b = Array<T>::random({1, k, n}, 23), bt = Array<T>::random({1, n, k}, 21);
  expect_gemm<T>(a.view(), test::transposed(bt.view(), 1, 2));
  expect_gemm<T>(test::transposed(at.view(), 1, 2), b.view());
}

TEST(Gemm, MultipliesAndAddsAcrossAllItsBlocks) {
  const test::ThreadsScope scope(2);  // which cut a product of one tile by its depth
  for (const Shape& s :
       {Shape{1, 1, 1}, Shape{12, 32, 256}, Shape{13, 33, 257}, Shape{100, 40, 600}, Shape{97, 1030, 20},
        Shape{5, 7, 9000}, Shape{200, 33, 512}, Shape{15, 16, 1100}, Shape{8, 8, 4096}, Shape{31, 32, 300}}) {
    expect_gemm<float>(s[0], s[1], s[2]);
    expect_gemm<double>(s[0], s[1], s[2]);
  }
}

TEST(Gemm, GivesTheSameBitsOnAnyNumberOfThreads) {
  const test::ThreadsScope scope;
  for (const Shape& s : {Shape{500, 70, 300}, Shape{1000, 70, 300}, Shape{30, 40, 20000}}) {
    Array<float> a = Array<float>::random({s[0], s[2]}, 22), b = Array<float>::random({s[2], s[1]}, 23);
    Array<float> columns = Array<float>::random({s[2], s[0]}, 22);
    std::vector<float> first;
    for (int threads : {1, 2, 3}) {
      set_num_threads(threads);
      Array<float> c({s[0], s[1]});
      cpu::gemm(s[0], s[1], s[2], {a.view().as<float>(), s[2], 1}, {b.view().as<float>(), s[1], 1},
                {c.view().as<float>(), s[1], 1}, false);
      cpu::gemm(s[0], s[1], s[2], {columns.view().as<float>(), 1, s[0]}, {b.view().as<float>(), s[1], 1},
                {c.view().as<float>(), s[1], 1}, true);
      if (first.empty()) first = c.values();
      EXPECT_EQ(c.values(), first) << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace veldt
