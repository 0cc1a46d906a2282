// The veldt command.
#include "veldt/app/command.h"
#include "veldt/app/wait_policy.h"

int main(int argc, char** argv) {
  if (argc > 2) veldt::app::prefer_short_waits(argv);  // a verb with an input, not a call for help
  return veldt::app::run_command(argc, argv);
}
