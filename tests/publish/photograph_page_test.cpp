// Pages of packed photographs: what is in them, and what is refused. Browsers draw them in pages_test.py.
#include "veldt/publish/photograph_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/codec/alpha.h"
#include "veldt/codec/base_networks.h"
#include "veldt/codec/packed_file.h"
#include "veldt/codec/photograph.h"
#include "veldt/core/base64.h"

namespace veldt::publish {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string packed_nothing(Size size, int channels) {
  std::string body =
      write_photograph(codec::whole_pyramid(size), codec::base_networks(0), codec::Shifts{}, {});
  if (channels % 2 == 0) body = codec::join_alpha(std::string(1, '\0'), body);
  return write_packed(codec::Family::photograph, size, channels, body);
}

TEST(PhotographPage, HoldsTheFile) {
  const std::string file = packed_nothing({40, 30}, 3);
  const std::string page = photograph_page(file, "a.vp", {.title = "a <b>"});
  EXPECT_THAT(page, HasSubstr(to_base64(file)));
  EXPECT_THAT(page, HasSubstr("<h1>a &lt;b&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("40 × 30 pixels"));
  EXPECT_THAT(page, HasSubstr("alpha = ''"));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  EXPECT_LT(page.size(), file.size() * 4 / 3 + 40000);
  EXPECT_THAT(photograph_page(packed_nothing({40, 30}, 4), "a.vp"), Not(HasSubstr("alpha = ''")));
}

TEST(PhotographPage, RefusesWhatItCannotShow) {
  EXPECT_THAT(test::error_of<IoError>([] { photograph_page("zz", "a.vp"); }), HasSubstr("a.vp"));
  const std::string drawing = write_packed(codec::Family::drawing, {1, 1}, 1, std::string(2, '\0'));
  EXPECT_THAT(test::error_of<IoError>([&] { photograph_page(drawing, "a.vp"); }), HasSubstr("drawing"));
  const std::string wide = write_packed(codec::Family::photograph, {20000, 2}, 3, "");
  EXPECT_THAT(test::error_of<ConfigError>([&] { photograph_page(wide, "a.vp"); }), HasSubstr("16384"));
}

}  // namespace
}  // namespace veldt::publish
