// The GLSL to paste: compiles, where glslc is, and is refused for what does not fit. What it computes is
// tested by pages_test.py, whose pages are made of the same functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/publish/fields.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/publish/glsl.h"

namespace veldt::test {
namespace {

TEST(Glsl, CompilesForEveryKindOfField) {
  if (std::system("glslc --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "glslc is not here";
  const TempDir dir;
  std::string files;
  for (const auto& [name, field] : published_fields()) {
    io::write_file(dir / (name + ".frag"),
                   "#version 310 es\nprecision highp float;\nprecision highp int;\n" +
                       publish::glsl(field, name) +
                       "layout(location = 0) in vec2 at;\nlayout(location = 0) out vec4 colour;\n"
                       "void main() { colour = vec4(field(at), 1.0); }\n");
    files += " " + (dir / (name + ".frag"));
  }
  EXPECT_EQ(std::system(("cd " + dir.path() + " && glslc -Werror -O0 -c" + files).c_str()), 0);
}

TEST(Glsl, RefusesWhatIsTooLarge) {
  field::FieldOptions o = published_options(field::Activation::siren, 1);
  o.widths = {200, 200};
  EXPECT_THROW(publish::glsl(field::Field(o, 1), "large"), ConfigError);
}

}  // namespace
}  // namespace veldt::test
