// Optimizer steps against torch.optim's formulas, written out one element at a time in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/views.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/core/optimizer_step.h"
#include "veldt/core/threads.h"
#include "veldt/cpu/cpu_backend.h"

namespace veldt {
namespace {
using test::Array;

template <class Step> void run(const Step& step, std::initializer_list<View> arrays) {
  cpu::backend().optimize({step}, arrays.begin(), static_cast<int>(arrays.size()));
}

template <class T> constexpr double kTolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;

struct Adam {
  double p, m = 0, v = 0;
  // torch.optim.Adam / AdamW, _single_tensor_adam
  void step(const AdamStep& s, double g) {
    if (s.decoupled)
      p *= 1 - s.lr * s.weight_decay;
    else
      g += s.weight_decay * p;
    m = s.beta1 * m + (1 - s.beta1) * g;
    v = s.beta2 * v + (1 - s.beta2) * g * g;
    const double t = static_cast<double>(s.step);
    const double denominator = std::sqrt(v) / std::sqrt(1 - std::pow(s.beta2, t)) + s.eps;
    p -= s.lr / (1 - std::pow(s.beta1, t)) * m / denominator;
  }
};

template <class T> void expect_adam(std::int64_t n, double weight_decay, bool decoupled) {
  Array<T> p = Array<T>::random({n}, 1), m({n}), v({n});
  std::vector<Adam> wanted;
  for (T x : p.values()) wanted.push_back({static_cast<double>(x)});
  for (int t = 1; t <= 5; ++t) {
    const AdamStep step = {0.01, 0.9, 0.999, 1e-8, weight_decay, decoupled, t};
    Array<T> g = Array<T>::random({n}, static_cast<std::uint64_t>(t) + 10);
    run(step, {p.view(), m.view(), v.view(), g.view()});
    for (std::int64_t i = 0; i < n; ++i)
      wanted[static_cast<std::size_t>(i)].step(step, static_cast<double>(g[i]));
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const Adam& w = wanted[static_cast<std::size_t>(i)];
    ASSERT_NEAR(static_cast<double>(p[i]), w.p, kTolerance<T>);
    ASSERT_NEAR(static_cast<double>(m[i]), w.m, kTolerance<T>);
    ASSERT_NEAR(static_cast<double>(v[i]), w.v, kTolerance<T>);
  }
}

// Denormal moments never end, and make each step many times slower.
template <class T> void expect_moments_end() {
  constexpr T kLeast = std::numeric_limits<T>::min();
  for (const double eps : {1e-8, 0.0}) {
    Array<T> p({3}, {1, 1, 1}), m({3}, {kLeast, -kLeast, 1}), v({3}, {kLeast, kLeast, kLeast}), g({3});
    run(AdamStep{0.01, 0.9, 0.999, eps, 0, false, 1000}, {p.view(), m.view(), v.view(), g.view()});
    for (std::int64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(v[i] == 0, eps > 0);
      EXPECT_EQ(m[i] == 0, eps > 0 && i < 2);
    }
    Array<T> nan({3}, {std::numeric_limits<T>::quiet_NaN(), 0, 0});
    run(AdamStep{0.01, 0.9, 0.999, eps, 0, false, 1000}, {p.view(), m.view(), v.view(), nan.view()});
    EXPECT_TRUE(std::isnan(m[0]) && std::isnan(v[0]) && std::isnan(p[0]));
  }
}
TEST(Adam, MomentsThatFadeEnd) {
  expect_moments_end<float>();
  expect_moments_end<double>();
}

TEST(Adam, FollowsTorchsFormula) {
  for (std::int64_t n : {0, 1, 7, 40, 40000}) {
    expect_adam<float>(n, 0, false);
    expect_adam<double>(n, 0, false);
  }
  expect_adam<float>(100, 0.1, false);
  expect_adam<double>(100, 0.1, false);
  expect_adam<float>(100, 0.1, true);
  expect_adam<double>(100, 0.1, true);
}

// From torch 2.15 (AdamW, weight_decay 0.05): p = [1, -2, 3], two steps with g = [0.1, -0.2, 0.3] and g =
// [-0.5, 0.25, 1].
TEST(Adam, EqualsTorchsNumbers) {
  Array<double> p({3}, {1, -2, 3}), m({3}), v({3});
  Array<double> first({3}, {0.1, -0.2, 0.3}), second({3}, {-0.5, 0.25, 1});
  run(AdamStep{0.1, 0.9, 0.99, 1e-8, 0.05, true, 1}, {p.view(), m.view(), v.view(), first.view()});
  run(AdamStep{0.1, 0.9, 0.99, 1e-8, 0.05, true, 2}, {p.view(), m.view(), v.view(), second.view()});
  EXPECT_NEAR(p[0], 0.9502359133892948, 1e-12);
  EXPECT_NEAR(p[1], -1.8968151555096262, 1e-12);
  EXPECT_NEAR(p[2], 2.7802219624866416, 1e-12);
}

TEST(Adam, AnElementsBitsDoNotDependOnItsPlace) {
  Array<float> p({37}, 0.3f), g({37}, 0.7f), m({37}, 0.2f), v({37}, 0.1f);
  run(AdamStep{0.01, 0.9, 0.999, 1e-8, 0, false, 3}, {p.view(), m.view(), v.view(), g.view()});
  for (float x : p.values()) EXPECT_EQ(x, p[0]);
  EXPECT_EQ(g.values(), std::vector<float>(37, 0.7f));
}

struct Sgd {
  double p, v = 0;
  // torch.optim.SGD, _single_tensor_sgd with dampening 0
  void step(const SgdStep& s, double g) {
    g += s.weight_decay * p;
    if (s.momentum != 0) {
      v = s.momentum * v + g;
      g = s.nesterov ? g + s.momentum * v : v;
    }
    p -= s.lr * g;
  }
};

template <class T> void expect_sgd(std::int64_t n, double momentum, double weight_decay, bool nesterov) {
  Array<T> p = Array<T>::random({n}, 2), v({n});
  std::vector<Sgd> wanted;
  for (T x : p.values()) wanted.push_back({static_cast<double>(x)});
  for (int t = 0; t < 4; ++t) {
    const SgdStep step = {0.05, momentum, weight_decay, nesterov};
    Array<T> g = Array<T>::random({n}, static_cast<std::uint64_t>(t) + 20);
    if (momentum == 0)
      run(step, {p.view(), g.view()});
    else
      run(step, {p.view(), v.view(), g.view()});
    for (std::int64_t i = 0; i < n; ++i)
      wanted[static_cast<std::size_t>(i)].step(step, static_cast<double>(g[i]));
  }
  for (std::int64_t i = 0; i < n; ++i)
    ASSERT_NEAR(static_cast<double>(p[i]), wanted[static_cast<std::size_t>(i)].p, kTolerance<T>);
}

TEST(Sgd, FollowsTorchsFormula) {
  for (double momentum : {0.0, 0.9})
    for (double decay : {0.0, 0.1})
      for (bool nesterov : {false, true})
        for (std::int64_t n : {1, 45, 20000}) {
          expect_sgd<float>(n, momentum, decay, nesterov && momentum != 0);
          expect_sgd<double>(n, momentum, decay, nesterov && momentum != 0);
        }
}

// From torch 2.15 (nesterov, momentum 0.9, weight_decay 0.05), the same parameters and gradients.
TEST(Sgd, EqualsTorchsNumbers) {
  Array<double> p({3}, {1, -2, 3}), v({3});
  Array<double> first({3}, {0.1, -0.2, 0.3}), second({3}, {-0.5, 0.25, 1});
  run(SgdStep{0.1, 0.9, 0.05, true}, {p.view(), v.view(), first.view()});
  run(SgdStep{0.1, 0.9, 0.05, true}, {p.view(), v.view(), second.view()});
  EXPECT_NEAR(p[0], 1.04512075, 1e-12);
  EXPECT_NEAR(p[1], -1.9477415, 1e-12);
  EXPECT_NEAR(p[2], 2.66036225, 1e-12);
}

TEST(Optimizer, RefusesOtherDtypes) {
  Array<std::int64_t> x({4});
  EXPECT_THROW(run(SgdStep{}, {x.view(), x.view()}), DeviceError);
  EXPECT_THROW(cpu::backend().dot(x.view(), x.view()), DeviceError);
}

TEST(Clip, ScalesThenLimitsAndKeepsNan) {
  Array<float> x({5}, {1, -8, 3, NAN, INFINITY});
  run(ClipStep{.scale = 0.5, .limit = 2}, {x.view()});
  EXPECT_EQ(x[0], 0.5f);
  EXPECT_EQ(x[1], -2);
  EXPECT_EQ(x[2], 1.5f);
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_EQ(x[4], 2);
}

TEST(Dot, IsSummedInDoubleWhateverTheThreads) {
  for (std::int64_t n : {0, 1, 7, 33, 100000, 3000000}) {
    Array<float> a = Array<float>::random({n}, 5), b = Array<float>::random({n}, 6);
    double exact = 0;
    for (std::int64_t i = 0; i < n; ++i) exact += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    const test::ThreadsScope scope;
    const double many = cpu::backend().dot(a.view(), b.view());
    set_num_threads(1);
    EXPECT_EQ(cpu::backend().dot(a.view(), b.view()), many);
    EXPECT_NEAR(many, exact, 1e-9 * std::sqrt(static_cast<double>(n) + 1)) << n;
  }
  Array<float> tiny({3}, 1e-42f), huge({3}, 1e38f);
  EXPECT_GT(cpu::backend().dot(tiny.view(), tiny.view()), 2e-84);
  EXPECT_LT(cpu::backend().dot(huge.view(), huge.view()), 4e76);
}

}  // namespace
}  // namespace veldt
