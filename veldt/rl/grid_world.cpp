// Moves in a map of text.
#include "veldt/rl/grid_world.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/rl/canvas.h"

namespace veldt::rl {
namespace {

constexpr std::size_t kMostSide = 64;
constexpr double kStepCost = 0.01;

ConfigError bad_map(const std::string& why, const std::string& fix) {
  return {"GridWorld-v0 cannot use this map", why, fix};
}

EnvironmentSpec spec_of(const std::vector<std::string>& map, const GridWorldOptions& options) {
  if (map.empty() || map[0].empty())
    throw bad_map("it has no squares", "write rows such as \"S..\", \".#.\", \"..G\"");
  if (map.size() > kMostSide || map[0].size() > kMostSide)
    throw bad_map(str("it has ", map.size(), " rows and ", map[0].size(), " columns"),
                  str("write at most ", kMostSide, " of both"));
  bool has_start = false, has_goal = false;
  for (std::size_t r = 0; r < map.size(); ++r) {
    if (map[r].size() != map[0].size())
      throw bad_map(str("row ", r + 1, " has ", map[r].size(), " letters and the first ", map[0].size()),
                    "write rows of one length");
    for (std::size_t c = 0; c < map[r].size(); ++c) {
      if (std::string("S.#oG").find(map[r][c]) == std::string::npos)
        throw bad_map(str("row ", r + 1, ", column ", c + 1, " is none of its letters"),
                      "write S (start), G (goal), . (floor), # (wall) and o (pit)");
      has_start |= map[r][c] == 'S';
      has_goal |= map[r][c] == 'G';
    }
  }
  if (!has_start || !has_goal)
    throw bad_map(has_start ? "it has no goal" : "it has no start", "write an S and a G somewhere");
  if (!(options.slip >= 0 && options.slip <= 1))
    throw ConfigError(str("GridWorld-v0 cannot slip by ", options.slip), "it is a share", "give 0 to 1");
  const std::size_t squares = map.size() * map[0].size();
  return {.name = "GridWorld-v0",
          .low = std::vector<double>(squares, 0),
          .high = std::vector<double>(squares, 1),
          .choices = 4,
          .time_limit = options.time_limit,
          .frames_a_second = 4};
}

}  // namespace

GridWorld::GridWorld(std::vector<std::string> map, GridWorldOptions options)
    : Environment(spec_of(map, options)), map_(std::move(map)), slip_(options.slip) {
  for (std::size_t r = 0; r < map_.size(); ++r)
    for (std::size_t c = 0; c < map_[r].size(); ++c)
      if (map_[r][c] == 'S') starts_.emplace_back(r, c);
}

std::vector<std::string> GridWorld::default_map() {
  return {
      "S....",  //
      ".##o.",  //
      ".....",  //
      ".o.#.",  //
      "....G",
  };
}

// The chance of slips is drawn from the episode's own stream, whose seed and place are part of the state.
void GridWorld::reset(std::vector<double>& state, Rng& rng) const {
  const auto& [row, column] = starts_[rng.next_below(starts_.size())];
  state = {static_cast<double>(row), static_cast<double>(column), static_cast<double>(rng.next_u32()), 0};
}

StepResult GridWorld::step(std::vector<double>& state, const Action& action) const {
  constexpr int kMoves[4][2] = {{-1, 0}, {0, 1}, {1, 0}, {0, -1}};
  std::int64_t direction = action.choice;
  if (slip_ > 0) {
    Rng chance(static_cast<std::uint64_t>(state[2]));
    chance.seek(2 * static_cast<std::uint64_t>(state[3]));
    state[3] += 1;
    const bool slips = chance.next_uniform() < slip_;
    if (const bool left = chance.next_uniform() < 0.5; slips) direction = (direction + (left ? 3 : 1)) % 4;
  }
  const auto last = [](std::size_t size) { return static_cast<int>(size) - 1; };
  const auto [dr, dc] = kMoves[direction];
  const int row = std::clamp(static_cast<int>(state[0]) + dr, 0, last(map_.size()));
  const int column = std::clamp(static_cast<int>(state[1]) + dc, 0, last(map_[0].size()));
  const auto at = [&](int r, int c) {
    return map_[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)];
  };
  if (at(row, column) != '#') state[0] = row, state[1] = column;
  const char here = at(static_cast<int>(state[0]), static_cast<int>(state[1]));
  return {-kStepCost + (here == 'G' ? 1 : here == 'o' ? -1 : 0), here == 'G' || here == 'o'};
}

bool GridWorld::is_state(const std::vector<double>& state) const {
  const auto is_below = [](double x, double most) { return x >= 0 && x < most && x == std::floor(x); };
  return is_below(state[0], static_cast<double>(map_.size())) &&
         is_below(state[1], static_cast<double>(map_[0].size())) &&
         map_[static_cast<std::size_t>(state[0])][static_cast<std::size_t>(state[1])] != '#' &&
         is_below(state[2], 0x1p32) && is_below(state[3], 0x1p53);
}

void GridWorld::observe(const std::vector<double>& state, std::vector<float>& observation) const {
  observation.assign(map_.size() * map_[0].size(), 0);
  observation[static_cast<std::size_t>(state[0]) * map_[0].size() + static_cast<std::size_t>(state[1])] = 1;
}

void GridWorld::draw(const std::vector<double>& state, Canvas& canvas) const {
  const double side = std::min(canvas.width() / static_cast<double>(map_[0].size()),
                               canvas.height() / static_cast<double>(map_.size()));
  const double left = (canvas.width() - side * static_cast<double>(map_[0].size())) / 2;
  const double top = (canvas.height() - side * static_cast<double>(map_.size())) / 2;
  const auto centre = [&](double row, double column) {
    return Point{left + side * (column + 0.5), top + side * (row + 0.5)};
  };
  for (std::size_t r = 0; r < map_.size(); ++r)
    for (std::size_t c = 0; c < map_[r].size(); ++c) {
      const Point p = centre(static_cast<double>(r), static_cast<double>(c));
      const double half = side / 2 - 1;
      const char what = map_[r][c];
      const Colour ground = what == '#' ? kBlack : what == 'G' ? kGreen : Colour{235, 235, 238};
      canvas.rectangle(p.x - half, p.y - half, p.x + half, p.y + half, ground);
      if (what == 'o') canvas.disc(p, 0.38 * side, kRed);
    }
  canvas.disc(centre(state[0], state[1]), 0.3 * side, kBlue);
}

}  // namespace veldt::rl
