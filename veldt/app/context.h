// What every verb is given: the flags that all share, stdout, and the command line.
#pragma once

#include <string>
#include <vector>

#include "veldt/app/output.h"

namespace veldt::app {

struct Context {
  bool json = false;   // one JSON object on stdout in place of text
  bool quiet = false;  // no progress and no notes on stderr; warnings and errors remain
  int threads = 0;     // 0: as many as there are cores
  Output out;
  std::vector<std::string> arguments;  // argv, with the program's name
};

// Arguments joined so that a shell reads them back as they are: for "resume with: veldt fit ..".
std::string quoted_for_shell(const std::vector<std::string>& arguments);

}  // namespace veldt::app
