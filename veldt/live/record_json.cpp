// Records as JSON, and back: a file is untrusted.
#include "veldt/live/record_json.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/core/escape.h"
#include "veldt/core/base64.h"
#include "veldt/io/file.h"
#include "veldt/io/json.h"

namespace veldt::live {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRecordVersion = 1;
constexpr const char* kFormat = "veldt.record";

// Texts of users and data may be in no encoding at all.
std::string clean(const std::string& text) { return escape_controls(text, "\n\t"); }

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

[[noreturn]] void refuse_record(const std::string& why) {
  throw IoError(IoError::Kind::malformed, "cannot read the record of a run", why,
                "a later save of the run writes it anew; without it the run is as good as before");
}

// Reads one object of a file; every access is checked.
class Part {
 public:
  Part(const Json& object, std::string name) : object_(object), name_(std::move(name)) {
    if (!object.is_object()) refuse_record(str(name_, " is not an object"));
  }

  const Json* find(const char* key) const {
    const auto at = object_.find(key);
    return at == object_.end() || at->is_null() ? nullptr : &*at;
  }
  std::string text(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) refuse(key, "a text");
    return value->get<std::string>();
  }
  double number(const char* key, double missing) const {
    const Json* value = find(key);
    if (value == nullptr) return missing;
    if (!value->is_number()) refuse(key, "a number");
    return value->get<double>();
  }
  std::int64_t whole(const char* key, std::int64_t least = 0) const {
    const Json* value = find(key);
    if (value == nullptr) return least;
    const auto read = io::whole_number<std::int64_t>(*value);
    if (!read || *read < least) refuse(key, "a whole number");
    return *read;
  }
  const Json& list(const char* key, std::size_t most) const {
    static const Json none = Json::array();
    const Json* value = find(key);
    if (value == nullptr) return none;
    if (!value->is_array()) refuse(key, "a list");
    if (value->size() > most)
      refuse_record(str(name_, '.', key, " has ", value->size(), " entries, and ", most, " are allowed"));
    return *value;
  }
  std::string png(const char* key) const {
    const std::string coded = text(key);
    if (coded.size() > Record::kMostPictureBytes)
      refuse_record(str(name_, '.', key, " is larger than ", Record::kMostPictureBytes, " bytes"));
    std::optional<std::string> bytes = from_base64(coded);
    if (!bytes || (!bytes->empty() && !bytes->starts_with("\x89PNG\r\n\x1a\n"))) refuse(key, "a PNG");
    return *std::move(bytes);
  }

 private:
  [[noreturn]] void refuse(const char* key, const char* wanted) const {
    refuse_record(str(name_, '.', key, " is not ", wanted));
  }

  const Json& object_;
  std::string name_;
};

Series series_from(const Json& json) {
  const Part part(json, "a series");
  Series s{.name = part.text("name"), .unit = part.text("unit"), .group = part.text("group")};
  const Json& steps = part.list("steps", Series::kMostPoints);
  const Json& seconds = part.list("seconds", Series::kMostPoints);
  const Json& values = part.list("values", Series::kMostPoints);
  if (steps.size() != values.size() || steps.size() != seconds.size())
    refuse_record("a series has different numbers of steps, seconds and values");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto step = io::whole_number<std::int64_t>(steps[i]);
    if (!step || *step < 0 || (i > 0 && *step <= s.steps.back()))
      refuse_record("the steps of a series do not rise");
    if (!seconds[i].is_number() || (!values[i].is_number() && !values[i].is_null()))
      refuse_record("a series has a value that is no number");
    s.steps.push_back(*step);
    s.seconds.push_back(seconds[i].get<double>());
    s.values.push_back(values[i].is_null() ? std::numeric_limits<double>::quiet_NaN()
                                           : values[i].get<double>());
  }
  s.merged = std::max<std::int64_t>(1, part.whole("merged"));
  // Missing, as of older runs, it is the last point; null, as of values, it was not finite.
  if (json.contains("newest"))
    s.newest = part.number("newest", std::numeric_limits<double>::quiet_NaN());
  else if (!s.values.empty())
    s.newest = s.values.back();
  return s;
}

