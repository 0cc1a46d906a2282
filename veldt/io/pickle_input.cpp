// Reads a pickle through a buffer. A length that the pickle claims is checked against what is left, and its
// bytes are taken in portions, so that memory follows what was really there.
#include "veldt/io/pickle_input.h"

#include <algorithm>

#include "veldt/core/error.h"

namespace veldt::io {

void PickleInput::fail(const std::string& why) const {
  throw IoError(IoError::Kind::malformed, "cannot read " + name_,
                str(why, ", at byte ", taken_, " of its pickle"), "save, copy or download the file again");
}

void PickleInput::fill() {
  if (unread_ == 0) fail("it ends early");
  buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(unread_, std::uint64_t{1} << 16)));
  next_ = 0;
  read_(buffer_.data(), buffer_.size());
  unread_ -= buffer_.size();
}

std::uint64_t PickleInput::little_endian(int bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::uint64_t{byte()} << (8 * i);
  return value;
}

std::string PickleInput::take(std::uint64_t bytes) {
  if (bytes > left()) fail(str("it would go on for ", bytes, " bytes and has ", left()));
  std::string text;
  while (bytes > 0) {
    if (next_ == buffer_.size()) fill();
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, buffer_.size() - next_));
    text.append(buffer_, next_, part);
    next_ += part;
    taken_ += part;
    bytes -= part;
  }
  return text;
}

std::string PickleInput::line() {
  std::string text;
  for (;;) {
    if (next_ == buffer_.size()) fill();
    const std::size_t end = buffer_.find('\n', next_);
    const std::size_t stop = std::min(end, buffer_.size());
    text.append(buffer_, next_, stop - next_);
    taken_ += stop - next_;
    next_ = stop;
    if (end == std::string::npos) continue;
    byte();
    return text;
  }
}

}  // namespace veldt::io
