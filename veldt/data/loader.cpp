// Makes batches ahead on its own threads, and returns them in order.
#include "veldt/data/loader.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/data/draw.h"
#include "veldt/data/finite.h"
#include "veldt/data/sampler.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::data {
namespace {

using Clock = std::chrono::steady_clock;

// The error of an example, with its name; errors of files name the file already.
[[noreturn]] void throw_located(const std::string& name) {
  try {
    throw;
  } catch (const IoError&) {
    throw;
  } catch (const OutOfMemory&) {
    throw;
  } catch (const ConfigError& e) {
    throw ConfigError(str(name, ": ", e.summary()), e.why(), e.fix());
  } catch (const ShapeError& e) {
    throw ShapeError(str(name, ": ", e.summary()), e.why(), e.fix());
  } catch (const Error& e) {
    throw Error(str(name, ": ", e.summary()), e.why(), e.fix());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(str(name, ": it could not be made"), e.what(), "correct the data set, or the transform");
  }
}

std::string shapes_of(const Example& example) {
  std::string text;
  for (const Tensor& t : example) text += str(text.empty() ? "" : ", ", t.dtype(), ' ', t.shape());
  return text;
}

Tensor stack_tensor(const std::vector<Example>& examples, std::size_t k) {
  const Tensor& first = examples[0][k];
  const Tensor out = empty(first.shape().with_inserted(0, std::ssize(examples)), first.dtype());
  const std::size_t bytes = static_cast<std::size_t>(first.numel()) * size_of(first.dtype());
  auto* to = static_cast<unsigned char*>(out.view().data);
  for (const Example& example : examples) {
    const Tensor row = contiguous(example[k]);
    if (bytes > 0) std::memcpy(to, row.view().data, bytes);
    to += bytes;
  }
  return out;
}

void check_alike(const std::vector<Example>& examples) {
  const auto differ = [](const Tensor& a, const Tensor& b) {
    return a.shape() != b.shape() || a.dtype() != b.dtype();
  };
  for (const Example& e : examples)
    if (!std::equal(e.begin(), e.end(), examples[0].begin(), examples[0].end(), std::not_fn(differ)))
      throw ShapeError("examples of one batch cannot be stacked",
                       str("one has ", shapes_of(examples[0]), ", another ", shapes_of(e)),
                       "bring them to one shape by a transform, or give a collate function");
}

void check_option(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw ConfigError(str("a loader cannot have ", name, " = ", value),
                    value < least ? str("the least is ", least) : str("the most is ", most),
                    str("give one of ", least, " to ", most));
}

void check_numbers(const Example& example, const std::string& name, bool transformed) {
  for (std::size_t k = 0; k < example.size(); ++k)
    if (const std::string found = first_not_finite(example[k]); !found.empty())
      throw IoError(IoError::Kind::malformed, str(name, " holds a number that is not finite"),
                    str("tensor ", k, " has ", found, transformed ? ", after its transform" : ""),
                    "correct the data, or leave the example out (data::subset)");
}

}  // namespace

Sampler in_order(std::int64_t size) {
  return {size, [](std::int64_t, std::int64_t position) { return position; }};
}

Sampler shuffled(std::int64_t size, std::uint64_t seed) {
  return {size, [size, seed](std::int64_t epoch, std::int64_t position) {
            return Shuffle(size, seed, static_cast<std::uint64_t>(epoch))(position);
          }};
}

Sampler weighted(const std::vector<double>& weights, std::int64_t size, std::uint64_t seed) {
  std::vector<double> sums;
  double sum = 0;
  for (const double w : weights) {
    if (!(w >= 0) || !std::isfinite(w))
      throw ConfigError(str("cannot draw with a weight of ", w), "weights are finite and not negative",
                        "give a weight of 0 to examples that must never be drawn");
    sums.push_back(sum += w);
  }
  if (!(sum > 0) || !std::isfinite(sum) || size < 0)
    throw ConfigError("cannot draw by these weights",
                      size < 0 ? str(size, " draws were asked for") : str("their sum is ", sum),
                      "give at least one weight above 0");
  return {size, [sums = std::move(sums), seed](std::int64_t epoch, std::int64_t position) {
            Rng rng = stream_of(Draw::choice, seed, epoch, position);
            const std::uint64_t high = rng.next_u32(), low = rng.next_u32();
            const auto u = static_cast<double>(high << 21 | low >> 11);
            const auto at = std::upper_bound(sums.begin(), sums.end(), u * 0x1p-53 * sums.back());
            return static_cast<std::int64_t>(std::min(at, sums.end() - 1) - sums.begin());
          }};
}

