// The page that draws records: live ones, which it is sent, or those that it holds, as a report.
// Tests: tests/live/site_test.cpp, tests/app/pages_test.py
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "veldt/live/record.h"

namespace veldt::live {

// `nonce` marks what the page's policy lets it run.
std::string live_page(const std::string& nonce);

// One file, which opens from a disk and asks no network for anything: the records by their names, side by
// side if there are several. Its pictures are inside, in at most `most_bytes` (early ones are left out if
// they are more).
std::string report_page(const std::vector<std::pair<std::string, Record>>& records,
                        std::size_t most_bytes = std::size_t{2} << 20);

}  // namespace veldt::live