ConfusionTable confusion_from(const Json& json) {
  const Part part(json, "confusion");
  ConfusionTable table;
  constexpr std::size_t kMostClasses = 1000;
  for (const Json& name : part.list("classes", kMostClasses)) {
    if (!name.is_string()) refuse_record("the name of a class is no text");
    table.classes.push_back(name.get<std::string>());
  }
  const Json& counts = part.list("counts", kMostClasses * kMostClasses);
  if (counts.size() != table.classes.size() * table.classes.size())
    refuse_record("a table of confusion has not a count for each two classes");
  for (const Json& count : counts) {
    const auto read = io::whole_number<std::int64_t>(count);
    if (!read || *read < 0) refuse_record("a count of confusion is no number of examples");
    table.counts.push_back(*read);
  }
  return table;
}

Json in_json(const Series& s) {
  Json out = {{"name", clean(s.name)}, {"unit", clean(s.unit)}, {"group", clean(s.group)}};
  out["merged"] = s.merged;
  out["newest"] = number(s.newest);
  Json& steps = out["steps"] = Json::array();
  Json& seconds = out["seconds"] = Json::array();
  Json& values = out["values"] = Json::array();
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    steps.push_back(s.steps[i]);
    seconds.push_back(std::round(s.seconds[i] * 1000) / 1000);
    values.push_back(number(s.values[i]));
  }
  return out;
}

Json in_json(const Snapshot& p, bool with_bytes) {
  Json out = {{"name", clean(p.name)}, {"step", p.step}, {"seconds", p.seconds}};
  if (with_bytes) out["png"] = to_base64(p.png.text());
  return out;
}

Json in_json(const Text& t) { return {{"name", clean(t.name)}, {"step", t.step}, {"text", clean(t.text)}}; }

Json in_json(const Note& n) {
  return {{"step", n.step}, {"seconds", n.seconds}, {"text", clean(n.text)}, {"warning", n.is_warning}};
}

Json status_of(const Record& r) {
  return {{"title", clean(r.title)},
          {"state", clean(r.state)},
          {"device", clean(r.device)},
          {"step", r.step},
          {"total_steps", r.total_steps},
          {"seconds", number(r.seconds)},
          {"seconds_left", number(r.seconds_left)},
          {"steps_per_second", number(r.steps_per_second)},
          {"memory_bytes", r.memory_bytes}};
}

Json in_json(const Fact& f) {
  return {{"group", clean(f.group)}, {"name", clean(f.name)}, {"value", clean(f.value)}};
}

template <class Parts> Json list_of(const Parts& parts) {
  Json list = Json::array();
  for (const auto& part : parts) list.push_back(in_json(part));
  return list;
}

Json outcome_of(const Record& r) {
  Json out = Json::object();
  for (const LayerLine& l : r.layers)
    out["layers"].push_back({{"name", clean(l.name)},
                             {"kind", clean(l.kind)},
                             {"output", clean(l.output)},
                             {"parameters", l.parameters}});
  if (r.confusion) {
    Json classes = Json::array();
    for (const std::string& name : r.confusion->classes) classes.push_back(clean(name));
    out["confusion"] = {{"classes", classes}, {"counts", r.confusion->counts}};
  }
  for (const WorstExample& w : r.worst)
    out["worst"].push_back({{"name", clean(w.name)},
                            {"label", clean(w.label)},
                            {"taken_for", clean(w.taken_for)},
                            {"probability", number(w.probability)},
                            {"png", to_base64(w.png)}});
  return out;
}

}  // namespace

std::string text_json(const std::string& text) { return io::dump_json(Json(clean(text))); }

std::string numbers_json(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return io::dump_json(list);
}

std::string status_json(const Record& record) { return io::dump_json(status_of(record)); }

std::string series_json(const Series& series, std::size_t number, std::size_t first) {
  Json part = in_json(series);
  part["number"] = number;
  part["first"] = first;
  return io::dump_json(part);
}

std::string pictures_json(const std::vector<Snapshot>& pictures, const std::vector<std::uint64_t>& numbers,
                          bool with_bytes) {
  Json list = Json::array();
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    list.push_back(in_json(pictures[i], with_bytes));
    list.back()["number"] = numbers[i];
  }
  return io::dump_json(list);
}

std::string texts_json(const std::vector<Text>& texts) { return io::dump_json(list_of(texts)); }
std::string notes_json(const std::vector<Note>& notes) { return io::dump_json(list_of(notes)); }
std::string facts_json(const std::vector<Fact>& facts) { return io::dump_json(list_of(facts)); }
std::string outcome_json(const Record& record) { return io::dump_json(outcome_of(record)); }

