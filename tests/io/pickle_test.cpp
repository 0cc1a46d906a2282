// The machine that reads pickles, opcode by opcode, written by hand: what each makes, and what is refused.
#include "veldt/io/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/faults.h"

namespace veldt::io {
namespace {

using namespace std::string_literals;
using test::says;
using test::thrown_by;
using Kind = IoError::Kind;

// Knows what begins with "known.", and Python's own containers.
Pickle unpickled(const std::string& bytes) {
  std::size_t next = 0;
  PickleInput input("a.pt", bytes.size(), [&](void* to, std::size_t count) {
    next += bytes.copy(static_cast<char*>(to), count, next);
  });
  return read_pickle(input, [](std::string_view name) {
    return name.starts_with("known.") || name.starts_with("collections.") || name.starts_with("builtins.");
  });
}

// A value in words of its own: 1, 'a', b'a', [..], (..), {..}, {k: v}, known.f(..), <pid>.
std::string in_words(const Pickle& pickle, PickleRef ref) {
  const PickleValue& value = pickle[ref];
  const auto joined = [&](const char* open, const char* close) {
    std::string text = open;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const bool is_value = value.kind == PickleKind::dict && i % 2 == 1;
      text += (i == 0 ? "" : is_value ? ": " : ", ") + in_words(pickle, value.items[i]);
    }
    return text + close;
  };
  switch (value.kind) {
    case PickleKind::none: return "None";
    case PickleKind::boolean: return value.integer != 0 ? "True" : "False";
    case PickleKind::integer: return str(value.integer);
    case PickleKind::large: return str("large of ", value.text.size(), " bytes");
    case PickleKind::real: return str("real ", value.real);
    case PickleKind::text: return "'" + value.text + "'";
    case PickleKind::bytes: return "b'" + value.text + "'";
    case PickleKind::list: return joined("[", "]");
    case PickleKind::tuple: return joined("(", ")");
    case PickleKind::set: return joined("{", "}");
    case PickleKind::dict:
      return joined("{", "}") + (value.state != 0 ? "!" + in_words(pickle, value.state) : "");
    case PickleKind::global: return value.text;
    case PickleKind::object:
      return in_words(pickle, value.callee) + in_words(pickle, value.arguments) +
             (value.items.empty() ? "" : joined("[", "]")) +
             (value.state != 0 ? "!" + in_words(pickle, value.state) : "");
    case PickleKind::persistent: return "<" + in_words(pickle, value.arguments) + ">";
  }
  return "?";
}

std::string made_by(const std::string& bytes) {
  const Pickle pickle = unpickled(bytes);
  return in_words(pickle, pickle.root);
}

TEST(Pickle, EachOpcodeMakesItsValue) {
  const std::pair<std::string, const char*> cases[] = {
      {"N.", "None"},
      {"\x88.", "True"},
      {"\x89.", "False"},
      {"I01\n.", "True"},
      {"I00\n.", "False"},
      {"I1\n.", "1"},
      {"I-12\n.", "-12"},
      {"I9223372036854775808\n.", "large of 16 bytes"},
      {"L7L\n.", "7"},
      {"L-9223372036854775808L\n.", "-9223372036854775808"},
      {"L170141183460469231731687303715884105727L\n.", "large of 0 bytes"},
      {"L17014118346046923173168730371588410572L\n.", "large of 16 bytes"},
      {"K\xff.", "255"},
      {"M\x01\xff.", "65281"},
      {"J\xfe\xff\xff\xff.", "-2"},
      {"\x8a\0."s, "0"},
      {"\x8a\x01\xff.", "-1"},
      {"\x8a\x02\xff\0."s, "255"},
      {"\x8a\x08\0\0\0\0\0\0\0\x80."s, "-9223372036854775808"},
      {"\x8a\x09\0\0\0\0\0\0\0\x80\0."s, "large of 16 bytes"},
      {"\x8a\x12\x05"s + std::string(17, '\0') + ".", "5"},
      {"\x8b\x01\0\0\0\x05."s, "5"},
      {"G?\xf8\0\0\0\0\0\0."s, "real 1.5"},
      {"F-2.5\n.", "real -2.5"},
      {"F1e3\n.", "real 1000"},
      {"Finf\n.", "real inf"},
      {"X\x02\0\0\0\xc3\xa9."s, "'\xc3\xa9'"},
      {"\x8c\x01z.", "'z'"},
      {"\x8d\x01\0\0\0\0\0\0\0z."s, "'z'"},
      {"T\x01\0\0\0z."s, "'z'"},
      {"U\x02zz.", "'zz'"},
      {"S'a\\n\\x41\\\\'\n.", "'a\nA\\'"},
      {"S\"it's\"\n.", "'it's'"},
      {"Va\\u00e9\xe9\\U0001f43e\n.", "'a\xc3\xa9\xc3\xa9\xf0\x9f\x90\xbe'"},
      {"B\x01\0\0\0z."s, "b'z'"},
      {"C\x01z.", "b'z'"},
      {"\x8e\x01\0\0\0\0\0\0\0z."s, "b'z'"},
      {"\x96\x01\0\0\0\0\0\0\0z."s, "b'z'"},
      {"].", "[]"},
      {").", "()"},
      {"}.", "{}"},
      {"\x8f.", "{}"},
      {"(K\x01K\x02l.", "[1, 2]"},
      {"(K\x01K\x02t.", "(1, 2)"},
      {"(t.", "()"},
      {"(K\x01K\x02"
       "d.",
       "{1: 2}"},
      {"(K\x01\x91.", "{1}"},
      {"K\x01\x85.", "(1)"},
      {"K\x01K\x02\x86.", "(1, 2)"},
      {"K\x01K\x02K\x03\x87.", "(1, 2, 3)"},
      {"]K\x01"
       "a.",
       "[1]"},
      {"](K\x01K\x02"
       "e.",
       "[1, 2]"},
      {"\x8f(K\x01\x90.", "{1}"},
      {"}K\x01K\x02s.", "{1: 2}"},
      {"}(K\x01K\x02K\x03K\x04u.", "{1: 2, 3: 4}"},
      {"K\x01K\x02"
       "0.",
       "1"},
      {"K\x01(K\x02"
       "1.",
       "1"},
      {"K\x01(0.", "1"},
      {"K\x01"
       "2\x86.",
       "(1, 1)"},
      {"K\x05q\x04"
       "0h\x04.",
       "5"},
      {"K\x05r\x07\0\0\0"
       "0j\x07\0\0\0."s,
       "5"},
      {"K\x05p1\n0g1\n.", "5"},
      {"K\x05\x94K\x06\x94"
       "00h\x01.",
       "6"},
      {"\x80\x05\x95\x02\0\0\0\0\0\0\0K\x01."s, "1"},
      {"cknown.module\nf\n.", "known.module.f"},
      {"\x8c\x05known\x8c\x01g\x93.", "known.g"},
      {"cknown\nf\n(K\x01tR.", "known.f(1)"},
      {"cknown\nf\n)\x81.", "known.f()"},
      {"cknown\nf\n)}\x92.", "known.f()"},
      {"(K\x01iknown\nf\n.", "known.f(1)"},
      {"(cknown\nf\nK\x01o.", "known.f(1)"},
      {"cknown\nf\n)R}K\x01K\x02s"
       "b.",
       "known.f()!{1: 2}"},
      {"cknown\nf\n)R(K\x01K\x02u.", "known.f()[1, 2]"},
      {"Pid 7\n.", "<'id 7'>"},
      {"K\x07Q.", "<7>"},
      {"ccollections\nOrderedDict\n)R(K\x01K\x02u}"
       "b.",
       "{1: 2}!{}"},
      {"ccollections\nOrderedDict\n((lK\x01K\x02\x86"
       "atR.",
       "{1: 2}"},
      {"ccollections\nOrderedDict\n(((K\x01K\x02lltR.", "{1: 2}"},
      {"ccollections\ndefaultdict\ncbuiltins\nlist\n\x85RK\x01K\x02s.", "{1: 2}"},
      {"ccollections\nCounter\n}K\x01K\x02s\x85R.", "{1: 2}"},
      {"cbuiltins\nset\n(K\x01l\x85R.", "{1}"},
      {"cbuiltins\nfrozenset\n(K\x01l\x85R.", "{1}"},
      {"ccollections\ndeque\n)K\x03\x86R(K\x01"
       "e.",
       "[1]"},
      {"cbuiltins\ntuple\n(K\x01l\x85R.", "(1)"},
  };
  for (const auto& [bytes, words] : cases) EXPECT_EQ(made_by(bytes), words) << bytes;
}

TEST(Pickle, WhatIsNoneIsRefused) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "ends early"},
      {"N", "ends early"},
      {".", "stack is too short"},
      {"\x80\x06N.", "newer than 5"},
      {"\xff.", "opcode 255 is not known"},
      {"K", "ends early"},
      {"I1x\n.", "a number is damaged"},
      {"I\n.", "a number is damaged"},
      {"L-L\n.", "a number is damaged"},
      {"Fx\n.", "a number is damaged"},
      {"I1", "ends early"},
      {"S'a\n.", "a text is damaged"},
      {"Sa\n.", "a text is damaged"},
      {"S'\\x4'\n.", "a text is damaged"},
      {"S'\\q'\n.", "a text is damaged"},
      {"S'\\'\n.", "a text is damaged"},
      {"V\\u00\n.", "a text is damaged"},
      {"X\xff\xff\xff\xff"
       "a.",
       "would go on for 4294967295 bytes"},
      {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
       "a.",
       "would go on for 18446744073709551615 bytes"},
      {"\x96\0\0\0\0\0\0\0\x10"
       "a."s,
       "would go on for"},
      {"\x95\xff\0\0\0\0\0\0\0N."s, "a frame is longer"},
      {"l.", "finds no mark"},
      {"(K\x01"
       "d.",
       "a key without a value"},
      {"}(K\x01u.", "a key without a value"},
      {"K\x01K\x02"
       "a.",
       "no container"},
      {"}K\x02"
       "a.",
       "no container"},
      {"]K\x01K\x02s.", "no container"},
      {"K\x01(\x86.", "stack is too short"},
      {"K\x01(0K\x02"
       "00.",
       "stack is too short"},
      {"h\0."s, "its memo has no number 0"},
      {"j\xff\xff\xff\xff.", "its memo has no number 4294967295"},
      {"g-1\n.", "a number of its memo"},
      {"Nr\xff\xff\xff\xff.", "puts number 4294967295"},
      {"Nq\x40.", "puts number 64"},
      {"q\0."s, "stack is too short"},
      {"\x94.", "stack is too short"},
      {"cknown\nf\nNR.", "no tuple"},
      {"NK\x01"
       "b.",
       "gets a state"},
      {"K\x01K\x02\x93.", "name is not text"},
      {"(o.", "has no class"},
      {"\x82\x01.", "extension code"},
      {"\x97.", "kept elsewhere"},
      {"N\x98.", "kept elsewhere"},
      {"ccollections\nOrderedDict\n((lK\x01"
       "atR.",
       "no pairs"},
      {"c" + std::string(1001, 'a') + "\nb\n.", "name is too long"},
      {std::string(kMaxPickleValues + 1, 'N') + ".", "more than 2097152 values"},
      {std::string(kMaxPickleValues + 1, '('), "more than 2097152 values"},
  };
  for (const auto& [bytes, words] : cases) {
    const IoError error = thrown_by<IoError>([&] { unpickled(bytes); });
    EXPECT_EQ(error.kind(), Kind::malformed) << bytes.substr(0, 50);
    EXPECT_TRUE(says(error, words)) << bytes.substr(0, 50) << ": " << error.what();
  }
}

