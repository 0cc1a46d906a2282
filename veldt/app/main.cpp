// The veldt command.
#include "veldt/app/verbs.h"
#include "veldt/cli/command.h"

int main(int argc, char** argv) { return veldt::cli::run_command(veldt::app::program(), argc, argv); }
