#!/usr/bin/env bash
# ./dev docs: comments of headers and pages must reach the site, and a link that leads nowhere must fail it.
# Usage: docs_test.sh REPOSITORY   (exits with 77 without doxygen)
set -euo pipefail
repository=$1
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0
fail() { printf 'FAIL: %s\n' "$1"; failed=1; }

# --- comments of headers

cat >"$root/planted.h" <<'END'
// What it is for. And more: a <b>, 5 % of it.
// Tests: tests/a_test.cpp,
// tests/b_test.cpp
#pragma once

namespace veldt {

// A section.

// The first, .. to the last one. It has
// two sentences:
//   code(here);
// - and a list
//   of two lines
Tensor first(const Tensor& x);
Tensor second(const Tensor& x);
int third(int count);

enum class Kind { a, b };  // one or the other

struct Options {
  double lr = 1e-3, decay = 0;  // both
  std::string name = "// no comment";  // it goes on
                                       // below
  bool is_on = true;
  int count() const {
    // within
    return 1;  // one
  }
  // Of a template.
  template <class T> void take(T) {}  // NOLINT: short
};

}  // namespace veldt
END
read_header() { LC_ALL=C awk -f "$repository/tools/doxygen/header.awk" "$root/planted.h"; }
expect() {  # LINES: are in what is read, one after the other
  [[ $(read_header) == *"$1"* ]] || fail "expected of the planted header:
$1"
}
expect '/// @file
/// @brief What it is for.
///
/// And more: a \<b\>, 5 \% of it.
#pragma once'
expect '
// A section.
'
expect '/// @brief The first, .. to the last one.
///
/// It has two sentences:
/// @code{.cpp}
/// code(here);
/// @endcode
/// - and a list
///   of two lines
Tensor first(const Tensor& x);
/// @brief The first, .. to the last one.'
expect 'Tensor second(const Tensor& x);
int third(int count);'
expect '/// @brief one or the other
enum class Kind { a, b };'
expect '  /// @brief both
  double lr = 1e-3;
  /// @brief both
  double decay = 0;
  /// @brief it goes on below
  std::string name = "// no comment";
  bool is_on = true;
  int count() const {
    // within
    return 1;  // one
  }
  /// @brief Of a template.
  template <class T> void take(T) {}  // NOLINT: short
};'

# --- pages

cat >"$root/page.md" <<'END'
# A page

## The `waist`: a/b.h

[that
page](../README.md#from-c) and [this](#the-waist-abh), [a file](../LICENSE), [a folder](../veldt), [far](https://x.org/a#b)

| `a\|b<c>` | [x] |

```
# code, [as it](is.md)
```
END
page=$(LC_ALL=C awk -v page=docs/page.md -v pages='README.md docs/page.md' -v root="$repository" \
  -f "$repository/tools/doxygen/page.awk" "$root/page.md")
for line in '# A page {#page}' '## The waist: a/b.h {#page-the-waist-abh}' '[that page](@ref index-from-c)' \
  '[this](@ref page-the-waist-abh)' '[a file](files/LICENSE), a folder, [far](https://x.org/a#b)' \
  '<code>a\|b\<c\></code>' '# code, [as it](is.md)'; do
  [[ $page == *"$line"* ]] || fail "expected \"$line\" of the planted page, which is:
$page"
done

# --- links

mkdir "$root/site" "$root/site/b"
printf '<a href="b/c.html#here">x</a> <a href="https://x.org/no">y</a> <img src="a%%20b.png"> <a href="#top">z</a> <p id="top">' >"$root/site/a.html"
printf '<a name="here"></a> <a href="../a.html">up</a>' >"$root/site/b/c.html"
touch "$root/site/a b.png"
said=$("$repository/tools/check_links" "$root/site") || fail "a site without faults fails: $said"
[[ $said == *'4 links in 2 pages'* ]] || fail "four links are not counted: $said"
printf '<a href="c.html#there">x</a> <a href="../d.html">y</a>' >>"$root/site/b/c.html"
! said=$("$repository/tools/check_links" "$root/site") || fail 'two broken links pass'
[[ $said == *'"c.html#there": the file has no such place'*'"../d.html": there is no such file'*'2 of 6 links'* ]] ||
  fail "the broken links are not told: $said"

# --- all of it

if ! command -v doxygen >/dev/null; then
  ((failed)) && exit 1
  echo 'there is no doxygen'
  exit 77
fi
"$repository/tools/docs" "$root/docs" >"$root/log" 2>&1 || fail "the site cannot be made: $(cat "$root/log")"
describes() {  # PAGE TEXT
  grep -qF -- "$2" "$root/docs/html/$1" || fail "$1 does not say \"$2\""
}
describes index.html 'two gigabytes of libraries'
describes classveldt_1_1nn_1_1Linear.html 'Both start like torch.nn.Linear'
describes classveldt_1_1Tensor.html 'a handle to numbers of one dtype'
describes classveldt_1_1optim_1_1Optimizer.html 'Changes the parameters by one step'
describes structveldt_1_1train_1_1FitOptions.html 'without one the optimizer'
describes namespaceveldt_1_1field.html 'with the best choices for it'
[[ -f $root/docs/html/files/examples/mnist.cpp ]] || fail 'a file that a page leads to is not in the site'

# The same of a repository whose page has two faults.
mkdir "$root/copy"
git -C "$repository" ls-files -z --cached --others --exclude-standard -- . ':!bench/*/*' ':!assets' ':!tests' |
  tar -C "$repository" --null -T - -cf - | tar -C "$root/copy" -xf -
git -C "$root/copy" init -q
printf '\n[a](nowhere.md) and [b](dtypes.md#nowhere)\n' >>"$root/copy/docs/accuracy.md"
! said=$("$root/copy/tools/docs" "$root/broken" 2>&1) || fail 'a site with broken links passes'
[[ $said == *'dtypes-nowhere'* ]] || fail "a broken link is not told: $said"
exit "$failed"
