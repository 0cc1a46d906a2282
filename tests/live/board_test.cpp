// Boards: what a reader is told, once, and what a long run keeps.
#include "veldt/live/board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "veldt/io/png_bytes.h"

namespace veldt::live {
namespace {

using News = nlohmann::json;

train::Progress progress_at(std::int64_t step) {
  return {.step = step, .total_steps = 1000, .loss = 1.0 / static_cast<double>(step), .seconds = 0.1};
}

TEST(LiveBoard, AReaderIsToldOnce) {
  Board board;
  Seen seen;
  const News first = News::parse(board.news(seen));
  EXPECT_EQ(first["status"]["state"], "beginning");
  EXPECT_EQ(board.news(seen), "");
  board.add(progress_at(1));
  board.add(progress_at(2));
  const News second = News::parse(board.news(seen));
  EXPECT_EQ(second["status"]["step"], 2);
  EXPECT_EQ(second["series"][0]["name"], "loss");
  EXPECT_EQ(second["series"][0]["values"], (News{1.0, 0.5}));
  EXPECT_FALSE(second.contains("pictures"));
  board.add(progress_at(4));
  const News third = News::parse(board.news(seen));
  EXPECT_EQ(third["series"][0]["first"], 2);
  EXPECT_EQ(third["series"][0]["values"], (News{0.25}));
  EXPECT_EQ(board.news(seen), "");
}

// The points that readers put together are those of the board, whenever they read.
TEST(LiveBoard, ReadersKnowTheCurveAfterItWasMerged) {
  Board board;
  Seen often, late;
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1; step < 5000; ++step) {
    board.add(progress_at(step));
    if (step % 70 != 0) continue;
    const News news = News::parse(board.news(often));
    for (const News& part : news["series"]) {
      if (part["name"] != "loss") continue;
      steps.resize(part["first"]);
      for (const News& at : part["steps"]) steps.push_back(at);
    }
  }
  board.news(often);
  const News all = News::parse(board.news(late));
  steps.resize(std::min<std::size_t>(steps.size(), all["series"][0]["steps"].size()));
  std::vector<std::int64_t> true_steps = all["series"][0]["steps"];
  true_steps.resize(steps.size());
  EXPECT_GT(steps.size(), 500);
  EXPECT_EQ(steps, true_steps);
}

TEST(LiveBoard, PicturesStayFewAndTheTruthStays) {
  Board board;
  const std::string png = io::png_bytes(std::vector<std::uint8_t>(3), {1, 1}, 3);
  board.add_picture({"truth", 0, 0, png});
  for (std::int64_t step = 0; step < 1000; ++step) board.add_picture({"picture", step, 0, png});
  const Record record = board.record();
  EXPECT_LE(record.pictures.size(), Record::kMostPictures);
  EXPECT_EQ(record.pictures.front().name, "truth");
  EXPECT_EQ(record.pictures.at(1).step, 0);
  EXPECT_EQ(record.pictures.back().step, 999);
  for (std::size_t i = 1; i + 1 < record.pictures.size(); ++i)
    EXPECT_LT(record.pictures[i].step, record.pictures[i + 1].step);
  Seen seen;
  const News news = News::parse(board.news(seen));
  const std::uint64_t last = news["pictures"].back()["number"];
  EXPECT_EQ(board.png(last).text(), png);
  EXPECT_TRUE(board.png(last + 1).empty());
}

TEST(LiveBoard, ARunThatGoesOnFromBeforeItsCurvesBeganAddsToThem) {
  Board board;
  for (std::int64_t step = 5; step < 9; ++step) board.add(progress_at(step));
  board.add_value("val loss", 9, 0, 1);
  const std::string png = io::png_bytes(std::vector<std::uint8_t>(3), {1, 1}, 3);
  board.add_picture({"truth", 0, 0, png});
  board.add_picture({"picture", 8, 0, png});
  Seen seen;
  board.news(seen);
  board.cut_after(6);
  EXPECT_EQ(board.record().series.at(0).steps, (std::vector<std::int64_t>{5, 6}));
  board.cut_after(0);
  EXPECT_TRUE(board.record().series.empty());
  board.add(progress_at(1));
  board.add_value("val loss", 1, 0, 2);
  board.add_picture({"truth", 0, 0, png});
  const Record record = board.record();
  EXPECT_EQ(record.series.at(0).name, "loss");
  EXPECT_EQ(record.series.back().values, (std::vector<double>{2}));
  EXPECT_EQ(record.pictures.size(), 1);
  EXPECT_EQ(News::parse(board.news(seen))["series"][0]["first"], 0);
}

TEST(LiveBoard, LargePicturesHaveABoundToo) {
  Board board;
  for (std::int64_t step = 0; step < 40; ++step)
    board.add_picture({"picture", step, 0, std::string(1 << 20, 'x')});
  EXPECT_LE(board.record().pictures.size(), 16);
  EXPECT_EQ(board.record().pictures.front().step, 0);
  EXPECT_EQ(board.record().pictures.back().step, 39);
  board.add_picture({"picture", 41, 0, std::string(8 << 20, 'x')});
  EXPECT_EQ(board.record().pictures.back().step, 39);
}

// A page need not make its tables again every three seconds.
TEST(LiveBoard, AReplacedRecordTellsOnlyWhatDiffers) {
  const std::string png = io::png_bytes(std::vector<std::uint8_t>(3), {1, 1}, 3);
  Record record{.title = "run", .facts = {{"run", "command", "veldt"}}, .pictures = {{"picture", 1, 0, png}}};
  record.layers = {{"0", "Linear", "[1]", 2}};
  record.texts = {{"sample", 1, "to be"}};
  record.notes = {{1, 0, "note"}};
  Board board(record);
  Seen seen;
  board.news(seen);
  record.step = 7;
  board.replace(record);
  const News news = News::parse(board.news(seen));
  EXPECT_EQ(news["status"]["step"], 7);
  for (const char* part : {"facts", "pictures", "texts", "notes", "outcome", "series"})
    EXPECT_FALSE(news.contains(part)) << part;
  record.notes.push_back({2, 0, "another"});
  board.replace(record);
  const News second = News::parse(board.news(seen));
  EXPECT_TRUE(second.contains("notes"));
  EXPECT_FALSE(second.contains("facts"));
}

TEST(LiveBoard, AnotherRunInTheFolderIsToldWhole) {
  const auto run = [](std::vector<double> losses, bool has_accuracy) {
    Record record;
    Series loss{.name = "loss"}, accuracy{.name = "accuracy"};
    std::int64_t step = 0;
    for (const double value : losses) loss.add(++step, 0, value);
    accuracy.add(1, 0, 0.5);
    record.series = {loss};
    if (has_accuracy) record.series.push_back(accuracy);
    return record;
  };
  Board board(run({3, 2, 1}, true));
  Seen seen;
  board.news(seen);
  board.replace(run({9, 8, 7, 6}, true));  // as many steps and more, but other values
  News news = News::parse(board.news(seen));
  EXPECT_EQ(news["series"][0]["first"], 0);
  EXPECT_EQ(news["series"][0]["values"].size(), 4);
  board.replace(run({5}, false));
  news = News::parse(board.news(seen));
  EXPECT_EQ(news["newest"], (News{5.0}));  // one curve is left
  EXPECT_EQ(news["series"][0]["values"], (News{5.0}));
}

TEST(LiveBoard, TheNewestValueIsNoMean) {
  Board board;
  for (std::int64_t step = 1; step <= 10'000; ++step)
    board.add_value("loss", step, 0, static_cast<double>(step));
  Seen seen;
  EXPECT_EQ(News::parse(board.news(seen))["newest"], (News{10'000.0}));
  EXPECT_LT(board.record().series[0].values.back(), 10'000);
  board.add_value("loss", 10'001, 0, 3);
  EXPECT_EQ(News::parse(board.news(seen))["newest"], (News{3.0}));
  EXPECT_EQ(record_from_json(to_json(board.record())).series[0].newest, 3);
}

TEST(LiveBoard, WarningsOutliveOtherNotes) {
  Board board;
  board.add_note({1, 0, "the disk is full", true});
  for (std::int64_t step = 0; step < 1000; ++step) board.add_note({step, 0, "checkpoint"});
  const std::vector<Note> notes = board.record().notes;
  EXPECT_EQ(notes.size(), Record::kMostNotes);
  EXPECT_EQ(notes.front().text, "the disk is full");
  EXPECT_EQ(notes.back().step, 999);
}

TEST(LiveBoard, WarningsLeaveRoomToOtherNotes) {
  Board board;
  for (std::int64_t step = 0; step < 500; ++step) board.add_note({step, 0, "a spike", true});
  for (const char* text : {"resumed", "checkpoint"}) board.add_note({500, 0, text});
  const std::vector<Note> notes = board.record().notes;
  EXPECT_EQ(notes.size(), Record::kMostNotes);
  EXPECT_EQ(notes[notes.size() - 2].text, "resumed");
  EXPECT_EQ(notes[notes.size() - 3].step, 499);
}

// Records are copied under a lock, pictures are not.
TEST(LiveBoard, CopiesShareTheirPictures) {
  Board board;
  board.add_picture({"picture", 1, 0, std::string(1 << 20, 'x')});
  EXPECT_EQ(board.record().pictures[0].png.text().data(), board.record().pictures[0].png.text().data());
}

TEST(LiveBoard, ManyReadAndOneWrites) {
  Board board;
  std::atomic<bool> over = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      Seen seen;
      while (!over) board.news(seen);
    });
  for (std::int64_t step = 1; step < 3000; ++step) {
    board.add(progress_at(step));
    if (step % 100 == 0) board.add_note({step, 0, "note"});
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(board.record().step, 2999);
}

}  // namespace
}  // namespace veldt::live
