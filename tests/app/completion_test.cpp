// The scripts of `veldt completion`, tried in the shells themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"

namespace veldt::test {
namespace {

// The output of a shell command, including stderr.
std::string output_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {};
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  ::pclose(pipe);
  return text;
}

bool is_installed(const std::string& shell) { return !output_of("command -v " + shell).empty(); }

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

class Completion : public testing::Test {
 protected:
  // Writes the script and returns its path.
  std::string script(const std::string& shell) const {
    const Ran ran = run_veldt({"completion", shell});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    put_bytes(dir_ / ("script." + shell), ran.out);
    return dir_ / ("script." + shell);
  }
  const TempDir dir_;
};

class BashCompletion : public Completion {
 protected:
  void SetUp() override {
    if (!is_installed("bash")) GTEST_SKIP() << "there is no bash";
    script_ = script("bash");
    put_bytes(dir_ / "cub.png", "");
    put_bytes(dir_ / "my cub.png", "");
  }
  // The suggestions of Tab after `words`, split as in bash: a = is a word of its own.
  std::vector<std::string> offered(const std::string& words) const {
    put_bytes(dir_ / "try.bash", "source '" + script_ + "'\ncd '" + dir_.path() + "'\nCOMP_WORDS=(" + words +
                                     ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_veldt\n"
                                     "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    return lines_of(output_of("bash --norc '" + (dir_ / "try.bash") + "'"));
  }
  std::string script_;
};

using Offers = std::vector<std::string>;

TEST_F(BashCompletion, IsRegistered) {
  EXPECT_EQ(output_of("bash --norc -c \"source '" + script_ + "'; complete -p veldt\""),
            "complete -F _veldt veldt\n");
}

TEST_F(BashCompletion, OffersVerbs) {
  const Offers all = offered("veldt ''");
  for (const char* verb : {"fit", "render", "csv", "completion", "help"})
    EXPECT_EQ(std::count(all.begin(), all.end(), verb), 1) << verb;
  EXPECT_EQ(offered("veldt ren"), Offers{"render"});
  EXPECT_EQ(offered("veldt re"), (Offers{"render", "report", "resize"}));
  EXPECT_EQ(offered("veldt csv ''"), (Offers{"decode", "encode"}));
  EXPECT_EQ(offered("veldt help ren"), Offers{"render"});
}

TEST_F(BashCompletion, OffersTheFlagsOfTheVerb) {
  EXPECT_EQ(offered("veldt fit --pre"), (Offers{"--precision", "--preset", "--preview", "--preview-every"}));
  EXPECT_EQ(offered("veldt fit --ex"), (Offers{"--exact", "--explain"}));
  EXPECT_EQ(offered("veldt csv encode --th"), Offers{"--threshold"});
  EXPECT_EQ(offered("veldt csv decode --th"), Offers{""});
  EXPECT_EQ(offered("veldt fit cub.png -o m --ste"), Offers{"--steps"});
  EXPECT_EQ(offered("veldt --ver"), Offers{"--version"});
}

TEST_F(BashCompletion, OffersChoicesAndFiles) {
  EXPECT_EQ(offered("veldt fit --model si"), Offers{"siren"});
  EXPECT_EQ(offered("veldt fit --model = fi"), Offers{"finer"});
  EXPECT_EQ(offered("veldt fit --loss ="), (Offers{"bce", "hinge", "mse"}));
  EXPECT_EQ(offered("veldt completion z"), Offers{"zsh"});
  EXPECT_EQ(offered("veldt fit cu"), Offers{"cub.png"});
  EXPECT_EQ(offered("veldt fit my"), Offers{"my cub.png"});
  EXPECT_EQ(offered("veldt render -o cu"), Offers{"cub.png"});
  EXPECT_EQ(offered("veldt fit --steps ''"), Offers{""});  // a number: nothing to offer
}

TEST_F(BashCompletion, AFileMayBeCalledLikeAVerb) {
  EXPECT_EQ(offered("veldt compare info --min"), Offers{"--min-psnr"});
}

TEST_F(Completion, FishOffersTheSame) {
  if (!is_installed("fish")) GTEST_SKIP() << "there is no fish";
  const std::string path = script("fish");
  const auto offered = [&](const std::string& line) {
    put_bytes(dir_ / "try.fish", "source '" + path + "'\ncomplete -C '" + line + "'\n");
    std::vector<std::string> words;
    for (std::string& text :
         lines_of(output_of("HOME='" + dir_.path() + "' fish --no-config '" + (dir_ / "try.fish") + "'")))
      words.push_back(text.substr(0, text.find('\t')));
    return words;
  };
  EXPECT_EQ(offered("veldt ren"), Offers{"render"});
  EXPECT_EQ(offered("veldt csv "), (Offers{"decode", "encode"}));
  EXPECT_EQ(offered("veldt help ren"), Offers{"render"});
  EXPECT_EQ(offered("veldt fit --pre"), (Offers{"--precision", "--preset", "--preview", "--preview-every"}));
  EXPECT_EQ(offered("veldt fit --model si"), Offers{"siren"});
  EXPECT_EQ(offered("veldt csv decode --th"), Offers{});
}

// zsh only completes on a terminal: it gets one, and a key that keeps the completed line.
constexpr const char* kZshTypist = R"zsh(zmodload zsh/zpty || exit 1
functions_at=$1 kept=$2; shift 2
zpty typist zsh -f -i
listen() { local text; while zpty -rt typist text; do :; done }
lines() { [[ -e $kept ]] && wc -l < $kept || echo 0; }
patiently() { for _ in {1..300}; do listen; (( $(lines) >= $1 )) && return; sleep 0.1; done }
zpty -w typist "PS1=; unsetopt beep; TERM=dumb; fpath=($functions_at \$fpath)"
zpty -w typist "autoload -Uz compinit; compinit -u -D; bindkey '^I' complete-word"
zpty -w typist "keep() { print -r -- \"\$BUFFER\" >> $kept; BUFFER=; }; zle -N keep; bindkey '^X' keep"
zpty -w typist "print started >> $kept"
patiently 1
integer done=1
for line; do
  zpty -wn typist "$line"$'\t'
  sleep 0.2
  zpty -wn typist $'\x18'
  patiently $((++done))
done
zpty -d typist
)zsh";

TEST_F(Completion, ZshOffersTheSame) {
  if (!is_installed("zsh")) GTEST_SKIP() << "there is no zsh";
  std::filesystem::create_directory(dir_ / "functions");
  put_bytes(dir_ / "functions/_veldt", bytes_of(script("zsh")));
  put_bytes(dir_ / "typist.zsh", kZshTypist);
  put_bytes(dir_ / "cub.png", "");
  output_of("cd '" + dir_.path() + "' && zsh -f typist.zsh '" + (dir_ / "functions") + "' '" +
            (dir_ / "kept") +
            "' 'veldt rend' 'veldt csv enc' 'veldt fit --targ' 'veldt fit --model sir' 'veldt fit cu'");
  EXPECT_EQ(bytes_of(dir_ / "kept"),
            "started\nveldt render \nveldt csv encode \nveldt fit --target-psnr=\nveldt fit --model siren \n"
            "veldt fit cub.png \n");
}

}  // namespace
}  // namespace veldt::test
