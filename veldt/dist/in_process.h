// Ranks that are threads of one program: the transport of tests, and of examples that want no launcher.
//   const dist::InProcess ranks(4);
//   // in thread r:
//   dist::Communicator communicator(ranks.transport(r));
// Tests: tests/dist/transport_test.cpp
#pragma once

#include <memory>

#include "veldt/dist/transport.h"

namespace veldt::dist {

class InProcess {
 public:
  // Throws ConfigError for a size below 1.
  explicit InProcess(int size);
  // Of that rank; for one communicator.
  TransportFactory transport(int rank) const;
  // From now on nothing that this rank sends arrives, as if it had stopped or its cable had been cut.
  void silence(int rank) const;

  struct Hub;

 private:
  std::shared_ptr<Hub> hub_;
};

}  // namespace veldt::dist
