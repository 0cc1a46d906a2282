// Sums over ranks of lists on a device: over links between the devices (NCCL's) where all ranks have them,
// else through the memory of the hosts. Only for files of dist/.
// Tests: tests/cuda/nccl_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "veldt/core/device_links.h"
#include "veldt/dist/sums.h"
#include "veldt/dist/wire.h"

namespace veldt::dist {

// Used by the thread of the wire, but for computed() and compute_after(), which the thread that computes
// calls.
class DeviceSums {
 public:
  using Mark = DeviceLinks::Mark;

  // All ranks make one. Keeps a reference. Throws LostError.
  DeviceSums(Wire& wire, Device device);

  Device device() const { return device_; }
  // "NCCL 2.27.7", or "the memory of the host (REASON)"
  const std::string& way() const { return way_; }
  bool has_links() const { return links_ != nullptr; }

  // See DeviceLinks: a sum reads its lists after the mark, and what is computed after the mark that it
  // returns reads the sum. Null without links, where it waits for the device.
  Mark computed() const { return links_ ? links_->computed() : nullptr; }
  void compute_after(const Mark& mark) const {
    if (mark) links_->compute_after(mark);
  }

  // See sums.h.
  Mark sum(const std::vector<View>& nodes, const View& out, std::int64_t leaves, const SumOptions& options,
           const Mark& after);
  Mark gather(const std::vector<View>& lists, const Mark& after);

  // While nothing else is done: throws if messages of the device have failed, or a rank has left to whose
  // messages it may be waiting.
  void check() const {
    if (!links_) return;
    links_->check();
    wire_.check_for_leavers();
  }
  // After a failure: what the device waits for ends.
  void abandon() {
    if (links_) links_->abandon();
  }

 private:
  void join();

  Wire& wire_;
  Device device_;
  std::unique_ptr<DeviceLinks> links_;
  std::string way_;
};

}  // namespace veldt::dist
