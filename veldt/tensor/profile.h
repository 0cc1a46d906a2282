// A step's time and memory traffic by kernel, and the op that produced the first NaN.
// Tests: tests/tensor/profile_test.cpp
#pragma once

#include <chrono>
#include <cstddef>
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

  // A call, in seconds since the profile began.
  struct Span {
    std::string name;
    const char* gradient_of = nullptr;  // the op whose backward function called it; null: none's
    double begin = 0, seconds = 0, bytes = 0, flops = 0;
    Device device = {};
  };

  // `most_spans`: how many calls are also kept one by one, the first ones.
  explicit Profile(std::size_t most_spans = 0)
      : scope_(this), most_spans_(most_spans), begin_(std::chrono::steady_clock::now()) {}

  // By time, the longest first.
  std::vector<Line> lines() const;
  // The same as text: name, calls, seconds, share of the time, GB/s, GFLOP/s.
  std::string table() const;
  // The calls that were kept.
  const std::vector<Span>& spans() const { return spans_; }
  // The same for a viewer of traces, such as ui.perfetto.dev: an object of JSON in the Trace Event Format.
  std::string trace() const;

 private:
  void on_call(const KernelCall& call, const Backend& backend) override;

  std::map<std::string, Line> lines_;
  InterceptorScope scope_;
  std::size_t most_spans_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<Span> spans_;
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
