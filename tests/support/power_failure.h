// Power failures, replayed. A journal notes what a piece of work does to the files below a directory. From it
// come the trees that a disk may hold after a failure at any moment: what fsync made durable, and of the rest
// any part, in any order. The bytes of a file need an fsync of the file; its name, new, moved or removed, one
// of the directory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/system_calls.h"
#include "veldt/core/rng.h"

namespace veldt::test {

class Journal final : public Watcher {
 public:
  // Starts at a directory that is empty, and durable itself.
  explicit Journal(std::string root) : root_(std::move(root)), now_(1) {}
  int before(const SystemCall&) override { return 0; }
  void after(const SystemCall& call, std::int64_t result) override;

  // What the work tells its caller: number `what` is durable from here on.
  void promise(std::int64_t what) { steps_.push_back({.kind = Kind::promise, .offset = what}); }

  // For each moment, `trees` trees that may be left: the least, the most, and others by chance. `check` gets
  // the directory that holds one, and the last promise, or -1. It may change what it gets.
  void replay(int trees,
              const std::function<void(const std::string& root, std::int64_t promised)>& check) const;

 private:
  enum class Kind { write, truncate, sync, name, rename, exchange, unname, promise };
  struct Step {
    Kind kind{};
    int node = 0;                    // what is written, synced or named
    int directory = 0;               // where its name is
    std::string name = {}, to = {};  // `to`: the new one, in the same directory
    std::int64_t offset = 0;         // of bytes; the size after truncate
    std::string bytes = {};
  };
  struct Node {
    std::string bytes;
    std::map<std::string, int> names;  // of a directory
    bool is_directory = false;
  };
  using Tree = std::vector<Node>;  // node 0 is the root

  void note(Step step);
  // The directory and the name in it; {-1, ..} outside of the root.
  std::pair<int, std::string> place_of(const std::string& path) const;
  int node_of(const std::string& path) const;
  int named(const std::string& path, bool is_directory);
  bool is_durable(std::size_t step, std::size_t moment) const;
  static void apply(const Step& step, Tree& tree);
  static void put(const Tree& tree, int node, const std::string& path);

  std::string root_;
  Tree now_;  // as the program sees it
  std::vector<Step> steps_;
  std::map<int, std::pair<int, std::int64_t>> open_;  // node and position, by file descriptor
};

}  // namespace veldt::test
