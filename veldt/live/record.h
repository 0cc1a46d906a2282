// What a run shows of itself: facts, curves, pictures, texts, notes, and what came of it. Live pages, reports
// and `veldt watch` all draw one; a run's folder keeps it as record.json.
// Tests: tests/live/record_test.cpp, tests/fuzz/live.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace veldt::live {

// A curve. In a long run neighbours are merged, so that it never has more than kMostPoints points.
struct Series {
  static constexpr std::size_t kMostPoints = 2048;

  std::string name = {};   // "loss", "val accuracy"
  std::string unit = {};   // "dB"; empty: none
  std::string group = {};  // curves of one group share a chart; empty: it has its own
  std::vector<std::int64_t> steps = {};
  std::vector<double> seconds = {};  // since the run began
  std::vector<double> values = {};   // each the mean of `merged` values; may be infinite or NaN
  double newest = std::numeric_limits<double>::quiet_NaN();  // as it came, merged with nothing
  std::int64_t merged = 1;
  double sum = 0;  // of the values that wait for others to be merged with
  std::int64_t waiting = 0;

  // Steps that do not follow the last one are left out.
  void add(std::int64_t step, double at_seconds, double value);
  // Leaves out what comes after this step: a run resumes there.
  void cut_after(std::int64_t step);
  // The same from point `first` on.
  Series from(std::size_t first) const;
};

// A file in memory, which copies share.
class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::string bytes)  // NOLINT: a text is one
      : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}

  const std::string& text() const {
    static const std::string none;
    return bytes_ ? *bytes_ : none;
  }
  std::size_t size() const { return text().size(); }
  bool empty() const { return text().empty(); }
  bool operator==(const SharedBytes& other) const { return bytes_ == other.bytes_ || text() == other.text(); }

 private:
  std::shared_ptr<const std::string> bytes_;
};

// "picture" is what the run draws, over time; "truth" what it learns from.
struct Snapshot {
  std::string name = "picture";
  std::int64_t step = 0;
  double seconds = 0;
  SharedBytes png = {};
  bool operator==(const Snapshot&) const = default;
};

struct Text {
  std::string name = {};
  std::int64_t step = 0;
  std::string text = {};
  bool operator==(const Text&) const = default;
};

struct Fact {
  std::string group = {}, name = {}, value = {};
  bool operator==(const Fact&) const = default;
};

struct Note {
  std::int64_t step = 0;
  double seconds = 0;
  std::string text = {};
  bool is_warning = false;
  bool operator==(const Note&) const = default;
};

struct LayerLine {
  std::string name = {}, kind = {}, output = {};
  std::int64_t parameters = 0;
  bool operator==(const LayerLine&) const = default;
};

// counts[label * classes + taken_for]
struct ConfusionTable {
  std::vector<std::string> classes = {};
  std::vector<std::int64_t> counts = {};
  bool operator==(const ConfusionTable&) const = default;
};

// One of the examples on which a classifier does worst.
struct WorstExample {
  std::string name = {}, label = {}, taken_for = {};
  double probability = 0;  // that the network gives the true class
  std::string png = {};    // empty: it is no picture
  bool operator==(const WorstExample&) const = default;
};

struct Record {
  static constexpr std::size_t kMostSeries = 256, kMostPictures = 64, kMostNotes = 200, kMostTexts = 40,
                               kMostFacts = 400, kMostLayers = 2000, kMostExamples = 64;
  static constexpr std::size_t kMostPictureBytes = std::size_t{1} << 23;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 28;  // of a file

  std::string title = {};           // the name of the recipe or of the picture
  std::string state = "beginning";  // "running", "paused", "stopped", "done" or "failed"
  std::string device = {};
  std::int64_t step = 0, total_steps = 0;  // total 0: the run ends by time
  double seconds = 0, seconds_left = -1;   // left below 0: unknown
  double steps_per_second = 0;
  std::int64_t memory_bytes = 0;
  std::vector<Fact> facts = {};
  std::vector<Series> series = {};
  std::vector<Snapshot> pictures = {};
  std::vector<Text> texts = {};
  std::vector<Note> notes = {};
  std::vector<LayerLine> layers = {};
  std::optional<ConfusionTable> confusion = {};
  std::vector<WorstExample> worst = {};

  // Leaves out what is of later steps, and what came of the run, but for its layers: it goes on from here.
  void cut_after(std::int64_t step);
};

// The file's text: JSON, described in docs/formats.md.
std::string to_json(const Record& record);
// Throws IoError malformed for what is not such a text, or beyond the limits above; corrupt if a newer Veldt
// wrote it.
Record record_from_json(const std::string& text);

// DIR/record.json, written whole or not at all. Throws IoError, also if less than `room` bytes of the disk
// would be left for others.
void save_record(const Record& record, const std::string& directory, std::uint64_t room = 0);
Record load_record(const std::string& directory);
inline constexpr const char* kRecordFile = "record.json";

}  // namespace veldt::live
