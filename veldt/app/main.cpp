// The veldt command.
#include <string_view>

#include "veldt/app/command.h"
#include "veldt/app/wait_policy.h"

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::string_view(argv[1]) == "doctor"))
    veldt::app::prefer_short_waits(argv);  // a verb that computes, not a call for help
  return veldt::app::run_command(argc, argv);
}
