// Veldt's exceptions: an Error says what happened, why, and how to fix it, with the numbers.
// Tests: tests/core/error_test.cpp
#pragma once

#include <initializer_list>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace veldt {

// One argument of str(): its address, and the function that writes it. Code for a stream in every str() would
// be a tenth of the library.
class StrPart {
 public:
  explicit StrPart(const char* text) : value_(text), write_(write_text) {}
  template <class T> explicit StrPart(const T& value) : value_(&value), write_(write<T>) {}

  void write_to(std::ostream& out) const { write_(out, value_); }

 private:
  static void write_text(std::ostream& out, const void* text);
  template <class T> static void write(std::ostream& out, const void* value) {
    out << *static_cast<const T*>(value);
  }

  const void* value_;
  void (*write_)(std::ostream&, const void*);
};

std::string join_parts(std::initializer_list<StrPart> parts);

// Joins its arguments into one string through operator<<: str("got ", 3, " rows").
template <class... Parts> std::string str(const Parts&... parts) { return join_parts({StrPart(parts)...}); }

// The base of everything the library throws. Three short sentences without a final stop;
// what() joins them with newlines. The destructors are in error.cpp, so that each class's tables are only
// there.
class Error : public std::runtime_error {
 public:
  // The module that was running: its path from the outermost called one, its title, and that outermost one,
  // so that the next module outwards can find it. nn::Module fills this in while the error passes through.
  struct Place {
    std::string path, title;
    const void* outermost = nullptr;
  };

  Error(std::string_view what, std::string_view why, std::string_view fix);
  ~Error() override;

  const char* what() const noexcept override { return text_.c_str(); }
  // The first sentence; with a place it ends in ", in body.2 (Linear(64, 10))".
  const std::string& summary() const { return summary_; }
  const std::string& why() const { return why_; }
  const std::string& fix() const { return fix_; }

  const Place& place() const { return place_; }
  void set_place(Place place);

 private:
  void join();

  std::string summary_, why_, fix_, first_line_, text_;
  Place place_;
};

// Sizes, ranks or dtypes that do not fit together.
class ShapeError : public Error {
 public:
  using Error::Error;
  ~ShapeError() override;
};

// A device that is missing, or an op that a device cannot do.
class DeviceError : public Error {
 public:
  using Error::Error;
  ~DeviceError() override;
};

// A backend without a kernel for an entry of the waist, or for a dtype there.
class NoKernel : public DeviceError {
 public:
  using DeviceError::DeviceError;
  ~NoKernel() override;
};

// Memory that could not be allocated; the text has the number of bytes.
class OutOfMemory : public Error {
 public:
  using Error::Error;
  ~OutOfMemory() override;
};

// An invalid option or configuration value (rate below zero, unknown name).
class ConfigError : public Error {
 public:
  using Error::Error;
  ~ConfigError() override;
};

// Words that a person wrote and that cannot be used: a line of a recipe or of a configuration, a flag of the
// command, a file given to a call that is for another kind.
class UsageError : public ConfigError {
 public:
  using ConfigError::ConfigError;
  ~UsageError() override;
};

// Training produced a number that is not finite; the text names the first bad parameter.
class DivergedError : public Error {
 public:
  using Error::Error;
  ~DivergedError() override;
};

// Another process of the same training is gone, or nothing is heard of it.
class LostError : public Error {
 public:
  using Error::Error;
  ~LostError() override;
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
  IoError(Kind kind, std::string_view what, std::string_view why, std::string_view fix);
  ~IoError() override;
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace veldt
