#include "veldt/app/verbs.h"

namespace veldt::app {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
  };
  return all;
}

}  // namespace veldt::app