TEST(Pickle, NamesThatAreNotKnownAreListedAndNothingElse) {
  using ::testing::ElementsAre;
  EXPECT_THAT(unpickled("cos\nsystem\n(S'echo hello'\ntR.").unknown, ElementsAre("os.system"));
  EXPECT_THAT(unpickled("\x8c\x02os\x8c\x06system\x93.").unknown, ElementsAre("os.system"));
  EXPECT_THAT(unpickled("(ios\nsystem\n.").unknown, ElementsAre("os.system"));
  EXPECT_THAT(unpickled("ca\nb\ncknown\nf\ncc\nd.e\nca\nb\n.").unknown, ElementsAre("a.b", "c.d.e"));
  EXPECT_THAT(unpickled("cos\nsystem\n\xff").unknown, ElementsAre("os.system")) << "also if it breaks off";
  EXPECT_THAT(unpickled("cknown\nf\n.").unknown, ElementsAre());
  std::string many;
  for (int i = 0; i < 100; ++i) many += str("ca\nf", i, "\n");
  EXPECT_EQ(unpickled(many + ".").unknown.size(), 16u);
}

// A list in itself, and dicts that share each other so that a walk would take 2^100 steps.
TEST(Pickle, CirclesAndSharedPartsAreValuesLikeOthers) {
  const Pickle circle = unpickled(
      "]q\0h\0"
      "a."s);
  EXPECT_EQ(circle.top().items, std::vector<PickleRef>{circle.root});
  std::string shared = "]";
  for (int i = 0; i < 100; ++i)
    shared +=
        "\x94"
        "]h" +
        std::string(1, static_cast<char>(i)) +
        "a"
        "h" +
        std::string(1, static_cast<char>(i)) + "a";
  EXPECT_EQ(unpickled(shared + ".").values.size(), 4u + 101);
}

}  // namespace
}  // namespace veldt::io
