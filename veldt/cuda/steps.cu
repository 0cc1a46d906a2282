// Steps that are kept on the device, as graphs.
//
// What kernels take for a moment has its places in one block, of a size that the step's first run has shown.
// Taken within the capture it would be part of the graph, which finds memory for it when it is launched, or
// fails.
//
// What changes from step to step is written ahead into a table: a counter, room for a result of each step,
// and for each kernel with numbers of its own a row of them for each step. A graph ends with a kernel that
// keeps the result and counts on. So a launch of many steps needs nothing of the host, and nothing is copied:
// the numbers travel as arguments of a kernel.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/view.h"
#include "veldt/cuda/device.h"
#include "veldt/cuda/kernels.h"
#include "veldt/cuda/numbers.h"
#include "veldt/cuda/runtime.h"

namespace veldt::cuda {
namespace {

constexpr std::size_t kResults = 64;  // bytes from the table's start
constexpr std::size_t kResultRoom = 8;
constexpr std::size_t kRows = kResults + kResultRoom * kMostSteps;
constexpr std::size_t kAligned = 256;  // scratch, as memory of a device's pool is

struct Executable {
  std::int64_t steps;
  cudaGraphExec_t graph;
};

// Where the scratch of a step lies in one block. Kernels run in turn, so what one has given back is the next
// one's.
class Places {
 public:
  // The first free one, from the block's start.
  std::size_t find(std::size_t bytes) const {
    std::size_t at = 0;
    for (const Place& place : held_) {
      if (place.first - at >= bytes) break;
      at = place.last;
    }
    return at;
  }
  // p: that place, to those who have it.
  void take(std::size_t at, std::size_t bytes, const void* p) {
    const auto after = [at](const Place& place) { return place.first > at; };
    held_.insert(std::find_if(held_.begin(), held_.end(), after), {at, at + bytes, p});
    most_ = std::max(most_, at + bytes);
  }
  void give(const void* p) {
    std::erase_if(held_, [p](const Place& place) { return place.p == p; });
  }
  // Bytes of the block.
  std::size_t most() const { return most_; }

