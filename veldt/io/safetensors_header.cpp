// Takes a header's entries from a JSON parser event by event, so that a hostile one is never built as a tree.
#include "veldt/io/safetensors_header.h"

#include <nlohmann/json.hpp>

#include <set>

#include "veldt/core/error.h"

namespace veldt::io {
namespace {

// Handles the JSON while it is read: a parsed document would keep only the last of two equal keys, and could
// nest until the stack overflows. The text is
//   {"__metadata__": {key: string, ...}, name: {"dtype": string, "shape": [...], "data_offsets": [2
//   numbers]}, ...}
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderHandler(SafeTensorsHeader& header) : header_(header) {}
  const std::string& fault() const { return fault_; }

  bool null() override { return refuse("holds null"); }
  bool boolean(bool) override { return refuse("holds true or false"); }
  bool number_integer(number_integer_t) override { return refuse("holds a number below zero"); }
  bool number_float(number_float_t, const string_t&) override {
    return refuse("holds a number that is not an integer");
  }
  bool binary(binary_t&) override { return refuse("holds binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::shape && place_ != Place::offsets)
      return refuse("holds a number in the wrong place");
    if (value > (std::uint64_t{1} << 62)) return refuse(str("holds the number ", value));
    if (numbers_.size() == 64) return refuse("has a list that is too long");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = value;
      return true;
    }
    if (place_ != Place::tensor || key_ != "dtype") return refuse("holds a text in the wrong place");
    header_.tensors.back().dtype = value;
    return true;
  }

  bool key(string_t& key) override {
    key_ = key;
    std::set<std::string>& keys = place_ == Place::root ? names_ : keys_;
    if (!keys.insert(key).second) return refuse(str("has the key ", key, " twice"));
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::root;
    } else if (place_ == Place::root) {
      keys_.clear();
      place_ = key_ == "__metadata__" ? Place::metadata : Place::tensor;
      if (place_ == Place::tensor) {
        if (header_.tensors.size() == kMaxTensors)
          return refuse(str("lists more than the ", kMaxTensors, " tensors that are allowed"));
        header_.tensors.push_back({.name = key_});
      }
    } else {
      return refuse("has an object in the wrong place");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && keys_ != std::set<std::string>{"data_offsets", "dtype", "shape"})
      return refuse(
          str("describes tensor ", header_.tensors.back().name, " without dtype, shape or data_offsets"));
    place_ = place_ == Place::root ? Place::outside : Place::root;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || (key_ != "shape" && key_ != "data_offsets"))
      return refuse("has a list in the wrong place");
    place_ = key_ == "shape" ? Place::shape : Place::offsets;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    TensorInfo& tensor = header_.tensors.back();
    if (place_ == Place::shape) {
      tensor.shape.assign(numbers_.begin(), numbers_.end());
    } else if (numbers_.size() != 2) {
      return refuse(str("gives tensor ", tensor.name, " ", numbers_.size(), " offsets"));
    } else {
      tensor.begin = numbers_[0];
      tensor.end = numbers_[1];
    }
    place_ = Place::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    return refuse(str("is not JSON in UTF-8 from byte ", position));
  }

 private:
  enum class Place { outside, root, metadata, tensor, shape, offsets };

  bool refuse(const std::string& what) {
    if (fault_.empty()) fault_ = "its header " + what;
    return false;
  }

  SafeTensorsHeader& header_;
  Place place_ = Place::outside;
  std::string key_;
  std::set<std::string> names_, keys_;  // of the root, of the object within it
  std::vector<std::uint64_t> numbers_;
  std::string fault_;
};

}  // namespace

std::string parse_safetensors_header(const std::string& text, SafeTensorsHeader& header) {
  if (!text.starts_with('{')) return "its header does not begin with a brace";
  // Padding is spaces only.
  const std::size_t last = text.find_last_not_of(' ');
  if (text[last] != '}') return "its header does not end with a brace";
  HeaderHandler handler(header);
  if (nlohmann::json::sax_parse(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(last) + 1, &handler))
    return {};
  return handler.fault().empty() ? "its header is not JSON" : handler.fault();
}

}  // namespace veldt::io
