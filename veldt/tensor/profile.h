// A step's time and memory traffic by kernel, and the op that produced the first NaN.
// Tests: tests/tensor/profile_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "veldt/tensor/intercept.h"

namespace veldt {

// While one exists, the kernel calls of its thread are timed, also those of replayed Plans:
//   Profile profile;
//   train();
//   std::puts(profile.table().c_str());
class Profile final : private Interceptor {
 public:
  struct Line {
    std::string name;  // "matmul", "tanh", "tanh slope"; "softmax (on the cpu)" where a backend lacks it
    std::int64_t calls = 0;
    double seconds = 0;
    double bytes = 0;  // of all operands, each counted once per call
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

// While one exists, every kernel's result is checked, and the first one that holds a NaN although no operand
// does throws DivergedError naming the kernel and its op, forward or backward. Slow: for debugging training.
class DetectAnomaly final : private Interceptor {
 public:
  DetectAnomaly() : scope_(this) {}

 private:
  void on_call(const KernelCall& call, const Backend& backend) override;

  InterceptorScope scope_;
};

}  // namespace veldt
