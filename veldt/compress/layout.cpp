// Keeps groups of units, and makes one of two that go together.
#include "veldt/compress/layout.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace veldt::compress {

std::size_t Groups::add(std::int64_t size, ChannelGroup::Unit unit) {
  all_.push_back({.unit = unit, .size = size, .parts = {}, .layers = {}, .fixed = {}});
  same_as_.push_back(all_.size() - 1);
  return all_.size() - 1;
}

std::size_t Groups::root(std::size_t group) const {
  while (same_as_[group] != group) group = same_as_[group];
  return group;
}

std::int64_t Groups::size_of(const Layout& layout) const {
  std::int64_t size = 0;
  for (const Segment& segment : layout.segments) size += all_[root(segment.group)].size * segment.repeat;
  return size;
}

void Groups::add_parts(const Layout& layout, const std::string& tensor, int dim, ChannelPart::Role role) {
  std::int64_t offset = 0;
  for (const Segment& segment : layout.segments) {
    add_part(segment.group, {tensor, dim, offset, segment.repeat, role});
    offset += at(segment.group).size * segment.repeat;
  }
}

void Groups::fix_group(std::size_t group, const std::string& why) {
  if (at(group).fixed.empty()) at(group).fixed = why;
}

void Groups::fix(const Layout& layout, const std::string& why) {
  for (const Segment& segment : layout.segments) fix_group(segment.group, why);
}

bool Groups::join(const Layout& a, const Layout& b, const std::string& why_not) {
  bool same = a.axis == b.axis && a.segments.size() == b.segments.size();
  for (std::size_t i = 0; same && i < a.segments.size(); ++i)
    same = a.segments[i].repeat == b.segments[i].repeat &&
           at(a.segments[i].group).size == at(b.segments[i].group).size;
  if (!same) {
    fix(a, why_not);
    fix(b, why_not);
    return false;
  }
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    std::size_t into = root(a.segments[i].group), from = root(b.segments[i].group);
    if (into == from) continue;
    if (from < into) std::swap(into, from);
    ChannelGroup& one = all_[into];
    ChannelGroup other = std::exchange(all_[from], {});
    same_as_[from] = into;
    std::move(other.parts.begin(), other.parts.end(), std::back_inserter(one.parts));
    std::move(other.layers.begin(), other.layers.end(), std::back_inserter(one.layers));
    if (one.fixed.empty()) one.fixed = std::move(other.fixed);
  }
  return true;
}

std::vector<ChannelGroup> Groups::take() {
  std::vector<ChannelGroup> left;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (root(i) == i) left.push_back(std::move(all_[i]));
  return left;
}

}  // namespace veldt::compress
