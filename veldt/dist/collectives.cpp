// Everybody to everybody, and along a tree.
#include "veldt/dist/collectives.h"

#include <cstdint>
#include <cstring>

namespace veldt::dist {

void gather_bytes(Wire& wire, const void* own, char* all, std::size_t bytes) {
  wire.begin("all_gather", bytes);
  for (int r = 0; r < wire.size(); ++r) {
    char* const place = all + static_cast<std::size_t>(r) * bytes;
    if (r == wire.rank()) {
      if (bytes > 0) std::memcpy(place, own, bytes);
      continue;
    }
    wire.send(r, own, bytes);
    wire.receive(r, place, bytes);
  }
  wire.finish();
}

std::vector<std::string> gather_texts(Wire& wire, const std::string& own) {
  const auto count = static_cast<std::size_t>(wire.size());
  std::vector<std::uint64_t> lengths(count);
  const std::uint64_t length = own.size();
  gather_bytes(wire, &length, reinterpret_cast<char*>(lengths.data()), sizeof length);
  std::vector<std::string> all(count);
  wire.begin("all_gather of text", 0);
  for (int r = 0; r < wire.size(); ++r) {
    const auto at = static_cast<std::size_t>(r);
    all[at].resize(lengths[at]);
    if (r == wire.rank()) {
      all[at] = own;
      continue;
    }
    wire.send(r, own.data(), own.size());
    wire.receive(r, all[at].data(), all[at].size());
  }
  wire.finish();
  return all;
}

// Along a binomial tree: after k rounds 2^k ranks have it.
void broadcast_bytes(Wire& wire, void* data, std::size_t bytes, int root) {
  wire.begin("broadcast", bytes);
  const int size = wire.size(), place = (wire.rank() - root + size) % size;
  int round = 1;
  for (; round < size; round *= 2)
    if ((place & round) != 0) {
      wire.receive((place - round + root) % size, data, bytes);
      wire.finish();
      break;
    }
  for (round /= 2; round > 0; round /= 2)
    if (place + round < size) wire.send((place + round + root) % size, data, bytes);
  wire.finish();
}

std::string broadcast_text(Wire& wire, const std::string& own, int root) {
  std::string text = own;
  std::uint64_t length = text.size();
  broadcast_bytes(wire, &length, sizeof length, root);
  text.resize(length);
  broadcast_bytes(wire, text.data(), length, root);
  return text;
}

}  // namespace veldt::dist
