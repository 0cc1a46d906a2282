// Adds to a record, and tells readers what is new to them.
#include "veldt/live/board.h"

#include <algorithm>
#include <cmath>

#include "veldt/live/record_json.h"

namespace veldt::live {
namespace {

bool is_same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The most recent are kept.
template <class Part> void keep_last(std::vector<Part>& parts, std::size_t most) {
  if (parts.size() > most) parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(most));
}

}  // namespace

Board::Board(Record record) { replace(std::move(record)); }

void Board::replace(Record record) {
  const std::lock_guard lock(mutex_);
  // A reader has points of a curve if it goes on as it was; else it is given all again.
  const auto goes_on = [](const Series& before, const Series& now) {
    return before.name == now.name &&
           (before.merged != now.merged ||
            (before.steps.size() <= now.steps.size() &&
             std::equal(before.steps.begin(), before.steps.end(), now.steps.begin()) &&
             std::equal(before.values.begin(), before.values.end(), now.values.begin(), is_same_number)));
  };
  bool is_same = record.series.size() >= record_.series.size();
  for (std::size_t i = 0; is_same && i < record_.series.size(); ++i)
    is_same = goes_on(record_.series[i], record.series[i]);
  if (!is_same) ++generation_;
  std::vector<std::uint64_t> numbers;
  for (const Snapshot& now : record.pictures) {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < record_.pictures.size() && number == 0; ++i)
      if (record_.pictures[i].png == now.png) number = numbers_[i];
    numbers.push_back(number == 0 ? next_number_++ : number);
  }
  ++version_;
  const auto mark = [this](std::uint64_t& part, bool is_other) {
    if (is_other) part = version_;
  };
  mark(pictures_, numbers_ != numbers || record_.pictures != record.pictures);
  mark(texts_, record_.texts != record.texts);
  mark(notes_, record_.notes != record.notes);
  mark(facts_, record_.facts != record.facts);
  mark(outcome_, record_.layers != record.layers || record_.confusion != record.confusion ||
                     record_.worst != record.worst);
  numbers_ = std::move(numbers);
  record_ = std::move(record);
  places_.clear();
  for (std::size_t i = 0; i < record_.series.size(); ++i) places_[record_.series[i].name] = i;
}

void Board::add(const train::Progress& p) {
  const std::lock_guard lock(mutex_);
  record_.step = p.step;
  record_.total_steps = p.total_steps;
  record_.seconds = p.seconds;
  record_.seconds_left = p.seconds_left;
  record_.steps_per_second = p.steps_per_second;
  add_to("loss", p.step, p.seconds, p.loss, "", "loss");
  for (const auto& [name, loss] : p.losses) add_to("loss of " + name, p.step, p.seconds, loss, "", "losses");
  if (p.measure) add_to(p.measure->name, p.step, p.seconds, p.measure->value, p.measure->unit, "");
  add_to("rate", p.step, p.seconds, p.learning_rate, "", "");
  add_to("steps a second", p.step, p.seconds, p.steps_per_second, "", "");
  ++version_;
}

void Board::add(const train::Evaluation& e) {
  const std::lock_guard lock(mutex_);
  if (std::isfinite(e.train_loss)) add_to("train loss", e.step, e.seconds, e.train_loss, "", "loss");
  for (const auto& [name, value] : e.scores)
    add_to("val " + name, e.step, e.seconds, value, "", name == "loss" ? "loss" : "");
  ++version_;
}

void Board::add_value(const std::string& name, std::int64_t step, double seconds, double value,
                      const std::string& unit, const std::string& group) {
  const std::lock_guard lock(mutex_);
  add_to(name, step, seconds, value, unit, group);
  ++version_;
}

void Board::add_to(const std::string& name, std::int64_t step, double seconds, double value,
                   const std::string& unit, const std::string& group) {
  auto at = places_.find(name);
  if (at == places_.end()) {
    if (record_.series.size() >= Record::kMostSeries) return;
    at = places_.emplace(name, record_.series.size()).first;
    record_.series.push_back({.name = name, .unit = unit, .group = group});
  }
  record_.series[at->second].add(step, seconds, value);
}

void Board::add_picture(Snapshot picture) {
  if (picture.png.size() > Record::kMostPictureBytes / 4 * 3) return;
  const std::lock_guard lock(mutex_);
  const auto too_many = [this] {
    std::size_t bytes = 0;
    for (const Snapshot& p : record_.pictures) bytes += p.png.size();
    return record_.pictures.size() > Record::kMostPictures || bytes > 2 * Record::kMostPictureBytes;
  };
  if (picture.name != "picture")  // there is one of each other name
    for (std::size_t i = record_.pictures.size(); i-- > 0;)
      if (record_.pictures[i].name == picture.name) {
        record_.pictures.erase(record_.pictures.begin() + static_cast<std::ptrdiff_t>(i));
        numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(i));
      }
  record_.pictures.push_back(std::move(picture));
  numbers_.push_back(next_number_++);
  if (too_many()) {  // the truth, the first and the last stay
    std::vector<Snapshot> kept;
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0, seen = 0; i < record_.pictures.size(); ++i) {
      Snapshot& p = record_.pictures[i];
      if (p.name != "picture" || i + 1 == record_.pictures.size() || seen++ % 2 == 0) {
        kept.push_back(std::move(p));
        numbers.push_back(numbers_[i]);
      }
    }
    record_.pictures = std::move(kept);
    numbers_ = std::move(numbers);
    if (too_many()) {
      record_.pictures.pop_back();
      numbers_.pop_back();
    }
  }
  changed(pictures_);
}

