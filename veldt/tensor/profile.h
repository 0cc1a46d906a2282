// Where a step's time and memory traffic go, by kernel; and which op made the first NaN.
// Tests: tests/tensor/profile_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/tensor/intercept.h"

namespace veldt {

// While one lives, the kernel calls of its thread are timed, those of replayed Plans too:
//   Profile profile;
//   train();
//   std::puts(profile.table().c_str());
class Profile final : private Interceptor {
 public:
  struct Line {
    std::string name;  // "matmul", "tanh", "tanh slope"; "softmax (on the cpu)" where a backend lacks it
    std::int64_t calls = 0;
    double seconds = 0;
    double bytes = 0;  // of all operands, each counted once a call
    double flops = 0;
  };

  Profile() : scope_(this) {}

  // By time, the longest first.
  std::vector<Line> lines() const;
  // The same as text: name, calls, seconds, share of the time, GB/s, GFLOP/s.
  std::string table() const;

 private:
  void on_call(const KernelCall& call, const Backend& backend) override;

  std::map<std::string, Line> lines_;
  InterceptorScope scope_;
};

// While one lives, every kernel's result is looked at, and the first one that holds a NaN though none of its
// operands does throws DivergedError naming the kernel and the op it belongs to, forward or backward. Slow:
// for finding out where a training went wrong.
class DetectAnomaly final : private Interceptor {
 public:
  DetectAnomaly() : scope_(this) {}

 private:
  void on_call(const KernelCall& call, const Backend& backend) override;

  InterceptorScope scope_;
};

}  // namespace veldt
