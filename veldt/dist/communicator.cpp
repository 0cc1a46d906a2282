// A thread that does one operation after the other, and says in between that it lives.
#include "veldt/dist/communicator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/core/threads.h"
#include "veldt/dist/carriers.h"
#include "veldt/dist/collectives.h"
#include "veldt/dist/device_sums.h"
#include "veldt/dist/sums.h"
#include "veldt/dist/wire.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::dist {

struct Communicator::Pending::Job {
  const char* name = "";
  std::uint64_t bytes = 0;
  std::function<void()> work;
  std::mutex mutex;
  std::condition_variable over;
  std::function<void()> after;  // by whoever waits for it
  bool always = false;          // even after a failure
  bool done = false;
  std::exception_ptr failure;

  void finish(std::exception_ptr thrown) {
    {
      const std::lock_guard lock(mutex);
      done = true;
      failure = std::move(thrown);
    }
    over.notify_all();
  }
};

void Communicator::Pending::wait() {
  if (!job_) return;
  const std::shared_ptr<Job> job = std::move(job_);
  std::unique_lock lock(job->mutex);
  job->over.wait(lock, [&] { return job->done; });
  if (job->failure) std::rethrow_exception(job->failure);
  if (job->after) job->after();
}

struct Communicator::Worker {
  using Job = Pending::Job;

  Worker(const TransportFactory& make, CommunicatorOptions options_)
      : options(std::move(options_)), thread([this, make] { run(make); }) {}

  ~Worker() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    wake.notify_all();
    thread.join();
  }

  void run(const TransportFactory& make) {
    const SerialScope alone;
    const std::shared_ptr<Job> first = next();  // the constructor's, which waits for the transport
    try {
      wire = std::make_unique<Wire>(make(), options.silence);
    } catch (...) {
      failure = std::current_exception();
    }
    take(*first);
    while (const std::shared_ptr<Job> job = next()) take(*job);
    if (wire && closes) try {
        wire->transport().close();
      } catch (const std::exception&) {  // those who waited know of it, or nobody does
      }
    device_sums.reset();
    wire.reset();
  }

  void take(Job& job) {
    const double begin = options.timeline != nullptr ? options.timeline->now() : 0;
    if (!failure || job.always) try {
        job.work();
      } catch (...) {
        fail();
      }
    if (options.timeline != nullptr)
      options.timeline->add(Timeline::Lane::messages, job.name, begin, options.timeline->now(), job.bytes);
    job.finish(failure);
  }

  // Before whoever waits for a job may free its memory.
  void fail() {
    failure = std::current_exception();
    if (wire) wire->cancel();
    if (device_sums) device_sums->abandon();
  }

  // The next one; null after the last. Looks for signs of life while there is none.
  std::shared_ptr<Job> next() {
    std::unique_lock lock(mutex);
    for (;;) {
      wake.wait_for(lock, pause(), [&] { return stop || !jobs.empty(); });
      if (!jobs.empty()) {
        std::shared_ptr<Job> job = std::move(jobs.front());
        jobs.pop_front();
        return job;
      }
      if (stop) return nullptr;
      if (!wire || failure) continue;
      lock.unlock();
      live();
      lock.lock();
    }
  }

  // A long message leaves in parts, and only while somebody asks whether it has left.
  std::chrono::microseconds pause() const {
    if (!wire || failure) return std::chrono::seconds(1);
    return wire->has_letters() ? std::chrono::microseconds(200) : std::chrono::milliseconds(50);
  }

  void live() {
    try {
      wire->live();
      if (device_sums) device_sums->check();
    } catch (const Error& error) {
      fail();
      if (options.on_failure) options.on_failure(error);
    }
  }

  CommunicatorOptions options;
  std::unique_ptr<Wire> wire;
  std::unique_ptr<DeviceSums> device_sums;
  std::exception_ptr failure;  // of the thread; others read it in a job
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::shared_ptr<Job>> jobs;
  bool stop = false, closes = false;
  std::thread thread;  // last: it uses all of the above
};

namespace {

std::size_t bytes_of(const Tensor& t) { return bytes_in(t.view()); }

// On the host and contiguous, so that bytes can be sent as they lie; what comes is copied back.
class Staged {
 public:
  explicit Staged(const Tensor& t) : original_(t), host_(contiguous(to(t.detach(), Device{}))) {}
  const Tensor& host() const { return host_; }
  void* data() const { return host_.view().data; }
  void copy_back() const {
    if (host_.view().data == original_.view().data) return;
    Tensor place = original_.detach();
    place.assign(to(host_, original_.device()));
  }

 private:
  Tensor original_, host_;
};

std::string place_of_process(const std::string& host) { return str(host, " (process ", ::getpid(), ")"); }

}  // namespace

Communicator::Communicator() = default;