void Board::add_text(Text text) {
  constexpr std::size_t kMostLetters = 1 << 16;
  if (text.text.size() > kMostLetters) text.text.resize(kMostLetters);
  const std::lock_guard lock(mutex_);
  record_.texts.push_back(std::move(text));
  keep_last(record_.texts, Record::kMostTexts);
  changed(texts_);
}

void Board::add_note(Note note) {
  const std::lock_guard lock(mutex_);
  record_.notes.push_back(std::move(note));
  if (record_.notes.size() > Record::kMostNotes) {  // warnings stay longest, but leave a quarter to the rest
    const auto is_warning = [](const Note& n) { return n.is_warning; };
    const bool many = std::count_if(record_.notes.begin(), record_.notes.end(), is_warning) >
                      std::ptrdiff_t{Record::kMostNotes / 4 * 3};
    record_.notes.erase(std::find_if(record_.notes.begin(), record_.notes.end(),
                                     [many](const Note& n) { return n.is_warning == many; }));
  }
  changed(notes_);
}

void Board::set_fact(const std::string& group, const std::string& name, const std::string& value) {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(record_.facts.begin(), record_.facts.end(),
                               [&](const Fact& f) { return f.group == group && f.name == name; });
  if (at != record_.facts.end())
    at->value = value;
  else if (record_.facts.size() < Record::kMostFacts)
    record_.facts.push_back({group, name, value});
  changed(facts_);
}

void Board::set_state(const std::string& state) {
  const std::lock_guard lock(mutex_);
  record_.state = state;
  ++version_;
}

void Board::cut_after(std::int64_t step) {
  Record record = this->record();
  record.cut_after(step);
  replace(std::move(record));
}

void Board::set_memory(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  record_.memory_bytes = bytes;
  ++version_;
}

void Board::change(const std::function<void(Record&)>& change) {
  const std::lock_guard lock(mutex_);
  change(record_);
  changed(outcome_);
}

Record Board::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

// What is copied while the run may have to wait is small; JSON is made of it afterwards.
std::string Board::news(Seen& seen, bool pictures_inside) const {
  struct Part {
    std::size_t number, first;
    Series series;
  };
  std::vector<Part> parts;
  std::vector<std::uint64_t> numbers;
  std::vector<double> newest;
  Record copy;
  Seen before;
  {
    const std::lock_guard lock(mutex_);
    if (seen.version == version_) return "";
    if (seen.generation != generation_) seen = {};
    before = seen;
    copy.title = record_.title;
    copy.state = record_.state;
    copy.device = record_.device;
    copy.step = record_.step;
    copy.total_steps = record_.total_steps;
    copy.seconds = record_.seconds;
    copy.seconds_left = record_.seconds_left;
    copy.steps_per_second = record_.steps_per_second;
    copy.memory_bytes = record_.memory_bytes;
    seen.series.resize(record_.series.size());
    for (std::size_t i = 0; i < record_.series.size(); ++i) {
      const Series& s = record_.series[i];
      newest.push_back(s.newest);
      auto& [merged, points] = seen.series[i];
      const std::size_t first = merged == s.merged && points <= s.steps.size() ? points : 0;
      if (first < s.steps.size() || merged != s.merged) parts.push_back({i, first, s.from(first)});
      seen.series[i] = {s.merged, s.steps.size()};
    }
    if (pictures_ != seen.pictures) {
      numbers = numbers_;
      for (const Snapshot& p : record_.pictures)
        copy.pictures.push_back({p.name, p.step, p.seconds, pictures_inside ? p.png : SharedBytes()});
    }
    if (texts_ != seen.texts) copy.texts = record_.texts;
    if (notes_ != seen.notes) copy.notes = record_.notes;
    if (facts_ != seen.facts) copy.facts = record_.facts;
    if (outcome_ != seen.outcome) {
      copy.layers = record_.layers;
      copy.confusion = record_.confusion;
      copy.worst = record_.worst;
    }
    seen = {version_, generation_, std::move(seen.series), pictures_, texts_, notes_, facts_, outcome_};
  }
  std::string news = "{\"status\":" + status_json(copy) + ",\"newest\":" + numbers_json(newest);
  for (std::size_t i = 0; i < parts.size(); ++i)
    news += (i == 0 ? ",\"series\":[" : ",") + series_json(parts[i].series, parts[i].number, parts[i].first);
  if (!parts.empty()) news += "]";
  if (seen.pictures != before.pictures)
    news += ",\"pictures\":" + pictures_json(copy.pictures, numbers, pictures_inside);
  if (seen.texts != before.texts) news += ",\"texts\":" + texts_json(copy.texts);
  if (seen.notes != before.notes) news += ",\"notes\":" + notes_json(copy.notes);
  if (seen.facts != before.facts) news += ",\"facts\":" + facts_json(copy.facts);
  if (seen.outcome != before.outcome) news += ",\"outcome\":" + outcome_json(copy);
  return news + "}";
}

SharedBytes Board::png(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto at = std::find(numbers_.begin(), numbers_.end(), number);
  return at == numbers_.end() ? SharedBytes()
                              : record_.pictures[static_cast<std::size_t>(at - numbers_.begin())].png;
}

}  // namespace veldt::live
