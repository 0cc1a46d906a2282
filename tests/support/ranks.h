// Runs a function on several ranks, each in a thread of its own with a communicator.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/dist/communicator.h"
#include "veldt/dist/in_process.h"

namespace veldt::test {

// What went wrong on each rank, in the words of its exception; empty where nothing did.
inline std::vector<std::string> run_ranks(const dist::InProcess& hub, int size,
                                          const std::function<void(dist::Communicator&)>& work,
                                          const dist::CommunicatorOptions& options = {}) {
  std::vector<std::string> failures(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      try {
        dist::Communicator ranks(hub.transport(r), options);
        work(ranks);
      } catch (const std::exception& error) {
        failures[static_cast<std::size_t>(r)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failures;
}

inline std::vector<std::string> run_ranks(int size, const std::function<void(dist::Communicator&)>& work) {
  return run_ranks(dist::InProcess(size), size, work);
}

}  // namespace veldt::test
