// Pairs of texts: what becomes of a file of them, and what a network writes of a text.
#include "veldt/recipe/translate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/create.h"
#include "veldt/recipe/data.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using test::put_bytes;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kPairs =
    "[data]\nkind = \"pairs\"\npath = \"p.tsv\"\nbatch = 2\n[model]\nlayers = [\"Load(target)\", "
    "\"Embedding(3)\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n";

TEST(Translate, PairsBecomeWhatIsReadAndWritten) {
  const test::TempDir dir = test::TempDir::in_memory();
  put_bytes(dir / "p.tsv", "ab\tb\r\n\na\tba\nbab\tb\nb\ta");
  const Recipe recipe = parse(kPairs);
  const Data data = load_data(recipe, dir.path());
  EXPECT_EQ(data.facts.examples, 4);
  EXPECT_EQ(data.facts.model.input, Shape{3});
  EXPECT_EQ(data.facts.model.target, Shape{3});
  EXPECT_EQ(data.facts.model.outputs, 3);  // the end, a, b
  const data::Example second = data.train->get(1);
  EXPECT_THAT(second.at(0).values<std::int64_t>(), ElementsAre(1, 0, 0));
  EXPECT_THAT(second.at(1).values<std::int64_t>(), ElementsAre(0, 2, 1));
  EXPECT_THAT(second.at(2).values<std::int64_t>(), ElementsAre(2, 1, 0));
  EXPECT_THAT(data.train->get(0).at(2).values<std::int64_t>(), ElementsAre(2, 0, -100));
  const data::Batch batch = measuring_loader(recipe, data, data.train).batch(0);
  EXPECT_EQ(batch[1].shape(), (Shape{2, 3}));
  EXPECT_EQ(batch[2].shape(), Shape{6});
  const auto refused = [&](const std::string& text) {
    put_bytes(dir / "p.tsv", text);
    return error_of<IoError>([&] { load_data(recipe, dir.path()); });
  };
  EXPECT_THAT(refused("a\tb\na b\na\tb\na\tb\n"), AllOf(HasSubstr("line 2"), HasSubstr("a tab between")));
  EXPECT_THAT(refused("a\tb\na\tb\na\tb\na\tb\tc\n"), HasSubstr("line 4"));
  EXPECT_THAT(refused("a\tb\n\tb\na\tb\na\tb\n"), HasSubstr("line 2"));
  EXPECT_THAT(refused("a\tb\n"), HasSubstr("1 lines"));
  EXPECT_THAT(refused("a\t" + std::string(5000, 'b') + "\na\tb\na\tb\na\tb\n"), HasSubstr("too much"));
}

// After the beginning a, after a b, after b the end.
TEST(Translate, TheLikeliestIsWrittenToItsEnd) {
  const test::TempDir dir = test::TempDir::in_memory();
  const Recipe recipe = parse(kPairs);
  Facts facts;
  facts.tokenizer = std::make_shared<data::CharTokenizer>("\nab");
  facts.model = {.input = {4}, .dtype = DType::i64, .outputs = 3, .target = {5}};
  nn::Graph model = build_model(recipe, facts.model);
  {
    const NoGrad off;
    const auto set = [&](const char* name, const Tensor& value) {
      for (auto& [other, tensor] : model.named_parameters())
        if (other == name) Tensor(tensor).assign(value);
    };
    set("1.weight", Tensor::of({3, 3}, {0, 9, 0, 0, 0, 9, 9, 0, 0}));
    set("2.weight", Tensor::of({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}));
    set("2.bias", zeros({3}));
  }
  save(dir / "model.safetensors", recipe, facts, model, {});
  const Trained trained = load(dir / "model.safetensors");
  EXPECT_THAT(trained.translate({"a", "abab"}), ElementsAre("ab", "ab"));
  EXPECT_THAT(trained.translate({}), ElementsAre());
  EXPECT_THAT(error_of<ConfigError>([&] { trained.translate({"ababa"}); }), HasSubstr("too long"));
  EXPECT_THROW(trained.translate({"z"}), ConfigError);
  EXPECT_THAT(error_of<UsageError>([&] { trained.write(); }), HasSubstr("translate(texts)"));
  // One that never ends.
  facts.model.target = {2};
  save(dir / "model.safetensors", recipe, facts, model, {});
  EXPECT_THAT(load(dir / "model.safetensors").translate({"a"}), ElementsAre("ab"));
}

TEST(Translate, TheNetworkReadsBothAndGivesAnOutputForEachToken) {
  const ModelFacts facts{.input = {6}, .dtype = DType::i64, .outputs = 5, .target = {4}};
  const nn::Graph model = build_model(R"toml([model]
layers = ["Embedding(8)", "PositionEmbedding", "2 x TransformerEncoderLayer(2)", "Save(memory)",
  "Load(target)", "Embedding(8)", "2 x TransformerDecoderLayer(2, memory)", "Linear(outputs)"]
)toml",
                                      facts);
  EXPECT_EQ(model.inputs(), 2U);
  EXPECT_EQ(model({zeros({3, 6}, DType::i64), zeros({3, 4}, DType::i64)})[0].shape(), (Shape{3, 4, 5}));
  const auto refusal = [&](const std::string& layers) {
    return error_of<UsageError>([&] { build_model("[model]\nlayers = [" + layers + "]\n", facts); });
  };
  EXPECT_THAT(refusal("\"Embedding(8)\", \"Linear(outputs)\""), HasSubstr("never read 'target'"));
  EXPECT_THAT(refusal("\"Load(target)\", \"Load(source)\", \"Embedding(8)\", \"Linear(outputs)\""),
              HasSubstr("4 tokens of the target"));
}

}  // namespace
}  // namespace veldt::recipe
