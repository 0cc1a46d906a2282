// Replays a journal of file operations up to any moment, with what had not been synced lost.
#include "tests/support/power_failure.h"

#include <fcntl.h>
#include <linux/fs.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

namespace veldt::test {

std::pair<int, std::string> Journal::place_of(const std::string& path) const {
  if (!path.starts_with(root_ + "/")) return {-1, ""};
  int directory = 0;
  std::string last;
  for (const auto& part : std::filesystem::path(path.substr(root_.size() + 1)).lexically_normal()) {
    if (part.empty()) continue;  // a slash at the end
    if (!last.empty()) {
      const auto found = now_[directory].names.find(last);
      if (found == now_[directory].names.end()) return {-1, ""};
      directory = found->second;
    }
    last = part;
  }
  return {directory, last};
}

int Journal::node_of(const std::string& path) const {
  if (path == root_) return 0;
  const auto [directory, name] = place_of(path);
  if (directory < 0) return -1;
  const auto found = now_[static_cast<std::size_t>(directory)].names.find(name);
  return found == now_[static_cast<std::size_t>(directory)].names.end() ? -1 : found->second;
}

void Journal::note(Step step) {
  apply(step, now_);
  steps_.push_back(std::move(step));
}

int Journal::named(const std::string& path, bool is_directory) {
  const auto [directory, name] = place_of(path);
  const int node = static_cast<int>(now_.size());
  now_.emplace_back().is_directory = is_directory;
  note({.kind = Kind::name, .node = node, .directory = directory, .name = name});
  return node;
}

void Journal::after(const SystemCall& call, std::int64_t result) {
  if (call.path != nullptr && place_of(call.path).first < 0 && call.path != root_) return;
  const auto file = open_.find(call.fd);
  switch (call.call) {
    case Call::open: {
      int node = node_of(call.path);
      if (node < 0) node = named(call.path, false);
      if ((call.flags & O_TRUNC) != 0) note({.kind = Kind::truncate, .node = node});
      open_[static_cast<int>(result)] = {node, 0};
      break;
    }
    case Call::write:
      if (file == open_.end()) break;
      note({.kind = Kind::write,
            .node = file->second.first,
            .offset = file->second.second,
            .bytes = {static_cast<const char*>(call.data), static_cast<std::size_t>(result)}});
      file->second.second += result;
      break;
    case Call::truncate:
      if (file != open_.end())
        note({.kind = Kind::truncate,
              .node = file->second.first,
              .offset = static_cast<std::int64_t>(call.bytes)});
      break;
    case Call::sync:
      if (file != open_.end()) note({.kind = Kind::sync, .node = file->second.first});
      break;
    case Call::rename: {
      const auto [directory, name] = place_of(call.path);
      note({.kind = (call.flags & RENAME_EXCHANGE) != 0 ? Kind::exchange : Kind::rename,
            .node = node_of(call.path),
            .directory = directory,
            .name = name,
            .to = place_of(call.to).second});
      break;
    }
    case Call::remove: {
      const auto [directory, name] = place_of(call.path);
      note({.kind = Kind::unname, .directory = directory, .name = name});
      break;
    }
    case Call::make_directory: named(call.path, true); break;
    default: break;
  }
}

void Journal::apply(const Step& step, Tree& tree) {
  Node& node = tree[static_cast<std::size_t>(step.node)];
  auto& names = tree[static_cast<std::size_t>(step.directory)].names;
  switch (step.kind) {
    case Kind::write: {
      const auto at = static_cast<std::size_t>(step.offset);
      if (node.bytes.size() < at + step.bytes.size()) node.bytes.resize(at + step.bytes.size());
      node.bytes.replace(at, step.bytes.size(), step.bytes);
      break;
    }
    case Kind::truncate: node.bytes.resize(static_cast<std::size_t>(step.offset)); break;
    case Kind::name: names[step.name] = step.node; break;
    case Kind::rename:
      names.erase(step.name);
      names[step.to] = step.node;
      break;
    case Kind::exchange: std::swap(names[step.name], names[step.to]); break;
    case Kind::unname: names.erase(step.name); break;
    case Kind::sync:
    case Kind::promise: break;
  }
}

bool Journal::is_durable(std::size_t step, std::size_t moment) const {
  const Step& s = steps_[step];
  const bool is_of_bytes = s.kind == Kind::write || s.kind == Kind::truncate;
  for (std::size_t later = step + 1; later < moment; ++later)
    if (steps_[later].kind == Kind::sync && steps_[later].node == (is_of_bytes ? s.node : s.directory))
      return true;
  return false;
}

void Journal::put(const Tree& tree, int number, const std::string& path) {
  const Node& node = tree[static_cast<std::size_t>(number)];
  if (!node.is_directory && number != 0) return put_bytes(path, node.bytes);
  std::filesystem::create_directories(path);
  for (const auto& [name, below] : node.names) put(tree, below, path + "/" + name);
}

void Journal::replay(int trees, const std::function<void(const std::string&, std::int64_t)>& check) const {
  Rng rng(1);
  std::int64_t promised = -1;
  for (std::size_t moment = 0; moment <= steps_.size(); ++moment) {
    if (moment > 0 && steps_[moment - 1].kind == Kind::promise) promised = steps_[moment - 1].offset;
    for (int which = 0; which < trees; ++which) {
      Tree tree(now_.size());
      for (std::size_t i = 0; i < now_.size(); ++i) tree[i].is_directory = now_[i].is_directory;
      for (std::size_t i = 0; i < moment; ++i) {
        const bool kept = which == 1 || (which > 1 && rng.next_below(2) == 1);
        if (kept || is_durable(i, moment)) apply(steps_[i], tree);
      }
      const TempDir dir = TempDir::in_memory();
      put(tree, 0, dir / "disk");
      check(dir / "disk", promised);
    }
  }
}

}  // namespace veldt::test