Sampler share_of(Sampler sampler, int index, int count) {
  if (index < 0 || index >= count)
    throw ConfigError(str("there is no share ", index, " of ", count), "shares are counted from 0",
                      "give 0 to count - 1");
  const std::int64_t size = sampler.size / count;
  return {size, [sampler = std::move(sampler), index, count](std::int64_t epoch, std::int64_t position) {
            return sampler.at(epoch, position * count + index);
          }};
}

Batch moved(Batch batch, Device device) {
  for (Tensor& t : batch) t = to(t, device);
  return batch;
}

Batch stacked(std::vector<Example> examples, Rng&) {
  check_alike(examples);
  Batch batch;
  for (std::size_t k = 0; k < examples[0].size(); ++k) batch.push_back(stack_tensor(examples, k));
  return batch;
}

struct Loader::State {
  State(DatasetPtr set_, LoaderOptions options_) : set(std::move(set_)), options(std::move(options_)) {
    const std::int64_t size = set->size();
    if (!options.sampler.at)
      options.sampler = options.shuffle ? shuffled(size, options.seed) : in_order(size);
    check_option("batch", options.batch, 1, std::int64_t{1} << 31);
    check_option("workers", options.workers, 0, 256);
    check_option("ahead", options.ahead, 1, 1 << 16);
    const std::int64_t drawn = options.sampler.size;
    batches = options.drop_last ? drawn / options.batch : (drawn + options.batch - 1) / options.batch;
    if (batches < 1)
      throw ConfigError("a loader needs a batch",
                        str("the data set has ", size, " examples, of which ", drawn,
                            " are seen, and a batch ", options.batch),
                        options.drop_last ? "use a smaller batch, or keep the last" : "give it examples");
  }

  ~State() { forget(); }

  Example example(std::int64_t epoch, std::int64_t position) const {
    const std::int64_t i = options.sampler.at(epoch, position);
    if (i < 0 || i >= set->size())
      throw ConfigError(str("the sampler asks for example ", i), str("the data set has ", set->size()),
                        "give a sampler of the size of the set");
    if (!options.transform) return set->get(i);
    Rng rng = stream_of(Draw::example, options.seed, epoch, position);
    return options.transform(set->get(i), rng);
  }

  std::int64_t examples_of(std::int64_t whole) const {
    const std::int64_t begin = whole % batches * options.batch;
    return std::min(options.batch, options.sampler.size - begin);
  }

  // The result does not depend on the calling thread: work within a batch is never shared among threads.
  Batch make(std::int64_t number) const {
    const SerialScope serial;
    const NoGrad off;
    const std::int64_t whole = number / parts.count(), part = parts.first + number % parts.count();
    const std::int64_t epoch = whole / batches, in_epoch = whole % batches;
    const std::int64_t first = in_epoch * options.batch, all = examples_of(whole);
    std::int64_t begin = first + parts.begin_of(part, all), end = first + parts.begin_of(part + 1, all);
    if (begin == end && !parts.never_empty) return {};
    if (begin == end) begin = first, end = first + 1;
    std::vector<Example> examples;
    for (std::int64_t p = begin; p < end; ++p) try {
        examples.push_back(example(epoch, p));
        if (options.check_finite)
          check_numbers(examples.back(), set->name_of(options.sampler.at(epoch, p)),
                        static_cast<bool>(options.transform));
      } catch (const std::exception&) {
        const std::int64_t i = options.sampler.at(epoch, p);
        throw_located(i < 0 || i >= set->size() ? str("position ", p) : set->name_of(i));
      }
    Rng rng = stream_of(Draw::batch, options.seed, epoch, in_epoch * parts.of + part);
    return options.collate ? options.collate(std::move(examples), rng) : stacked(std::move(examples), rng);
  }

  struct Made {
    Batch batch;
    std::exception_ptr failure;
  };

  std::optional<Made>& place(std::int64_t number) {
    return made[static_cast<std::size_t>(number % options.ahead)];
  }

