// Goes through the layers of a recipe and its blocks, and builds each for the shape of what it reads.
#include "veldt/recipe/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "veldt/recipe/blocks.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/frame.h"
#include "veldt/recipe/layers.h"

namespace veldt::recipe {
namespace {

constexpr std::int64_t kMostTimes = 4096;  // that a layer is repeated
constexpr std::size_t kMostDepth = 16;     // blocks in blocks

// Save(name)
Passing saved(Frame& frame, const io::Source& source, Call& call, const Passing& x) {
  call.value("name");
  call.finish();
  const std::string& name = call.values()[0];
  if (const auto before = frame.saved.find(name); before != frame.saved.end())
    throw call.refused(fmt::format("there is a value '{}' already", name), "give it another name");
  frame.saved[name] = {x, false, source};
  return x;
}

// A layer's faults as those of its place.
template <class Fn> Passing with_place(const Refusal& refused, const Fn& fn) {
  try {
    return fn();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw refused(fmt::format("{}: {}", e.summary(), e.why()), e.fix());
  }
}

class NetworkBuilder {
 public:
  NetworkBuilder(const Recipe& recipe, const ModelFacts& facts, Placing placing)
      : recipe_(recipe), facts_(facts), placing_(placing), blocks_(recipe, facts.outputs) {}

  std::pair<nn::Graph, Shape> build() {
    Frame frame;
    Passing x{0, {1}, facts_.dtype};
    for (const std::int64_t size : facts_.input) x.shape.push_back(size);
    frame.saved["input"] = {x, true};
    if (facts_.target.rank() > 0) add_inputs(frame, x);
    const Passing y = list(frame, recipe_.layers, x, blocks_.words(), "");
    if (facts_.target.rank() > 0 && !frame.saved["target"].is_read)
      throw UsageError(fmt::format("{} never read 'target'", recipe_.layers.where),
                       "the network is to continue it", "write Load(target) where the decoder begins");
    check_reads(frame);
    frame.graph.set_output(y.value);
    return {std::move(frame.graph), y.shape};
  }

 private:
  // What passes first is the source; the target waits.
  void add_inputs(Frame& frame, const Passing& source) const {
    frame.saved["source"] = {source, true};
    Passing target{frame.graph.add_input(), {1}, facts_.dtype};
    for (const std::int64_t size : facts_.target) target.shape.push_back(size);
    frame.saved["target"] = {target, false, recipe_.layers.source()};
  }

  // Each layer is called by its place in the list unless it has a name. `user`: who uses this list, for
  // errors.
  Passing list(Frame& frame, const Written& layers, Passing x, const Words& words, const std::string& user) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < layers.texts.size(); ++i) {
      io::Source source = layers.source(i);
      source.name += user;
      const std::string& text = layers.texts[i];
      const Refusal refused = [&](const std::string& why, const std::string& fix) {
        return refused_text(source, text, why, fix);
      };
      Item item = read_item(text, words, refused);
      if (item.name.empty()) item.name = std::to_string(i);
      if (std::find(names.begin(), names.end(), item.name) != names.end())
        throw refused(fmt::format("there is a layer '{}' already", item.name), "give it another name");
      names.push_back(item.name);
      x = with_place(refused, [&] { return one_item(frame, source, item, x, words, refused); });
    }
    return x;
  }

  // A layer, or as many of them as it says.
  Passing one_item(Frame& frame, const io::Source& source, Item item, Passing x, const Words& words,
                   const Refusal& refused) {
    if (item.count.empty()) return one_layer(frame, source, item.name, item.call, x, words);
    const std::int64_t count =
        io::count_from({fmt::format("{}: how often in '{} x {}'", source.name, item.count, item.call), ""},
                       resolved(item.count, words, refused), {.least = 1, .most = kMostTimes});
    Frame inner{.outer = &frame, .graph = nn::Graph(1, fmt::format("{} x {}", count, item.call))};
    Passing y = x;
    y.value = 0;
    for (std::int64_t i = 0; i < count; ++i)
      y = one_layer(inner, source, std::to_string(i), item.call, y, words);
    check_reads(inner);
    return put_inner(item.name, std::move(inner), x, y);
  }

