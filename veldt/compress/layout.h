// What the channels of a value are: which units of which groups lie one after the other along its dimension.
// Tests: tests/compress/channels_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "veldt/compress/channels.h"

namespace veldt::compress {

// Units of one group, each of so many numbers.
struct Segment {
  std::size_t group = 0;
  std::int64_t repeat = 1;
};

// Of a value: along `axis` its segments, in order. Values without channels, such as tokens, have none.
struct Layout {
  int axis = 1;
  std::vector<Segment> segments;
};

// The groups while they are found: some turn out to be one.
class Groups {
 public:
  // A new group of so many units.
  std::size_t add(std::int64_t size, ChannelGroup::Unit unit = ChannelGroup::Unit::channel);
  std::int64_t size_of(const Layout& layout) const;
  void add_part(std::size_t group, ChannelPart part) { at(group).parts.push_back(std::move(part)); }
  void add_layer(std::size_t group, SizedLayer layer) { at(group).layers.push_back(std::move(layer)); }
  // Along dimension `dim` of a tensor, from its beginning on, lie the units of the layout.
  void add_parts(const Layout& layout, const std::string& tensor, int dim, ChannelPart::Role role);
  // None of these units can go, for this reason, unless there was one before.
  void fix(const Layout& layout, const std::string& why);
  void fix_group(std::size_t group, const std::string& why);
  // Units at the same place go together. False, and both are fixed, where they lie in different ways.
  bool join(const Layout& a, const Layout& b, const std::string& why_not);

  // Those that are left, in the order in which they were added.
  std::vector<ChannelGroup> take();

 private:
  std::size_t root(std::size_t group) const;
  ChannelGroup& at(std::size_t group) { return all_[root(group)]; }

  std::vector<ChannelGroup> all_;
  std::vector<std::size_t> same_as_;  // of each the one that it has become a part of, or itself
};

}  // namespace veldt::compress
