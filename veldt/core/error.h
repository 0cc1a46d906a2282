// What Veldt throws: an Error says what happened, why, and how to mend it, with the numbers in it.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace veldt {

// Joins its arguments into one string through operator<<: str("got ", 3, " rows").
template <class... Parts> std::string str(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

// The base of everything the library throws. Three short sentences without a final stop;
// what() joins them with newlines.
class Error : public std::runtime_error {
 public:
  // The module that was running: its path from the outermost one that was called, its title, and that
  // outermost one, by which the next one out knows it. nn::Module fills it in while the error passes through.
  struct Place {
    std::string path, title;
    const void* outermost = nullptr;
  };

  Error(std::string what, std::string why, std::string fix)
      : std::runtime_error(what),
        summary_(std::move(what)),
        why_(std::move(why)),
        fix_(std::move(fix)),
        first_line_(summary_) {
    join();
  }

  const char* what() const noexcept override { return text_.c_str(); }
  // The first sentence; with a place it ends in ", in body.2 (Linear(64, 10))".
  const std::string& summary() const { return summary_; }
  const std::string& why() const { return why_; }
  const std::string& fix() const { return fix_; }

  const Place& place() const { return place_; }
  void set_place(Place place) {
    place_ = std::move(place);
    summary_ = first_line_ + ", in " +
               (place_.path.empty() ? place_.title : place_.path + " (" + place_.title + ")");
    join();
  }

 private:
  void join() { text_ = summary_ + "\n  why: " + why_ + "\n  fix: " + fix_; }

  std::string summary_, why_, fix_, first_line_, text_;
  Place place_;
};

// Sizes, ranks or dtypes that do not fit together.
class ShapeError : public Error {
  using Error::Error;
};

// A device that is missing, or an op that a device cannot do.
class DeviceError : public Error {
  using Error::Error;
};

// Memory that could not be had; the text names the bytes asked for.
class OutOfMemory : public Error {
  using Error::Error;
};

// An option or configuration value that makes no sense (rate below zero, unknown name).
class ConfigError : public Error {
  using Error::Error;
};

// Training produced a number that is not finite; the text names the first bad parameter.
class DivergedError : public Error {
  using Error::Error;
};

// A file that could not be read or written. The kind tells a caller how to react.
class IoError : public Error {
 public:
  enum class Kind {
    missing,     // no such file, or it cannot be opened for reading
    malformed,   // it is there, but its content breaks its format
    unwritable,  // the output cannot be written: no space, no permission, a device error
    corrupt,     // a checkpoint or model that fails its own hashes, or is of an unknown version
  };
  IoError(Kind kind, std::string what, std::string why, std::string fix)
      : Error(std::move(what), std::move(why), std::move(fix)), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace veldt
