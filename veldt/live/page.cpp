// Puts the page's parts, and a report's records, into one text.
#include "veldt/live/page.h"

#include <cstddef>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/live/board.h"
#include "veldt/live/record_json.h"
#include "veldt/live/texts.h"

namespace veldt::live {
namespace {

void put_in(std::string& text, std::string_view mark, std::string_view what) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) throw Error("the page has lost a mark", std::string(mark), "report this bug");
  text.replace(at, mark.size(), what);
}

std::string page_with(const std::string& nonce, const std::string& policy, const std::string& records) {
  std::string page(page_html);
  put_in(page, "<!--policy-->", policy);
  put_in(page, "/*style*/", page_css);
  put_in(page, "/*script*/", str(chart_js, panels_js, page_js));
  for (std::size_t at; (at = page.find("@nonce@")) != std::string::npos;) page.replace(at, 7, nonce);
  put_in(page, "/*records*/", records);  // last: a text of theirs is no mark
  return page;
}

// Inside of a script no "</script" may stand.
std::string inside_a_script(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

// Leaves out every second picture, but for the first and the last of each name, until the rest fits.
void fit_pictures(Record& record, std::size_t most_bytes) {
  const auto bytes = [&record] {
    std::size_t sum = 0;
    for (const Snapshot& p : record.pictures) sum += p.png.size() / 3 * 4;
    return sum;
  };
  while (bytes() > most_bytes && record.pictures.size() > 2) {
    std::vector<Snapshot> kept;
    const std::size_t before = record.pictures.size();
    for (std::size_t i = 0, drawn = 0; i < before; ++i)
      if (record.pictures[i].name != "picture" || drawn++ % 2 == 0 || i + 1 == before)
        kept.push_back(std::move(record.pictures[i]));
    if (kept.size() == before) {
      record.pictures = std::move(kept);
      return;
    }
    record.pictures = std::move(kept);
  }
}

}  // namespace

std::string live_page(const std::string& nonce) { return page_with(nonce, "", "[]"); }

std::string report_page(const std::vector<std::pair<std::string, Record>>& records, std::size_t most_bytes) {
  std::string all = "[";
  for (const auto& [name, record] : records) {
    Record kept = record;
    fit_pictures(kept, most_bytes / 2 / records.size());
    Seen seen;
    all += str(all.size() > 1 ? "," : "", "{\"name\":", text_json(name),
               ",\"news\":", Board(std::move(kept)).news(seen, true), "}");
  }
  // A nonce is for pages that others can write into; this one has none.
  const std::string policy =
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-report'; "
      "style-src 'nonce-report'; img-src data:\">";
  return page_with("report", policy, inside_a_script(all + "]"));
}

}  // namespace veldt::live
