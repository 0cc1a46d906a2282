// The bytes of a pickle, in order, from a file or a member of an archive. Only for the files of io.
// Tests: tests/io/pickle_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace veldt::io {

class PickleInput {
 public:
  // `read(to, bytes)` fills all of them or throws; `left` is how many there are. `name` is for errors.
  PickleInput(std::string name, std::uint64_t left, std::function<void(void*, std::size_t)> read)
      : name_(std::move(name)), unread_(left), read_(std::move(read)) {}

  const std::string& name() const { return name_; }
  std::uint64_t taken() const { return taken_; }                             // bytes so far
  std::uint64_t left() const { return unread_ + (buffer_.size() - next_); }  // to the end

  // Each throws IoError malformed beyond the end.
  unsigned byte() {
    if (next_ == buffer_.size()) fill();
    ++taken_;
    return static_cast<unsigned char>(buffer_[next_++]);
  }
  std::uint64_t little_endian(int bytes);  // up to 8 of them
  std::string take(std::uint64_t bytes);
  std::string line();  // to the next "\n", which is left out

  [[noreturn]] void fail(const std::string& why) const;

 private:
  void fill();

  std::string name_;
  std::uint64_t unread_ = 0;  // of the source
  std::function<void(void*, std::size_t)> read_;
  std::string buffer_;
  std::size_t next_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace veldt::io