 private:
  struct Place {
    std::size_t first, last;
    const void* p;
  };
  std::vector<Place> held_;  // in order
  std::size_t most_ = 0;
};

struct Steps {
  View result = {};  // without data: none is kept
  StepMode mode = StepMode::run;
  bool changing = false, placed = false;  // the numbers of the next launch
  std::vector<std::size_t> bytes;         // of a row of each kernel with numbers, in the order of the calls
  std::vector<std::size_t> first;         // where its rows begin in the table
  std::vector<unsigned char> rows;        // the table as it is to be
  unsigned char* table = nullptr;
  Places scratch;
  unsigned char* scratch_memory = nullptr;
  std::size_t call = 0;              // the next one of this step
  std::int64_t filled = 0;           // rows for the next launch
  std::int64_t done = 0;             // steps between begin and now
  std::vector<Executable> captured;  // longest first
};

thread_local Steps* t_steps = nullptr;  // whose calls this thread makes
Turn g_turn;                            // of the thread that captures

std::int64_t* counter_of(const Steps& s) { return reinterpret_cast<std::int64_t*>(s.table); }

struct Piece {
  static constexpr std::size_t kMost = 3584;  // the arguments of a kernel take 4 KB
  unsigned char bytes[kMost];
};

__global__ void __launch_bounds__(kThreads)
    write_kernel(Piece piece, int count, unsigned char* to, std::int64_t* counter) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    to[i] = piece.bytes[i];
  if (threadIdx.x == 0) *counter = 0;
}

// The end of a step: its result, of `size` bytes, is kept, and the next step's numbers are due.
__global__ void count_kernel(const unsigned char* result, int size, unsigned char* results,
                             std::int64_t* counter) {
  const std::int64_t row = *counter % kMostSteps;  // if nobody wants results, nobody sets it back
  for (int i = 0; i < size; ++i) results[row * size + i] = result[i];
  ++*counter;
}

// Once the first step has shown what numbers there are.
void make_table(Steps& s) {
  std::size_t end = kRows;
  for (const std::size_t bytes : s.bytes) {
    s.first.push_back(end);
    end += (bytes * kMostSteps + 15) / 16 * 16;
  }
  end = (end + kAligned - 1) / kAligned * kAligned;
  s.table = static_cast<unsigned char*>(allocate_scratch(end + s.scratch.most()));
  s.scratch_memory = s.table + end;
  s.rows.resize(end);
  // Not for the first time within a capture, where an older driver cannot load a kernel.
  launch(write_kernel, 1, kThreads, 0, Piece(), 0, s.table, counter_of(s));
  launch(count_kernel, 1, 1, 0, s.table, 0, s.table + kResults, counter_of(s));
}

void write_table(const Steps& s) {
  bool any = false;
  for (std::size_t k = 0; k < s.bytes.size(); ++k) {
    const std::size_t end = s.first[k] + s.bytes[k] * static_cast<std::size_t>(s.filled);
    for (std::size_t at = s.first[k]; at < end; at += Piece::kMost) {
      Piece piece;
      const std::size_t count = std::min(Piece::kMost, end - at);
      std::memcpy(piece.bytes, s.rows.data() + at, count);
      launch(write_kernel, 1, kThreads, 0, piece, static_cast<int>(count), s.table + at, counter_of(s));
      any = true;
    }
  }
  if (!any) launch(write_kernel, 1, kThreads, 0, Piece(), 0, s.table, counter_of(s));
}

// Graphs take memory when they are prepared and when they are launched: where there is none, once more after
// the tensors' pool has made room.
template <class Call> cudaError_t with_room(Call call) {
  const cudaError_t result = call();
  if (result != cudaErrorMemoryAllocation) return result;
  static_cast<void>(cudaGetLastError());
  return make_room() ? call() : result;
}

cudaGraphExec_t executable_of(cudaGraph_t graph) {
  cudaGraphExec_t executable = nullptr;
  const cudaError_t result = with_room([&] { return cudaGraphInstantiate(&executable, graph, 0); });
  static_cast<void>(cudaGraphDestroy(graph));  // the executable one is complete in itself
  check(result, "prepare a recorded step on the GPU");
  return executable;
}

}  // namespace

bool numbers_change() { return t_steps != nullptr && t_steps->changing; }

void check_launch() {
  if (!numbers_change() || std::exchange(t_steps->placed, false)) return;
  throw Error("a recorded step cannot be repeated on the GPU",
              "a function of the host started a kernel that takes no numbers of its step",
              "record such work as kernels, or as a host function of its own");
}

TablePlace place_numbers(const void* numbers, std::size_t bytes) {
  if (!numbers_change()) return {};
  Steps& s = *t_steps;
  s.placed = s.mode != StepMode::numbers;
  if (s.mode == StepMode::run) {
    s.bytes.push_back(bytes);
    return {};
  }
  const std::size_t k = s.call++;
  if (k >= s.bytes.size() || s.bytes[k] != bytes || s.filled >= kMostSteps)
    throw Error("a recorded step cannot be repeated on the GPU",
                "it does not ask for the same kernels each time",
                "record it anew after a change of its groups or options");
  unsigned char* const rows = s.table + s.first[k];
  std::memcpy(s.rows.data() + s.first[k] + static_cast<std::size_t>(s.filled) * bytes, numbers, bytes);
  return {rows, counter_of(s), s.mode == StepMode::capture};
}

void* take_scratch(std::size_t bytes) {
  if (t_steps == nullptr || t_steps->mode == StepMode::numbers) return allocate_scratch(bytes);
  Steps& s = *t_steps;
  bytes = (bytes + kAligned - 1) / kAligned * kAligned;
  const std::size_t at = s.scratch.find(bytes);
  if (s.mode == StepMode::capture && at + bytes > s.scratch.most())
    throw Error("a recorded step cannot be repeated on the GPU",
                "its kernels do not take the same memory each time",
                "record it anew after a change of its shapes or options");
  void* const p = s.mode == StepMode::run ? allocate_scratch(bytes) : s.scratch_memory + at;
  s.scratch.take(at, bytes, p);
  return p;
}

