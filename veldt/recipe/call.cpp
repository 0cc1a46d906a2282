// Reads calls like Conv2d(6, 5, padding=2) from text, and names each argument that a call does not take.
#include "veldt/recipe/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "veldt/io/suggest.h"

namespace veldt::recipe {
namespace {

// Of "[3, 5]", or "3".
std::vector<std::string> items_of(const std::string& value) {
  const bool is_list = value.front() == '[' && value.back() == ']';
  return split_arguments(is_list ? value.substr(1, value.size() - 2) : value);
}

constexpr std::int64_t kMostCount = 1 << 24;  // no layer is so wide

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

bool same_name(const std::string& a, const std::string& b) { return lower(a) == lower(b); }

Call::Call(io::Source source, const std::string& text, const Words& words)
    : source_(std::move(source)), text_(trimmed(text)) {
  const auto open = text_.find('(');
  name_ = trimmed(text_.substr(0, open));
  const bool closed = open == std::string::npos || text_.back() == ')';
  if (!is_name(name_) || !closed)
    throw refused("it is not a name with arguments in parentheses",
                  "write it as in Linear(10) or Dropout(p=0.5)");
  if (open == std::string::npos) return;
  for (const std::string& part : split_arguments(text_.substr(open + 1, text_.size() - open - 2))) {
    // Of the argument, not of a call in it.
    auto equals = part.find('=');
    if (equals > part.find('(')) equals = std::string::npos;
    Argument argument;
    if (equals != std::string::npos) argument.name = trimmed(part.substr(0, equals));
    argument.value = equals == std::string::npos ? part : trimmed(part.substr(equals + 1));
    if (!words.empty())
      argument.value =
          resolved(argument.value, words,
                   [this](const std::string& why, const std::string& fix) { return refused(why, fix); });
    if (argument.value.empty() || (equals != std::string::npos && !is_name(argument.name)))
      throw refused(fmt::format("'{}' is not an argument", part), "write a value, or name=value");
    if (argument.name.empty() && !arguments_.empty() && !arguments_.back().name.empty())
      throw refused(fmt::format("'{}' has no name and comes after one that has", part),
                    "put values without names first");
    for (const Argument& before : arguments_)
      if (!argument.name.empty() && before.name == argument.name)
        throw refused(fmt::format("'{}' is given twice", argument.name), "leave one of them out");
    arguments_.push_back(std::move(argument));
  }
}

UsageError Call::refused(const std::string& why, const std::string& fix) const {
  return {fmt::format("{} cannot be '{}'", source_.name, text_), why, fix};
}

UsageError Call::unknown(const char* kind, const std::vector<std::string>& known) const {
  const std::string nearest = io::nearest_of(name_, known);
  return {fmt::format("{} cannot be '{}'", source_.name, text_),
          fmt::format("there is no {} '{}', but {}", kind, name_, fmt::join(known, ", ")),
          nearest.empty() ? "choose one of them" : fmt::format("did you mean {}?", nearest)};
}

void Call::must_be(const char* kind, const std::vector<std::string>& known) const {
  if (std::find(known.begin(), known.end(), name_) == known.end()) throw unknown(kind, known);
}

std::optional<std::string> Call::take(const char* name) {
  asked_.emplace_back(name);
  Argument* found = nullptr;
  for (Argument& a : arguments_)
    if (a.name == name) found = &a;
  // The index among the arguments asked for, if no named argument is there.
  const std::size_t place = asked_.size() - 1;
  if (place < std::min(places_, arguments_.size()) && arguments_[place].name.empty()) {
    if (found != nullptr) throw refused(fmt::format("'{}' is given twice", name), "leave one of them out");
    found = &arguments_[place];
  }
  if (found == nullptr) return std::nullopt;
  found->taken = true;
  return found->value;
}

io::Source Call::source_of(const char* name) const {
  return {fmt::format("{}: {} of '{}'", source_.name, name, text_), fmt::format("{}=", name)};
}

std::string Call::required(const char* name) {
  std::optional<std::string> value = take(name);
  if (value) return *value;
  for (const Argument& a : arguments_)
    if (!a.taken && io::nearest_of(a.name, {name}) == name)
      throw refused(fmt::format("there is no '{}'", a.name), fmt::format("did you mean '{}'?", name));
  throw refused(fmt::format("'{}' is missing", name), fmt::format("write {}({}=..)", name_, name));
}

std::int64_t Call::count(const char* name, std::optional<std::int64_t> otherwise, io::CountRange range) {
  const std::optional<std::string> value = otherwise ? take(name) : required(name);
  if (!value) return *otherwise;
  range.most = std::min<std::int64_t>(range.most, kMostCount);
  return io::count_from(source_of(name), *value, range);
}

double Call::number(const char* name, std::optional<double> otherwise, io::NumberRange range) {
  const std::optional<std::string> value = otherwise ? take(name) : required(name);
  return value ? io::number_from(source_of(name), *value, range) : *otherwise;
}

bool Call::on(const char* name, bool otherwise) {
  const std::optional<std::string> value = take(name);
  return value ? io::switch_from(source_of(name), *value) : otherwise;
}

std::vector<double> Call::numbers(const char* name, const std::optional<std::vector<double>>& otherwise) {
  const std::optional<std::string> value = otherwise ? take(name) : required(name);
  if (!value) return *otherwise;
  std::vector<double> all;
  for (const std::string& part : items_of(*value)) all.push_back(io::number_from(source_of(name), part, {}));
  return all;
}

std::vector<std::int64_t> Call::counts(const char* name,
                                       const std::optional<std::vector<std::int64_t>>& otherwise,
                                       io::CountRange range) {
  const std::optional<std::string> value = otherwise ? take(name) : required(name);
  if (!value) return *otherwise;
  range.most = std::min<std::int64_t>(range.most, kMostCount);
  std::vector<std::int64_t> all;
  for (const std::string& part : items_of(*value))
    all.push_back(io::count_from(source_of(name), part, range));
  return all;
}

bool Call::has(const char* name) const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [name](const Argument& a) { return a.name == name; });
}

