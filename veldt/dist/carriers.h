// How the numbers of a sum get to other ranks: over the wire, from the memory of the host, or over the links
// of a device. Only for files of dist/.
// Tests: tests/dist/communicator_test.cpp, tests/cuda/nccl_test.cpp
#pragma once

#include <vector>

#include "veldt/core/device_links.h"
#include "veldt/dist/sums.h"
#include "veldt/dist/wire.h"
#include "veldt/tensor/tensor.h"

namespace veldt::dist {

inline std::size_t bytes_in(const View& v) {
  return static_cast<std::size_t>(numel(v.shape)) * size_of(v.dtype);
}

class HostCarrier final : public Carrier {
 public:
  explicit HostCarrier(Wire& wire) : wire_(wire) {}
  int rank() const override { return wire_.rank(); }
  int size() const override { return wire_.size(); }
  Device device() const override { return {}; }
  View take(std::int64_t count, DType dtype) override {
    taken_.push_back(empty({count}, dtype));
    return taken_.back().view();
  }
  void send(int to, const View& list) override { wire_.send(to, list.data, bytes_in(list)); }
  void receive(int from, const View& list) override { wire_.receive(from, list.data, bytes_in(list)); }
  void finish() override { wire_.finish(); }

 private:
  Wire& wire_;
  std::vector<Tensor> taken_;
};

// Between begin() and end() of the links.
class LinkCarrier final : public Carrier {
 public:
  LinkCarrier(DeviceLinks& links, Device device, Wire& wire) : links_(links), device_(device), wire_(wire) {}
  int rank() const override { return wire_.rank(); }
  int size() const override { return wire_.size(); }
  Device device() const override { return device_; }
  View take(std::int64_t count, DType dtype) override {
    return {links_.take(static_cast<std::size_t>(count) * size_of(dtype)), dtype, {count}, {1}};
  }
  void send(int to, const View& list) override {
    wire_.count_sent(bytes_in(list));
    links_.send(to, list.data, bytes_in(list));
  }
  void receive(int from, const View& list) override { links_.receive(from, list.data, bytes_in(list)); }
  void finish() override { links_.finish(); }

 private:
  DeviceLinks& links_;
  Device device_;
  Wire& wire_;
};

}  // namespace veldt::dist
