// The real readers and writers of shared formats, where this machine has them: a test that finds no Python
// with the module it needs is skipped. VELDT_PYTHON names the interpreter; without it, python3 is tried.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

namespace veldt::test {

inline std::string python() {
  const char* named = std::getenv("VELDT_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

// Runs the interpreter with these arguments, which hold no blanks; returns its exit status.
inline int run_python(const std::string& arguments) {
  const int status = std::system((python() + " " + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline bool python_has(const std::string& module) {
  return run_python("-c 'import " + module + "' >/dev/null 2>&1") == 0;
}

}  // namespace veldt::test