std::string to_json(const Record& r) {
  Json out = {{"format", kFormat}, {"version", kRecordVersion}};
  out["status"] = status_of(r);
  out["facts"] = list_of(r.facts);
  out["series"] = list_of(r.series);
  Json& pictures = out["pictures"] = Json::array();
  for (const Snapshot& p : r.pictures) pictures.push_back(in_json(p, true));
  out["texts"] = list_of(r.texts);
  out["notes"] = list_of(r.notes);
  out["outcome"] = outcome_of(r);
  return io::dump_json(out);
}

Record record_from_json(const std::string& text) {
  const auto file = io::parse_json<Json>(text, io::kMaxJsonDepth, Record::kMostBytes);
  const Part part(file, "the file");
  if (part.text("format") != kFormat) refuse_record("it does not say that it is one");
  if (const std::int64_t version = part.whole("version"); version > kRecordVersion)
    throw IoError(IoError::Kind::corrupt, "cannot read the record of a run",
                  str("it has version ", version, ", and this Veldt knows ", kRecordVersion),
                  "use a newer Veldt");
  Record r;
  if (const Json* json = part.find("status")) {
    const Part status(*json, "status");
    r.title = status.text("title");
    r.state = status.text("state");
    r.device = status.text("device");
    r.step = status.whole("step");
    r.total_steps = status.whole("total_steps");
    r.seconds = status.number("seconds", 0);
    r.seconds_left = status.number("seconds_left", -1);
    r.steps_per_second = status.number("steps_per_second", 0);
    r.memory_bytes = status.whole("memory_bytes");
  }
  for (const Json& json : part.list("facts", Record::kMostFacts)) {
    const Part fact(json, "a fact");
    r.facts.push_back({fact.text("group"), fact.text("name"), fact.text("value")});
  }
  for (const Json& json : part.list("series", Record::kMostSeries)) r.series.push_back(series_from(json));
  for (const Json& json : part.list("pictures", Record::kMostPictures)) {
    const Part p(json, "a picture");
    r.pictures.push_back({p.text("name"), p.whole("step"), p.number("seconds", 0), p.png("png")});
  }
  for (const Json& json : part.list("texts", Record::kMostTexts)) {
    const Part t(json, "a text");
    r.texts.push_back({t.text("name"), t.whole("step"), t.text("text")});
  }
  for (const Json& json : part.list("notes", Record::kMostNotes)) {
    const Part n(json, "a note");
    const Json* warning = n.find("warning");
    r.notes.push_back({n.whole("step"), n.number("seconds", 0), n.text("text"),
                       warning != nullptr && warning->is_boolean() && warning->get<bool>()});
  }
  if (const Json* json = part.find("outcome")) {
    const Part outcome(*json, "outcome");
    for (const Json& line : outcome.list("layers", Record::kMostLayers)) {
      const Part l(line, "a layer");
      r.layers.push_back({l.text("name"), l.text("kind"), l.text("output"), l.whole("parameters")});
    }
    if (const Json* table = outcome.find("confusion")) r.confusion = confusion_from(*table);
    for (const Json& line : outcome.list("worst", Record::kMostExamples)) {
      const Part w(line, "an example");
      r.worst.push_back(
          {w.text("name"), w.text("label"), w.text("taken_for"), w.number("probability", 0), w.png("png")});
    }
  }
  return r;
}

void save_record(const Record& record, const std::string& directory, std::uint64_t room) {
  const std::string text = to_json(record);
  if (room > 0) {
    std::error_code unknown;
    const std::filesystem::space_info disk = std::filesystem::space(directory, unknown);
    if (!unknown && disk.capacity > 0 && disk.available < text.size() + room)
      throw IoError(IoError::Kind::unwritable, str("cannot write ", directory, "/", kRecordFile),
                    str("its disk has less than ", room >> 20, " MiB left"), "free some space there");
  }
  io::write_file(directory + "/" + kRecordFile, text);
}

Record load_record(const std::string& directory) {
  const std::string path = directory + "/" + kRecordFile;
  const std::string text = io::read_file(path, Record::kMostBytes);
  try {
    return record_from_json(text);
  } catch (const IoError& e) {
    throw IoError(e.kind(), str("cannot read ", path), e.why(), e.fix());
  }
}

}  // namespace veldt::live
