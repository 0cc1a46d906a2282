// Walks the layers of a recipe as the builder of networks does, and writes each down where it stands.
#include "veldt/recipe/unrolled.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "veldt/recipe/blocks.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/frame.h"
#include "veldt/recipe/item.h"

namespace veldt::recipe {
namespace {

using Given = std::vector<std::pair<std::string, std::vector<std::string>>>;

std::string path_below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + '.' + name;
}

class Unroller {
 public:
  Unroller(const Recipe& recipe, const nn::Graph& network, std::int64_t outputs, const LayerChanges& changes)
      : recipe_(recipe), blocks_(recipe, outputs), changes_(changes) {
    for (const nn::NamedModule& module : network.named_modules()) modules_.insert(module.name);
    const auto note = [&](const Written& written) {
      for (const std::string& text : written.texts) texts_ += text + ' ';
    };
    note(recipe.layers);
    for (const Block& block : recipe.blocks) note(block.layers), note(block.shortcut), note(block.then);
  }

  Recipe unroll() {
    const std::vector<std::string> layers = list(recipe_.layers, blocks_.words(), "");
    Given given;
    for (const auto& [key, texts] : recipe_.given)
      if (key == "model.layers")
        given.emplace_back(key, layers);
      else if (!key.starts_with("block.") && !key.starts_with("values."))
        given.emplace_back(key, texts);
    given.insert(given.end(), made_.begin(), made_.end());
    return recipe_of(given, "the recipe, written out");
  }

 private:
  std::vector<std::string> list(const Written& layers, const Words& words, const std::string& path) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < layers.texts.size(); ++i) {
      const io::Source source = layers.source(i);
      const Refusal refused = [&](const std::string& why, const std::string& fix) {
        return refused_text(source, layers.texts[i], why, fix);
      };
      const Item item = read_item(layers.texts[i], words, refused);
      const std::string own = path_below(path, item.name.empty() ? std::to_string(i) : item.name);
      const std::string name = item.name.empty() ? "" : item.name + ": ";
      lines.push_back(name + one_item(source, item, words, own, refused));
    }
    return lines;
  }

  std::string one_item(const io::Source& source, const Item& item, const Words& words,
                       const std::string& path, const Refusal& refused) {
    if (item.count.empty()) return one_layer(source, item.call, words, path);
    const std::int64_t count =
        io::count_from({source.name, ""}, resolved(item.count, words, refused), {.least = 1, .most = 4096});
    std::vector<std::string> lines;
    for (std::int64_t i = 0; i < count; ++i)
      lines.push_back(one_layer(source, item.call, words, path_below(path, std::to_string(i))));
    return as_block(path, lines);
  }

  std::string one_layer(const io::Source& source, const std::string& text, const Words& words,
                        const std::string& path) {
    Call call(source, text, words);
    if (const Block* block = blocks_.find(call.name())) return one_block(*block, call, path);
    const auto change = changes_.find(path);
    const bool has_words = std::any_of(words.begin(), words.end(), [&](const auto& word) {
      return word.first != "outputs" && has_word(text, word.first);
    });
    if (change == changes_.end() && !has_words) return text;
    const bool has_heads = same_name(call.name(), "TransformerEncoderLayer") ||
                           same_name(call.name(), "TransformerDecoderLayer");
    const bool has_hidden =
        same_name(call.name(), "RNN") || same_name(call.name(), "LSTM") || same_name(call.name(), "GRU");
    static const std::map<std::string, std::string> kNone;
    return call.rewritten(change == changes_.end() ? kNone : change->second, has_heads    ? "heads"
                                                                             : has_hidden ? "hidden"
                                                                                          : "out");
  }

  std::string one_block(const Block& block, Call& call, const std::string& path) {
    const Words words = words_in(block, call, blocks_.words()).first;
    std::vector<std::string> lines = list(block.layers, words, path);
    if (block.shortcut.given()) {
      // What the sum adds depends on shapes: the network shows what it was.
      if (modules_.contains(path_below(path, "shortcut"))) {
        const std::string passed = unused_name();
        const std::string side =
            as_block(path_below(path, "shortcut"), list(block.shortcut, words, path_below(path, "shortcut")));
        lines.insert(lines.end(), {fmt::format("Save({})", passed), "Load(input)", "shortcut: " + side,
                                   fmt::format("sum: Add({})", passed)});
      } else {
        lines.emplace_back("sum: Add(input)");
      }
    }
    if (block.then.given())
      lines.push_back("then: " +
                      as_block(path_below(path, "then"), list(block.then, words, path_below(path, "then"))));
    return as_block(path, lines);
  }

  // A block of its own for what stands at this place.
  std::string as_block(const std::string& path, std::vector<std::string> lines) {
    std::string name = "at_" + path;
    std::replace(name.begin(), name.end(), '.', '_');
    while (!names_.insert(name).second) name += '_';
    made_.emplace_back("block." + name + ".layers", std::move(lines));
    return name;
  }

  // For a value that the recipe does not know.
  std::string unused_name() const {
    std::string name = "body";
    while (texts_.find(name) != std::string::npos) name += '_';
    return name;
  }

  const Recipe& recipe_;
  const Blocks blocks_;
  const LayerChanges& changes_;
  std::set<std::string> modules_, names_;
  std::string texts_;
  Given made_;
};

}  // namespace

Recipe unrolled(const Recipe& recipe, const nn::Graph& network, std::int64_t outputs,
                const LayerChanges& changes) {
  return Unroller(recipe, network, outputs, changes).unroll();
}

}  // namespace veldt::recipe
