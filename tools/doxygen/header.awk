# A header as doxygen reads it, its comments being the house's: comment lines directly before a declaration describe it,
# and functions of its kind that follow without a blank line between and have none of their own; a comment at the end of a
# declaration's line describes that one. The first comment describes the file. Comments within functions, and those
# that a blank line parts from what follows, stay as they are. What is indented within a comment is code.
#   awk -f tools/doxygen/header.awk veldt/nn/linear.h

function trimmed(text) { sub(/^[ \t]+/, "", text); sub(/[ \t]+$/, "", text); return text }

# Where a line's comment begins: 0 for none. Quotes are minded.
function comment_at(text,   i, c, quote) {
  for (i = 1; i <= length(text); ++i) {
    c = substr(text, i, 1)
    if (quote != "") {
      if (c == "\\") ++i
      else if (c == quote) quote = ""
    } else if (c == "\"" || (c == "'" && substr(text, i - 1, 1) !~ /[0-9]/)) quote = c
    else if (c == "/" && substr(text, i + 1, 1) == "/") return i
  }
  return 0
}

# Prose without what doxygen or Markdown would take for its own; what is between backquotes stays.
function escaped(text,   part, count, i, out) {
  count = split(text, part, "`")
  if (count % 2 == 0) count = 1
  for (i = 1; i <= count; ++i)
    if (i % 2 == 1) {
      if (count == 1) part[i] = text
      gsub(/[\\]/, "\\\\", part[i])
      gsub(/[@<>#%]/, "\\\\&", part[i])
      gsub(/\]\(/, "] (", part[i])
      out = out part[i]
    } else out = out "`" part[i] "`"
  return out
}

# Where the first sentence ends: its length, or that of all. ".." and "al." are no ends.
function sentence(text,   at, rest, done) {
  rest = text
  while (match(rest, /[^.][.:]?[.] +["A-Z(]/)) {
    at = done + RSTART + RLENGTH - 1  # of the letter that begins the next sentence
    if (substr(text, 1, at - 1) !~ /(et al|e\.g|i\.e)\. +$/ && substr(text, 1, at - 1) !~ /\.\. +$/)
      return length(trimmed(substr(text, 1, at - 1)))
    done = at - 1
    rest = substr(text, at)
  }
  return length(text)
}

# The comment lines 1 to count of `from`, without their slashes, as a comment of doxygen's.
function document(from, count, pad, first,   i, text, out, code, list, brief, rest, end) {
  out = first
  brief = ""
  for (i = 1; i <= count; ++i) {  # the prose that it begins with
    if (from[i] == "" || from[i] ~ /^(  +|- )/) break
    brief = brief (brief == "" ? "" : " ") from[i]
  }
  if (brief != "") {
    end = sentence(brief)
    out = out pad "/// @brief " escaped(substr(brief, 1, end)) "\n"
    rest = trimmed(substr(brief, end + 1))
    if (rest != "") out = out pad "///\n" pad "/// " escaped(rest) "\n"
  }
  for (; i <= count; ++i) {
    text = from[i]
    if (text ~ /^- /) { list = 1 } else if (text !~ /^ /) list = 0
    if (text ~ /^  / && !list) {
      if (!code) out = out pad "/// @code{.cpp}\n"
      code = 1
      out = out pad "/// " substr(text, 3) "\n"
      continue
    }
    if (code) out = out pad "/// @endcode\n"
    code = 0
    out = out pad "/// " (text ~ /^- / && from[i - 1] !~ /^[- ]/ ? "\n" pad "/// " : "") escaped(text) "\n"
  }
  if (code) out = out pad "/// @endcode\n"
  return out
}

# Without the heads of templates, which have the word class too.
function without_template(text,   i, depth, c) {
  while (text ~ /^ *template *</) {
    sub(/^ *template */, "", text)
    depth = 0
    for (i = 1; i <= length(text); ++i) {
      c = substr(text, i, 1)
      if (c == "<") ++depth
      if (c == ">" && --depth == 0) break
    }
    text = trimmed(substr(text, i + 1))
  }
  return text
}

function opened(text) {
  text = without_template(trimmed(text))
  if (text ~ /^(inline +)?namespace[ {]/ || text ~ /^extern +"C"/ || text == "namespace") return "namespace"
  if (text ~ /^enum /) return "enum"
  if (text ~ /^(class|struct|union)[ :]/) return "class"
  return "body"
}

function in_declarations() { return depth == 0 || scope[depth] != "body" }

# Reads the code of a line: what it opens and closes, and the statement so far.
function read_code(code,   i, c, quote) {
  for (i = 1; i <= length(code); ++i) {
    c = substr(code, i, 1)
    if (quote != "") {
      if (c == "\\") ++i
      else if (c == quote) quote = ""
      continue
    }
    if (c == "\"" || (c == "'" && substr(code, i - 1, 1) !~ /[0-9]/)) { quote = c; statement = statement c; continue }
    if (c == "{") {
      scope[++depth] = opened(statement)
      if (scope[depth] != "body") { statement = ""; opens = 1 }
    } else if (c == "}") {
      if (scope[depth] != "body") statement = ""
      --depth
    } else if (c == ";" && in_declarations()) {
      statement = ""
    } else statement = statement c
  }
  statement = statement " "
}

function flush_comment(   i) {  # as it was
  for (i = 1; i <= pending; ++i) print comment_line[i]
  pending = 0
}

# double a = 1, b = 2;  as two lines, because a description is that of one.
function one_each(text,   type, part, count, i) {
  if (text !~ /^ *[a-z][A-Za-z0-9_:]* [a-z][a-z0-9_]*( = [A-Za-z0-9_.:-]+)?(, [a-z][a-z0-9_]*( = [A-Za-z0-9_.:-]+)?)+;\n$/)
    return text
  match(text, /^ *[a-z][A-Za-z0-9_:]* /)
  type = substr(text, 1, RLENGTH)
  count = split(substr(text, RLENGTH + 1), part, ", ")
  text = ""
  for (i = 1; i <= count; ++i) text = text type part[i] (i < count ? ";\n" : "")
  return text
}

# Each line of what one_each() made with the description, any other statement with one before it.
function described(text, statement,   part, count, i, out) {
  count = split(statement, part, "\n")
  if (count < 3 || statement !~ /^( *[a-z][A-Za-z0-9_:]* [a-z][a-z0-9_]*( = [A-Za-z0-9_.:-]+)?;\n)+$/) return text statement
  for (i = 1; i < count; ++i) out = out text part[i] "\n"
  return out
}

# The name of a function, "operator" for all operators; empty for what is none. And what it takes.
function name_of(text) {
  if (text !~ /\(/) return ""
  if (text ~ /operator/) return "operator"
  sub(/\(.*/, "", text)
  sub(/.*[^A-Za-z0-9_]/, "", text)
  return text
}
function taken_by(text) {
  match(text, /\([^)]*\)/)
  return substr(text, RSTART, RLENGTH)
}

function type_of(text) {
  sub(/[A-Za-z0-9_]+\(.*/, "", text)
  return text
}

# Whether the last description is of this function too: it names it, it was of an overload, or, in a namespace, of a function
# of the same type and arguments.
function shares(text,   name) {
  name = name_of(text)
  if (name == "" || last_name == "") return 0
  return name == last_name || name == "set_" last_name || last ~ "[^A-Za-z0-9_]" name "\\(" ||
         (scope[depth] != "class" && type_of(text) == last_type && taken_by(text) == last_takes && last !~ /@brief Throws/)
}

function write_statement(   doc) {
  if (lines == "") return
  if (!skips) lines = one_each(lines)
  if (skips) printf "%s", plain lines
  else if (own) { printf "%s", described(document(tail, tails, pad_of, ""), lines); last = "" }
  else if (had) {
    last = document(head, heads, pad_of, "")
    last_name = name_of(lines)
    last_takes = taken_by(lines)
    last_type = type_of(lines)
    printf "%s", described(last, lines)
  }
  else if (last != "" && shares(lines)) printf "%s%s", last, lines
  else { printf "%s", lines; last = "" }
  lines = plain = ""
  own = had = skips = tails = 0
}

{ line[NR] = $0 }

END {
  # The file's own comment.
  for (n = 1; n <= NR && line[n] ~ /^\/\//; ++n) {
    text = line[n]
    sub(/^\/\/ ?/, "", text)
    if (text ~ /^Tests: /) { while (line[n + 1] ~ /^\/\/ +tests\//) ++n; continue }
    head[++heads] = text
  }
  if (heads) printf "%s", document(head, heads, "", "/// @file\n")
  for (i = 1; i <= heads; ++i) file_head[i] = head[i]
  file_heads = heads
  file = FILENAME
  gsub(/^.*\/|\.h$/, "", file)
  gsub(/_/, "", file)
  for (; n <= NR; ++n) {
    text = line[n]
    if (text ~ /^[ \t]*$/) {
      flush_comment()
      if (lines == "") { print text; last = "" } else lines = lines text "\n"
      continue
    }
    if (text ~ /^[ \t]*\/\//) {
      if (lines != "" || !in_declarations()) {  # within a statement or a function
        if (lines == "") print text
        else lines = lines text "\n"
      } else comment_line[++pending] = text
      continue
    }
    if (text ~ /^#/ && lines == "") { flush_comment(); last = ""; print text; continue }
    at = comment_at(text)
    code = at ? substr(text, 1, at - 1) : text
    sub(/[ \t]+$/, "", code)
    if (lines == "") {  # a statement begins
      statement = ""
      pad_of = text
      sub(/[^ ].*$/, "", pad_of)
      skips = !in_declarations() || code ~ /^ *(}|public:|private:|protected:|namespace |using namespace)/ ||
              code ~ /^ *(extern template|friend class|template class)/
      had = pending > 0
      heads = pending
      for (i = 1; i <= pending; ++i) {
        head[i] = comment_line[i]
        sub(/^[ \t]*\/\/ ?/, "", head[i])
        plain = plain comment_line[i] "\n"
      }
      pending = 0
      # The class that a header is named for is what its first comment describes.
      if (!had && code !~ /;$/ && match(code, /^(class|struct) [A-Za-z]+/) &&
          tolower(substr(code, index(code, " ") + 1, RLENGTH - index(code, " "))) == file)
        for (had = i = 1; i <= file_heads; ++i) head[heads = i] = file_head[i]
      if (skips && code ~ /^ *(}|public:|private:|protected:)/) last = ""
    }
    opens = 0
    before = depth
    read_code(code)
    opens = opens && depth > before
    closed = code ~ /[;}]$/ || (scope[depth] == "enum" && code ~ /,$/)
    ends = in_declarations() && (closed || opens || code ~ /^ *(public|private|protected):$/ ||
                                 (scope[depth] == "enum" && line[n + 1] ~ /^ *}/))
    if (at && ends && !opens && !skips && substr(text, at) !~ /^\/\/ ?NOLINT/) {
      tails = own = 1
      tail[1] = substr(text, at)
      sub(/^\/\/ ?/, "", tail[1])
      text = code
      while (line[n + 1] ~ /^ *\/\// && comment_at(line[n + 1]) == at && at > length(pad_of) + 1) {  # it goes on below
        tail[++tails] = line[++n]
        sub(/^ *\/\/ ?/, "", tail[tails])
      }
      if (had) {  # both: its own first
        tail[++tails] = ""
        for (i = 1; i <= heads; ++i) tail[++tails] = head[i]
      }
    }
    lines = lines text "\n"
    if (ends || (!in_declarations() && skips)) { write_statement(); statement = "" }
    if (opens) last = ""
  }
  flush_comment()
  write_statement()
}
