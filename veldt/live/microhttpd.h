// The functions of GNU libmicrohttpd that are used. Only for http_server.cpp.
// Tests: tests/live/http_server_test.cpp
#pragma once

#include <microhttpd.h>

#include "veldt/io/shared_library.h"

namespace veldt::live {

struct Microhttpd {
  decltype(&::MHD_start_daemon) start = nullptr;
  decltype(&::MHD_stop_daemon) stop = nullptr;
  decltype(&::MHD_run) run = nullptr;
  decltype(&::MHD_get_timeout) timeout = nullptr;
  decltype(&::MHD_get_daemon_info) daemon_info = nullptr;
  decltype(&::MHD_get_connection_info) connection_info = nullptr;
  decltype(&::MHD_get_connection_values) values = nullptr;
  decltype(&::MHD_queue_response) queue = nullptr;
  decltype(&::MHD_create_response_from_buffer) from_buffer = nullptr;
  decltype(&::MHD_create_response_from_callback) from_callback = nullptr;
  decltype(&::MHD_add_response_header) add_header = nullptr;
  decltype(&::MHD_destroy_response) destroy = nullptr;
  decltype(&::MHD_suspend_connection) suspend = nullptr;
  decltype(&::MHD_resume_connection) resume = nullptr;
  decltype(&::MHD_add_connection) add_connection = nullptr;

  Microhttpd() {
    const io::SharedLibrary file(VELDT_MICROHTTPD_SONAME, "serve a page", VELDT_MICROHTTPD_PACKAGE);
    file.find(start, "MHD_start_daemon");
    file.find(stop, "MHD_stop_daemon");
    file.find(run, "MHD_run");
    file.find(timeout, "MHD_get_timeout");
    file.find(daemon_info, "MHD_get_daemon_info");
    file.find(connection_info, "MHD_get_connection_info");
    file.find(values, "MHD_get_connection_values");
    file.find(queue, "MHD_queue_response");
    file.find(from_buffer, "MHD_create_response_from_buffer");
    file.find(from_callback, "MHD_create_response_from_callback");
    file.find(add_header, "MHD_add_response_header");
    file.find(destroy, "MHD_destroy_response");
    file.find(suspend, "MHD_suspend_connection");
    file.find(resume, "MHD_resume_connection");
    file.find(add_connection, "MHD_add_connection");
  }
};

}  // namespace veldt::live