Communicator::Communicator(const TransportFactory& make, CommunicatorOptions options)
    : exceptions_(std::uncaught_exceptions()), worker_(std::make_unique<Worker>(make, std::move(options))) {
  submit("beginning", 0, [this] {
    Wire& wire = *worker_->wire;
    rank_ = wire.rank(), size_ = wire.size();
    const std::string host = wire.transport().host();
    const std::vector<std::string> hosts = gather_texts(wire, host);
    local_rank_ = static_cast<int>(std::count(hosts.begin(), hosts.begin() + rank_, host));
    wire.set_places(gather_texts(wire, place_of_process(host)));
  }).wait();
}

Communicator::~Communicator() {
  if (!worker_ || !worker_->wire) return;
  try {
    if (std::uncaught_exceptions() > exceptions_) {
      submit(
          "leaving", 0,
          [this] {
            worker_->wire->leave();
            if (worker_->device_sums) worker_->device_sums->abandon();
          },
          true)
          .wait();
      return;
    }
    barrier();
    worker_->closes = true;
  } catch (const std::exception&) {  // it has failed, and whoever waited was told
  }
}

std::string Communicator::name_of(int rank) const {
  return worker_ ? worker_->wire->name_of(rank) : str("rank ", rank);
}

Communicator::Pending Communicator::submit(const char* name, std::uint64_t bytes, std::function<void()> work,
                                           bool always) {
  Pending pending;
  if (!worker_) {
    work();
    return pending;
  }
  pending.job_ = std::make_shared<Pending::Job>();
  pending.job_->name = name, pending.job_->bytes = bytes;
  pending.job_->work = std::move(work);
  pending.job_->always = always;
  {
    const std::lock_guard lock(worker_->mutex);
    worker_->jobs.push_back(pending.job_);
  }
  worker_->wake.notify_one();
  return pending;
}

void Communicator::check_rank(int rank) const {
  if (rank >= 0 && rank < size_) return;
  throw ConfigError(str("there is no rank ", rank), str("they are 0 to ", size_ - 1), "give one of them");
}

void Communicator::all_reduce(const Tensor& t) {
  const Staged staged(t);
  const View own = staged.host().view();
  begin_sum({own}, own, size_).wait();
  staged.copy_back();
  mark_changed(t);
}

Communicator::Pending Communicator::begin_sum(const std::vector<View>& nodes, const View& out,
                                              std::int64_t leaves, const SumOptions& options) {
  const std::size_t own = nodes_within(leaves, share_of_leaves(leaves, rank_, size_)).size();
  if (leaves < size_ || nodes.size() != own)
    throw ConfigError(
        str("cannot sum over ", leaves, " leaves"),
        str("rank ", rank_, " of ", size_, " has ", own, " nodes, and ", nodes.size(), " were given"),
        "give a list for each of nodes_within() its share, and every rank a leaf");
  if (out.dtype == DType::boolean)
    throw ConfigError("cannot sum truth values", "a sum of them is none",
                      "convert them with to(x, DType::i32)");
  for (const View& node : nodes)
    if (node.shape != out.shape || node.dtype != out.dtype)
      throw ShapeError(str("cannot sum ", node.dtype, ' ', node.shape, " into ", out.dtype, ' ', out.shape),
                       "a sum has the form of what is added", "give lists of one form");
  if (alone()) {  // one node, the whole tree
    if (nodes[0].data != out.data) backend(options.device).copy(nodes[0], out);
    return {};
  }
  const std::size_t bytes = bytes_in(out);
  if (options.device != Device{})
    return submit_on(options.device, "sum", bytes, [=](DeviceSums& sums, const DeviceLinks::Mark& after) {
      return sums.sum(nodes, out, leaves, options, after);
    });
  return submit("sum", bytes, [=, this] {
    worker_->wire->begin("sum", bytes);
    HostCarrier carrier(*worker_->wire);
    sum_over_ranks(carrier, nodes, out, leaves, options);
  });
}

Communicator::Pending Communicator::begin_gather(const std::vector<View>& lists, Device device) {
  if (alone()) return {};
  std::size_t bytes = 0;
  for (const View& list : lists) bytes += bytes_in(list);
  if (device != Device{})
    return submit_on(device, "gather", bytes, [=](DeviceSums& sums, const DeviceLinks::Mark& after) {
      return sums.gather(lists, after);
    });
  return submit("gather", bytes, [=, this] {
    worker_->wire->begin("gather", bytes);
    HostCarrier carrier(*worker_->wire);
    gather_shares(carrier, lists);
  });
}

DeviceSums& Communicator::sums_on(Device device) {
  if (!worker_->device_sums)
    submit("joining devices", 0, [this, device] {
      worker_->device_sums = std::make_unique<DeviceSums>(*worker_->wire, device);
    }).wait();
  if (worker_->device_sums->device() != device)
    throw ConfigError(str("this rank cannot sum on ", device),
                      str("it does so on ", worker_->device_sums->device()), "keep to one device");
  return *worker_->device_sums;
}

