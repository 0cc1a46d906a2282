// Joins devices beside the thread that speaks, and carries lists over their links or the wire.
#include "veldt/dist/device_sums.h"

#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/dist/carriers.h"
#include "veldt/dist/collectives.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"

namespace veldt::dist {
namespace {

// What `work` gives, which may wait for long without a sign of life. If another rank is lost meanwhile, the
// work is left to itself.
template <class Work> auto with_signs_of_life(Wire& wire, const Work& work) {
  using Result = std::invoke_result_t<Work>;
  const auto promise = std::make_shared<std::promise<Result>>();
  std::future<Result> result = promise->get_future();
  std::thread([promise, work] {
    try {
      promise->set_value(work());
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) wire.live();
  return result.get();
}

// The reason of the first rank that has one.
std::string first_reason(Wire& wire, const std::string& own) {
  const std::vector<std::string> all = gather_texts(wire, own);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (!all[r].empty()) return str(wire.name_of(static_cast<int>(r)), ": ", all[r]);
  return {};
}

// A copy of a device's list in the memory of the host.
Tensor host_copy(Device device, const View& list) {
  const Tensor copy = empty(list.shape, list.dtype);
  backend(device).download(copy.view().data, list.data, bytes_in(list));
  return copy;
}
void copy_back(Device device, const Tensor& copy, const View& list) {
  backend(device).upload(list.data, copy.view().data, bytes_in(list));
}

}  // namespace

DeviceSums::DeviceSums(Wire& wire, Device device) : wire_(wire), device_(device) { join(); }

void DeviceSums::join() {
  const DevicePlugin* plugin = nullptr;
  std::string own, id;
  try {
    way_ = link_library(device_.kind);
    plugin = &device_library(device_.kind);
    if (wire_.rank() == 0) id = plugin->new_links_id();
  } catch (const Error& error) {
    own = error.why();
  }
  std::string why = first_reason(wire_, own);
  if (why.empty()) {
    id = broadcast_text(wire_, id, 0);
    const int rank = wire_.rank(), size = wire_.size();
    try {
      links_ = with_signs_of_life(wire_, [=] { return plugin->open_links(id, rank, size); });
    } catch (const DeviceError& error) {
      own = error.why();
    }
    why = first_reason(wire_, own);
  }
  if (why.empty()) return;
  links_.reset();
  way_ = str("the memory of the host (", why, ")");
}

DeviceSums::Mark DeviceSums::sum(const std::vector<View>& nodes, const View& out, std::int64_t leaves,
                                 const SumOptions& options, const Mark& after) {
  if (links_) {
    links_->begin(after);
    LinkCarrier carrier(*links_, device_, wire_.rank(), wire_.size());
    sum_over_ranks(carrier, nodes, out, leaves, options);
    return links_->end();
  }
  std::vector<Tensor> copies;
  std::vector<View> lists;
  for (const View& node : nodes) {
    copies.push_back(host_copy(device_, node));
    lists.push_back(copies.back().view());
  }
  // With one node it has the place of the sum.
  const Tensor sum = copies.size() == 1 ? copies[0] : empty(out.shape, out.dtype);
  HostCarrier carrier(wire_);
  sum_over_ranks(carrier, lists, sum.view(), leaves, options);
  copy_back(device_, sum, out);
  return nullptr;
}

DeviceSums::Mark DeviceSums::gather(const std::vector<View>& lists, const Mark& after) {
  if (links_) {
    links_->begin(after);
    LinkCarrier carrier(*links_, device_, wire_.rank(), wire_.size());
    gather_shares(carrier, lists);
    return links_->end();
  }
  std::vector<Tensor> copies;
  std::vector<View> views;
  for (const View& list : lists) {
    copies.push_back(host_copy(device_, list));
    views.push_back(copies.back().view());
  }
  HostCarrier carrier(wire_);
  gather_shares(carrier, views);
  for (std::size_t i = 0; i < lists.size(); ++i) copy_back(device_, copies[i], lists[i]);
  return nullptr;
}

}  // namespace veldt::dist