std::string Call::written(const char* name, const std::optional<std::string>& otherwise) {
  const std::optional<std::string> value = otherwise ? take(name) : required(name);
  return value ? *value : *otherwise;
}

void Call::value(const char* name) {
  values_.push_back(required(name));
  if (!is_name(values_.back()))
    throw refused(fmt::format("'{}' is not the name of a value", values_.back()),
                  "give that of a Save(name) before");
}

void Call::all_values() {
  for (std::size_t i = 0; i == 0 || (i < arguments_.size() && arguments_[i].name.empty()); ++i)
    value("value");
}

std::string Call::word(const char* name, const std::vector<std::string>& choices) {
  for (Argument& a : arguments_)
    if (a.name == name && std::find(choices.begin(), choices.end(), a.value) != choices.end()) {
      a.taken = true;
      return a.value;
    }
  return {};
}

std::string Call::rewritten(const std::map<std::string, std::string>& values,
                            const std::string& first) const {
  std::vector<std::string> parts;
  std::map<std::string, std::string> left = values;
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& a = arguments_[i];
    const auto found = left.find(a.name.empty() && i == 0 ? first : a.name);
    const std::string& value = found == left.end() ? a.value : found->second;
    parts.push_back(a.name.empty() ? value : fmt::format("{}={}", a.name, value));
    if (found != left.end()) left.erase(found);
  }
  for (const auto& [name, value] : left) parts.push_back(fmt::format("{}={}", name, value));
  return parts.empty() ? name_ : fmt::format("{}({})", name_, fmt::join(parts, ", "));
}

void Call::finish() const {
  for (std::size_t i = 0; i < arguments_.size(); ++i) {
    const Argument& a = arguments_[i];
    if (a.taken) continue;
    if (a.name.empty()) {
      const std::size_t places = std::min(places_, asked_.size());
      const std::vector<std::string> first(asked_.begin(), asked_.begin() + static_cast<long>(places));
      throw refused(fmt::format("'{}' is one value more than it takes without a name", a.value),
                    places == 0 ? "leave out the parentheses"
                                : fmt::format("give {}({}), without the size of its input; others by name",
                                              name_, fmt::join(first, ", ")));
    }
    const std::string nearest = io::nearest_of(a.name, asked_);
    throw refused(asked_.empty() ? "it takes no arguments"
                                 : fmt::format("there is no '{}', but {}", a.name, fmt::join(asked_, ", ")),
                  nearest.empty() ? "leave it out" : fmt::format("did you mean '{}'?", nearest));
  }
}

}  // namespace veldt::recipe