Communicator::Pending Communicator::submit_on(Device device, const char* name, std::uint64_t bytes,
                                              const DeviceWork& work) {
  DeviceSums& sums = sums_on(device);
  const auto mark = std::make_shared<DeviceLinks::Mark>(sums.computed());
  Pending pending = submit(name, bytes, [=, this, &sums] {
    worker_->wire->begin(name, bytes);
    *mark = work(sums, *mark);
  });
  pending.job_->after = [&sums, mark] { sums.compute_after(*mark); };
  return pending;
}

std::string Communicator::way_between(Device device) { return alone() ? "" : sums_on(device).way(); }
bool Communicator::has_links(Device device) { return !alone() && sums_on(device).has_links(); }

void Communicator::deliver(const std::vector<Message>& out, const std::vector<Message>& in) {
  std::size_t bytes = 0;
  for (const Message& m : out) check_rank(m.rank), bytes += bytes_in(m.list);
  for (const Message& m : in) check_rank(m.rank);
  if (alone()) return;
  submit("delivery", bytes, [&] {
    Wire& wire = *worker_->wire;
    wire.begin("delivery", 0);
    for (const Message& m : out) wire.send(m.rank, m.list.data, bytes_in(m.list));
    for (const Message& m : in) wire.receive(m.rank, m.list.data, bytes_in(m.list));
    wire.finish();
  }).wait();
}

void Communicator::broadcast(const Tensor& t, int root) {
  check_rank(root);
  if (alone()) return;
  const Staged staged(t);
  submit("broadcast", bytes_of(t), [&] {
    broadcast_bytes(*worker_->wire, staged.data(), bytes_of(t), root);
  }).wait();
  staged.copy_back();
  mark_changed(t);
}

std::string Communicator::broadcast(const std::string& text, int root) {
  check_rank(root);
  std::string result = text;
  if (alone()) return result;
  submit("broadcast of text", text.size(), [&] {
    result = broadcast_text(*worker_->wire, text, root);
  }).wait();
  return result;
}

void Communicator::all_gather(const void* own, void* all, std::size_t bytes) {
  if (alone()) {
    std::memcpy(all, own, bytes);
    return;
  }
  submit("all_gather", bytes, [&] {
    gather_bytes(*worker_->wire, own, static_cast<char*>(all), bytes);
  }).wait();
}

Tensor Communicator::all_gather(const Tensor& t) {
  const Staged staged(t);
  const Tensor all = empty(t.shape().with_inserted(0, size_), t.dtype());
  all_gather(staged.data(), all.view().data, bytes_of(t));
  return to(all, t.device());
}

std::vector<std::string> Communicator::all_gather(const std::string& text) {
  if (alone()) return {text};
  std::vector<std::string> all;
  submit("all_gather of text", text.size(), [&] { all = gather_texts(*worker_->wire, text); }).wait();
  return all;
}

Tensor Communicator::reduce_scatter(const Tensor& t) {
  if (t.rank() == 0 || t.size(0) % size_ != 0)
    throw ShapeError(str("cannot share out ", t.shape(), " among ", size_, " ranks"),
                     "each gets as many rows", "pad the rows, or use all_reduce()");
  const std::int64_t rows = t.size(0) / size_;
  const Tensor sum = empty(t.shape(), t);
  kernels(sum).copy(t.view(), sum.view());
  all_reduce(sum);
  return contiguous(narrow(sum, 0, rank_ * rows, rows));
}

void Communicator::barrier() {
  char own = 0;
  std::vector<char> all(static_cast<std::size_t>(size_));
  all_gather(&own, all.data(), 1);
}

void Communicator::send(const Tensor& t, int to) {
  check_rank(to);
  if (to == rank_)
    throw ConfigError("a rank sends nothing to itself", str("it is rank ", rank_), "name another");
  const Staged staged(t);
  submit("send", bytes_of(t), [&] { worker_->wire->begin_to(to, staged.data(), bytes_of(t)); }).wait();
}

void Communicator::receive(const Tensor& t, int from) {
  check_rank(from);
  if (from == rank_)
    throw ConfigError("a rank gets nothing from itself", str("it is rank ", rank_), "name another");
  const Staged staged(t);
  submit("receive", bytes_of(t), [&] {
    worker_->wire->receive_from(from, staged.data(), bytes_of(t));
  }).wait();
  staged.copy_back();
  mark_changed(t);
}

Timeline* Communicator::timeline() const { return worker_ ? worker_->options.timeline : nullptr; }
std::uint64_t Communicator::bytes_sent() const { return worker_ ? worker_->wire->bytes_sent() : 0; }

void Communicator::abort(int status) {
  if (!worker_ || !worker_->wire) return;
  const auto end = [this, status] { worker_->wire->transport().abort(status); };
  if (std::this_thread::get_id() == worker_->thread.get_id())
    end();
  else
    submit("end", 0, end, true).wait();
}

}  // namespace veldt::dist
