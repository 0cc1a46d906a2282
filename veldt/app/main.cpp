// The veldt command.
#include "veldt/app/command.h"

int main(int argc, char** argv) { return veldt::app::run_command(argc, argv); }