void give_scratch(void* p) {
  if (t_steps != nullptr && t_steps->mode != StepMode::numbers) t_steps->scratch.give(p);
  if (t_steps == nullptr || t_steps->mode != StepMode::capture) deallocate(p, 0);
}

void* make_steps(const View* result) {
  auto* const steps = new Steps;
  if (result != nullptr) steps->result = *result;
  return steps;
}

void destroy_steps(void* handle) {
  const Turn turn = take_last_turn();
  auto* const s = static_cast<Steps*>(handle);
  // They may still be running.
  static_cast<void>(cudaStreamSynchronize(compute_stream()));
  for (const Executable& e : s->captured) static_cast<void>(cudaGraphExecDestroy(e.graph));
  static_cast<void>(cudaGetLastError());
  deallocate(s->table, s->rows.size());
  delete s;
}

void begin_steps(void* handle, StepMode mode) {
  auto& s = *static_cast<Steps*>(handle);
  if (mode == StepMode::run) {
    s.bytes.clear();
    s.scratch = {};
  }
  if (mode != StepMode::run && s.table == nullptr) make_table(s);
  if (mode == StepMode::capture) {
    Turn turn = take_turn();
    check(cudaStreamBeginCapture(compute_stream(), cudaStreamCaptureModeThreadLocal),
          "record a step on the GPU");
    g_turn = std::move(turn);
  }
  s.mode = mode;
  s.changing = s.placed = false;
  s.call = 0;
  s.done = 0;
  t_steps = &s;
}

void changing(void* handle, bool on) { static_cast<Steps*>(handle)->changing = on; }

void step_done(void* handle) {
  auto& s = *static_cast<Steps*>(handle);
  ++s.done;
  if (s.mode == StepMode::run) return;
  const bool counts = !s.bytes.empty() || s.result.data != nullptr;
  if (s.mode == StepMode::capture && counts)
    launch(count_kernel, 1, 1, 0, static_cast<const unsigned char*>(s.result.data),
           s.result.data == nullptr ? 0 : static_cast<int>(size_of(s.result.dtype)), s.table + kResults,
           counter_of(s));
  s.call = 0;
  ++s.filled;
}

void end_steps(void* handle, bool complete) {
  t_steps = nullptr;
  auto& s = *static_cast<Steps*>(handle);
  if (s.mode != StepMode::capture) return;
  const Turn turn = std::move(g_turn);
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(compute_stream(), &graph);
  try {
    check(ended, "record a step on the GPU");
    if (complete)
      s.captured.push_back({s.done, executable_of(graph)});
    else
      static_cast<void>(cudaGraphDestroy(graph));
  } catch (...) {
    if (s.captured.empty()) s.filled = 0;  // nothing can do these steps
    throw;
  }
  std::sort(s.captured.begin(), s.captured.end(),
            [](const Executable& a, const Executable& b) { return a.steps > b.steps; });
}

void launch_steps(void* handle, const View* results) {
  const Turn turn = take_turn();
  auto& s = *static_cast<Steps*>(handle);
  if (!s.bytes.empty() || results != nullptr) write_table(s);
  std::int64_t left = std::exchange(s.filled, 0);
  const std::int64_t steps = left;
  for (const Executable& e : s.captured)
    for (; left >= e.steps; left -= e.steps)
      check(with_room([&] { return cudaGraphLaunch(e.graph, compute_stream()); }),
            "run a recorded step on the GPU");
  if (results != nullptr && steps > 0) copy({s.table + kResults, s.result.dtype, {steps}, {1}}, *results);
}

}  // namespace veldt::cuda