  void run_worker() {
    std::unique_lock lock(mutex);
    for (;;) {
      work.wait(lock, [&] { return stop || next < std::min(wanted + options.ahead, stop_at); });
      if (stop) return;
      const std::int64_t number = next++, of = generation;
      lock.unlock();
      Made result;
      try {
        result.batch = make(number);
      } catch (...) {
        result.failure = std::current_exception();
      }
      lock.lock();
      if (of == generation) place(number) = std::move(result);
      ready.notify_all();
    }
  }

  // Starts fewer if the system has no more threads; without any, take() makes the batches itself.
  void start_workers() {
    try {
      threads.reserve(static_cast<std::size_t>(options.workers));
      while (std::ssize(threads) < options.workers) threads.emplace_back([this] { run_worker(); });
    } catch (const std::system_error&) {
      options.workers = static_cast<int>(std::ssize(threads));
    }
  }

  // Ends the threads, which make what is no longer wanted; the next take() starts them again.
  void forget() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
    for (std::thread& t : threads) t.join();
    threads.clear();
    stop = false;
  }

  Batch take(std::int64_t number, std::int64_t last) {
    std::unique_lock lock(mutex);
    stop_at = last;
    if (number != wanted || threads.empty()) {
      ++generation;
      made.assign(static_cast<std::size_t>(options.ahead), std::nullopt);
      wanted = next = number;
    }
    start_workers();
    if (threads.empty()) return make(number);
    work.notify_all();
    const std::int64_t mine = generation;
    ready.wait(lock, [&] { return generation != mine || place(number); });
    if (generation != mine || wanted != number)
      throw Error("two threads ask a loader for batches", "it makes them for one, in order",
                  "give each thread a loader of its own");
    Made result = *std::exchange(place(number), std::nullopt);
    ++wanted;
    lock.unlock();
    work.notify_one();
    if (result.failure) std::rethrow_exception(result.failure);
    return std::move(result.batch);
  }

  DatasetPtr set;
  LoaderOptions options;
  std::int64_t batches = 0;
  Parts parts;
  double waited = 0;

  std::mutex mutex;
  std::condition_variable work, ready;
  // Batch i, `wanted` or one of the `ahead` - 1 after it, is at i % ahead, so handing over a batch allocates
  // no memory.
  std::vector<std::optional<Made>> made;
  std::int64_t wanted = 0, next = 0;  // indices of batches: requested next, started next
  std::int64_t stop_at = 0;           // one past the last wanted batch
  std::int64_t generation = 0;        // of consecutive batches
  bool stop = false;
  std::vector<std::thread> threads;
};

Loader::Loader(DatasetPtr set, LoaderOptions options)
    : state_(std::make_unique<State>(std::move(set), std::move(options))) {}
Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

const Dataset& Loader::set() const { return *state_->set; }
const LoaderOptions& Loader::options() const { return state_->options; }
std::int64_t Loader::batches() const { return state_->batches; }
double Loader::waited() const { return state_->waited; }

Batch Loader::batch(std::int64_t number) { return batch(number, std::numeric_limits<std::int64_t>::max()); }

Batch Loader::batch(std::int64_t number, std::int64_t end) {
  if (number < 0)
    throw ConfigError(str("there is no batch ", number), "batches are counted from 0", "give 0 or more");
  const auto start = Clock::now();
  Batch batch = state_->options.workers > 0 ? state_->take(number, end) : state_->make(number);
  state_->waited += std::chrono::duration<double>(Clock::now() - start).count();
  return batch;
}

void Loader::take_parts(const Parts& parts) {
  if (parts.first < 0 || parts.first >= parts.end || parts.end > parts.of)
    throw ConfigError(str("there are no parts ", parts.first, " to ", parts.end - 1, " of ", parts.of),
                      "they are counted from 0", "give one at least that exists");
  if (state_->parts == parts) return;
  state_->forget();
  state_->parts = parts;
}
const Parts& Loader::parts() const { return state_->parts; }
std::int64_t Loader::examples(std::int64_t number) const { return state_->examples_of(number); }

Loader::Epoch Loader::epoch(std::int64_t epoch) {
  const std::int64_t count = batches() * state_->parts.count();
  return range(epoch * count, (epoch + 1) * count);
}

Loader::Epoch Loader::range(std::int64_t first, std::int64_t end) { return {*this, first, end}; }

}  // namespace veldt::data
