# A page of Markdown as doxygen reads it: headings get the names that GitHub gives them, and links lead to those, to other
# pages of the site, or to copies of files of the repository, which tools/docs makes below files/. A link to a folder, which
# the site has not, becomes its text.
#   awk -v page=docs/tour.md -v pages="README.md docs/tour.md .." -v root=/path -f tools/doxygen/page.awk docs/tour.md

# The name of a page in the site: docs/tour.md: tour.
function label(path) {
  if (path == "README.md") return "index"
  sub(/\.md$/, "", path)
  sub(/^docs\//, "", path)
  gsub(/[^A-Za-z0-9_-]/, "_", path)
  return path
}

# What GitHub makes of a heading.
function slug(text) {
  text = tolower(text)
  gsub(/[^a-z0-9 _-]/, "", text)
  gsub(/ /, "-", text)
  return text
}

# a/../b: b
function straight(path,   part, count, i, out, n) {
  count = split(path, part, "/")
  n = 0
  for (i = 1; i <= count; ++i)
    if (part[i] == "..") --n
    else if (part[i] != "." && part[i] != "") kept[++n] = part[i]
  out = ""
  for (i = 1; i <= n; ++i) out = out (i > 1 ? "/" : "") kept[i]
  return out
}

# The target of a link, as this site has it; empty for none.
function target_of(to,   at, anchor, path) {
  if (to ~ /^[a-z]+:/) return to
  at = index(to, "#")
  anchor = at ? substr(to, at + 1) : ""
  path = at ? substr(to, 1, at - 1) : to
  path = path == "" ? page : straight(folder path)
  if (index(" " pages " ", " " path " "))
    return "@ref " label(path) (anchor == "" ? "" : "-" anchor)
  if (system("test -d '" root "/" path "'") == 0) return ""
  return "files/" path  # tools/docs puts it there, or finds that it is not there
}

# Text with its links changed; what is between backquotes stays.
function linked(text,   out, before, shown, to, at) {
  out = ""
  while (match(text, /`[^`]*`|!?\[[^]]*\]\([^) ]+\)/)) {
    before = substr(text, 1, RSTART - 1)
    found = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    if (found !~ /^`/) {
      at = index(found, "](")
      shown = substr(found, index(found, "[") + 1, at - index(found, "[") - 1)
      to = substr(found, at + 2, length(found) - at - 2)
      gsub(/\n/, " ", shown)  # doxygen's text of a reference is of one line
      if (found ~ /^!/) {
        sub(/.*\//, "", to)
        found = "![" shown "](" to ")"
      } else {
        to = target_of(to)
        found = to == "" ? shown : "[" shown "](" to ")"
      }
    }
    if (found ~ /^`.*\\\|/) found = code_with_bar(substr(found, 2, length(found) - 2))
    out = out prose(before) found
  }
  return out prose(text)
}

# Code of a table's cell in which a bar is escaped, as Markdown has it; doxygen unescapes it outside of backquotes alone.
function code_with_bar(text) {
  gsub(/&/, "\\&amp;", text)
  gsub(/[<>#%]/, "\\\\&", text)
  gsub(/--/, "\\--", text)
  return "<code>" text "</code>"
}

# Prose without what doxygen would take for its own.
function prose(text) {
  gsub(/[@#]/, "\\\\&", text)
  return text
}

BEGIN {
  folder = page
  if (!sub(/[^\/]*$/, "", folder)) folder = ""
}

function write_paragraph() {
  if (paragraph != "") printf "%s", linked(paragraph)
  paragraph = ""
}

/^```/ { fenced = !fenced }
fenced || /^```/ || /^    / { write_paragraph(); print; next }

/^#+ / {
  write_paragraph()
  hashes = text = $0
  sub(/ .*/, "", hashes)
  sub(/^#+ +/, "", text)
  name = slug(text)
  gsub(/`/, "", text)  # doxygen shows them as they are
  if (hashes == "#" && !titled && page == "README.md") {
    ++titled
    print "@mainpage " text
    next
  }
  if (page == "README.md" && titled) hashes = substr(hashes, 2)  # the page is what its title would be
  if (seen[name]++) name = name "-" seen[name] - 1
  print hashes " " linked(text) " {#" (hashes == "#" && !titled++ ? label(page) : label(page) "-" name) "}"
  next
}

# Links and code may go over the ends of lines, but not of paragraphs.
/^[ \t]*$/ { write_paragraph(); print; next }
{ paragraph = paragraph $0 "\n" }
END { write_paragraph() }
