# The C++ of pages as one source, so that a build holds every block against the library as it stands:
#   awk -f tests/docs/code.awk README.md docs/tour.md docs/from-pytorch.md
# A block's statements may use what those before it in the page declare. Types, functions and whole programs
# stand for themselves.
function end_of_block(   i, own) {
  own = block[first] ~ /^(struct|class|template) / || block[first] ~ /^[A-Za-z:]+ [a-z_]+\(.*\) \{/ || program
  text = sprintf("#line %d \"%s\"\n", first, FILENAME)
  for (i = first; i < FNR; ++i) text = text block[i] "\n"
  if (program) text = "namespace program_" ++programs " {\n" text "}  // namespace\n"
  if (own) types = types text
  else { statements = statements "{\n" text; ++depth }
}
function end_of_page() {
  if (inside) { print "a block is not closed on the page before " FILENAME > "/dev/stderr"; failed = 1; exit 1 }
  if (depth) {
    while (depth-- > 0) statements = statements "}"
    functions = functions "void page_" ++pages "() " "\n" statements "\n"
  }
  statements = ""; depth = 0
}
FNR == 1 { end_of_page() }
/^```/ {
  if (inside) end_of_block()
  inside = !inside && $0 == "```cpp"
  other = !inside && !other
  first = FNR + 1; program = 0
  next
}
inside {
  if ($0 ~ /^#include|^using namespace/) { includes = includes $0 "\n"; $0 = "" }
  if ($0 ~ /^int main\(/) program = 1
  if ($0 == "" && first == FNR) ++first
  block[FNR] = $0
}
END {
  if (failed) exit 1
  end_of_page()
  print "// Made by tests/docs/code.awk of the pages' code."
  print "#pragma GCC diagnostic ignored \"-Wreturn-type\"  // programs have another main() here"
  print includes "\nnamespace pages {\nconst std::string text = \"what a page calls its text\";\n"
  print types functions "}  // namespace pages\nint main() {}"
}
