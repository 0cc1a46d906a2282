// Joins devices beside the thread that speaks, and carries lists over their links or the wire.
#include "veldt/dist/device_sums.h"

#include <chrono>
#include <exception>
#include <future>
#include <thread>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/dist/carriers.h"
#include "veldt/dist/collectives.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/device_library.h"

namespace veldt::dist {
namespace {

constexpr double kToJoin = 60;  // seconds

// The links, or why there are none.
struct Joined {
  std::unique_ptr<DeviceLinks> links;
  std::string why;
};

// Joining may wait for long, so it is done beside the thread that gives signs of life, and left to itself if
// it does not end.
Joined join_with_signs_of_life(Wire& wire, const DevicePlugin& plugin, const std::string& id) {
  const auto promise = std::make_shared<std::promise<Joined>>();
  std::future<Joined> joined = promise->get_future();
  const auto start = std::chrono::steady_clock::now();
  std::thread([promise, &plugin, id, rank = wire.rank(), size = wire.size()] {
    Joined result;
    try {
      result.links = plugin.open_links(id, rank, size);
    } catch (const Error& error) {
      result.why = error.why();
    } catch (const std::exception& error) {
      result.why = error.what();
    }
    promise->set_value(std::move(result));
  }).detach();
  while (joined.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    wire.live();
    wire.check_for_leavers();
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > kToJoin)
      return {nullptr, str("the devices have not come together for ", kToJoin, " seconds")};
  }
  return joined.get();
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
    backend(device_);  // opens it
    way_ = link_library(device_.kind);
    plugin = &device_library(device_.kind);
    if (wire_.rank() == 0) id = plugin->new_links_id();
  } catch (const Error& error) {
    own = error.why();
  }
  std::string why = first_reason(wire_, own);
  if (why.empty()) {
    id = broadcast_text(wire_, id, 0);
    Joined joined = join_with_signs_of_life(wire_, *plugin, id);
    links_ = std::move(joined.links);
    why = first_reason(wire_, joined.why);
  }
  if (why.empty()) return;
  if (links_) links_->abandon();  // the others may never have come
  links_.reset();
  way_ = str("the memory of the host (", why, ")");
}

DeviceSums::Mark DeviceSums::sum(const std::vector<View>& nodes, const View& out, std::int64_t leaves,
                                 const SumOptions& options, const Mark& after) {
  if (links_) {
    links_->begin(after);
    LinkCarrier carrier(*links_, device_, wire_);
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
    LinkCarrier carrier(*links_, device_, wire_);
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