  Passing one_layer(Frame& frame, const io::Source& source, const std::string& name, const std::string& text,
                    Passing x, const Words& words) {
    Call call(source, text, words);
    placing_.count(call);
    if (const Block* block = blocks_.find(call.name()))
      return one_block(frame, source, name, *block, call, x);
    if (same_name(call.name(), "Save")) return saved(frame, source, call, x);
    if (same_name(call.name(), "Load")) {
      call.value("name");
      call.finish();
      return read_value(frame, call, call.values()[0]);
    }
    const Build build = read_layer(call, facts_, blocks_.names());
    std::vector<Passing> from{x};
    for (const std::string& value : call.values()) from.push_back(read_value(frame, call, value));
    return placing_.put(frame, source, name, call, build, from);
  }

  Passing one_block(Frame& frame, const io::Source& source, const std::string& name, const Block& block,
                    Call& call, const Passing& x) {
    if (chain_.size() >= kMostDepth || std::find(chain_.begin(), chain_.end(), &block) != chain_.end()) {
      std::string way;
      for (const Block* above : chain_) way += above->name + " > ";
      throw call.refused(
          fmt::format("blocks hold each other without end, or too deep: {}{}", way, block.name),
          fmt::format("use other layers there; blocks may be {} deep", kMostDepth));
    }
    const auto [words, title] = words_in(block, call, blocks_.words());
    const std::string user = fmt::format(" (of '{}' in {})", call.text(), source.name);
    chain_.push_back(&block);
    Frame inner{.outer = &frame, .graph = nn::Graph(1, title)};
    const Passing in{0, x.shape, x.dtype};
    inner.saved["input"] = {in, true};
    Passing y = list(inner, block.layers, in, words, user);
    if (block.shortcut.given()) y = with_shortcut(inner, source, block, call, in, y, words, user);
    if (block.then.given()) y = within(inner, "then", block.then, y, words, user);
    check_reads(inner);
    chain_.pop_back();
    return put_inner(name, std::move(inner), x, y);
  }

  // The sum of y and the block's input, which goes through the shortcut's layers where y has another shape.
  Passing with_shortcut(Frame& frame, const io::Source& source, const Block& block, const Call& call,
                        const Passing& in, const Passing& y, const Words& words, const std::string& user) {
    Passing side = in;
    if (!block.shortcut.texts.empty() && (!placing_.builds() || y.shape != in.shape))
      side = within(frame, "shortcut", block.shortcut, in, words, user);
    return placing_.put(frame, source, "sum", call, [](const Site&) { return std::make_shared<nn::Sum>(); },
                        {y, side});
  }

  // The layers as a graph of their own, so that their names are below `name`.
  Passing within(Frame& frame, const std::string& name, const Written& layers, const Passing& x,
                 const Words& words, const std::string& user) {
    Frame inner{.outer = &frame, .graph = nn::Graph(1, name)};
    const Passing y = list(inner, layers, {0, x.shape, x.dtype}, words, user);
    check_reads(inner);
    return put_inner(name, std::move(inner), x, y);
  }

  const Recipe& recipe_;
  const ModelFacts& facts_;
  Placing placing_;
  const Blocks blocks_;
  std::vector<const Block*> chain_;  // the blocks around the current layer
};

}  // namespace

void check_network(const Recipe& recipe) {
  // The number of outputs does not matter here.
  ModelFacts facts{.dtype = recipe.learns_tokens() ? DType::i64 : DType::f32, .outputs = 1};
  if (recipe.kind == "pairs") facts.target = {1};
  NetworkBuilder(recipe, facts, Placing(nullptr)).build();
}

std::pair<nn::Graph, Shape> build_network(const Recipe& recipe, const ModelFacts& facts, Rng& rng,
                                          double most_parameters) {
  // Shortcuts that no shape needs are checked all the same.
  NetworkBuilder(recipe, facts, Placing(nullptr)).build();
  return NetworkBuilder(recipe, facts, Placing(&rng, most_parameters)).build();
}

}  // namespace veldt::recipe
