// Rank 0 asks each of the others for one band at a time, and for the next when it has that. A rank draws its
// next band while the one before is on its way or waited for, and goes no further ahead.
#include "veldt/field/shared_bands.h"

#include <array>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/core/shape.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

// What precedes a band. No dimensions: there are no more.
enum Word : std::size_t { kStops, kFirst, kDimensions, kSizes };
constexpr std::int64_t kMostDimensions = 3;
constexpr std::int64_t kMostNumbers = std::int64_t{1} << 31;  // of a band; a picture's has about a million
constexpr std::int64_t kWords = kSizes + kMostDimensions;

Tensor message() { return zeros({kWords}, DType::i64); }

void send_number(dist::Communicator& ranks, std::int64_t number, int to) {
  ranks.send(full({1}, static_cast<double>(number), DType::i64), to);
}

// On rank 0: one of the others.
class Drawer {
 public:
  Drawer(dist::Communicator& ranks, int rank) : ranks_(ranks), rank_(rank) { send_number(ranks, 1, rank); }

  // Its next band, which is passed to `take`; false if that, or the rank itself, stops all.
  bool next(const Field::Band& take) {
    const Tensor words = receive();
    if (is_done_) return true;
    const auto* const word = words.data<std::int64_t>();
    const Tensor rows = band_of(word);
    send_number(ranks_, 1, rank_);
    return take(rows, word[kFirst]) && word[kStops] == 0;
  }
  bool is_done() const { return is_done_; }
  // It sends what it was asked for, and then hears that this was the last.
  void stop() {
    if (is_done_) return;
    const Tensor words = receive();
    if (is_done_) return;
    band_of(words.data<std::int64_t>());
    send_number(ranks_, 0, rank_);
    is_done_ = true;
  }

 private:
  Tensor receive() {
    const Tensor words = message();
    ranks_.receive(words, rank_);
    is_done_ = words.data<std::int64_t>()[kDimensions] == 0;
    return words;
  }
  Tensor band_of(const std::int64_t* word) const {
    Shape shape;
    std::int64_t numbers = 1;
    if (word[kDimensions] < 0 || word[kDimensions] > kMostDimensions) refuse(word);
    for (std::int64_t i = 0; i < word[kDimensions]; ++i) {
      const std::int64_t size = word[kSizes + static_cast<std::size_t>(i)];
      if (size < 1 || size > kMostNumbers / numbers) refuse(word);
      numbers *= size;
    }
    for (std::int64_t i = 0; i < word[kDimensions]; ++i)
      shape.push_back(word[kSizes + static_cast<std::size_t>(i)]);
    const Tensor rows = empty(shape);
    ranks_.receive(rows, rank_);
    return rows;
  }

  [[noreturn]] void refuse(const std::int64_t* word) const {
    throw Error(str(ranks_.name_of(rank_), " has sent a band of no possible size"),
                str(word[kDimensions], " dimensions, of ", word[kSizes], ", ", word[kSizes + 1], " and ",
                    word[kSizes + 2]),
                "check the memory and the network of that machine, and draw it again");
  }

  dist::Communicator& ranks_;
  int rank_;
  bool is_done_ = false;
};

bool collect(dist::Communicator& ranks, const DrawShare& draw, const Field::Band& take,
             const std::function<bool()>& asked) {
  std::vector<Drawer> others;
  for (int rank = 1; rank < ranks.size(); ++rank) others.emplace_back(ranks, rank);
  bool goes_on = true;
  const auto take_round = [&] {
    for (Drawer& other : others)
      if (goes_on && !other.is_done()) goes_on = other.next(take);
  };
  draw({0, ranks.size()}, [&](const Tensor& rows, std::int64_t first) {
    goes_on = take(rows, first) && !(asked && asked());
    take_round();
    return goes_on;
  });
  take_round();  // those without a band say so now
  for (Drawer& other : others) other.stop();
  return goes_on;
}

void give(dist::Communicator& ranks, const DrawShare& draw, const std::function<bool()>& asked) {
  const auto is_asked_for = [&ranks] {
    const Tensor number = zeros({1}, DType::i64);
    ranks.receive(number, 0);
    return number.data<std::int64_t>()[0] != 0;
  };
  bool goes_on = true;
  draw({ranks.rank(), ranks.size()}, [&](const Tensor& rows, std::int64_t first) {
    if (!(goes_on = is_asked_for())) return false;
    const Tensor words = message();
    auto* const word = words.data<std::int64_t>();
    word[kStops] = asked && asked() ? 1 : 0;
    word[kFirst] = first;
    word[kDimensions] = rows.rank();
    for (int i = 0; i < rows.rank(); ++i) word[kSizes + static_cast<std::size_t>(i)] = rows.size(i);
    ranks.send(words, 0);
    ranks.send(contiguous(rows), 0);
    return true;
  });
  if (goes_on && is_asked_for()) ranks.send(message(), 0);
}

}  // namespace

bool share_bands(dist::Communicator& ranks, const DrawShare& draw, const Field::Band& take,
                 const std::function<bool()>& asked) {
  Tensor is_whole = ones({1});
  if (ranks.rank() > 0)
    give(ranks, draw, asked);
  else if (!collect(ranks, draw, take, asked))
    is_whole.assign(zeros({1}));
  ranks.broadcast(is_whole);
  return is_whole.item() != 0;
}

}  // namespace veldt::field
