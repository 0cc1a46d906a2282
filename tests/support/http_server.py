#!/usr/bin/env python3
"""A web server of good and bad manners for fetch_test.cpp: writes its port into the file given, and serves until its
standard input ends. /lions: 300,000 bytes of "lion"."""
import http.server
import os
import sys
import threading

LIONS = b"lion" * 75_000


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            return self.answer(302, b"", {"Location": "/lions"})
        if self.path == "/round":
            return self.answer(302, b"", {"Location": "/round"})
        if self.path == "/elsewhere":
            return self.answer(302, b"", {"Location": "ftp://127.0.0.1:1/lions"})
        if self.path == "/lions":
            return self.answer(200, LIONS)
        if self.path == "/torn":  # the connection ends before what was promised
            return self.answer(200, LIONS[:1000], {"Content-Length": str(len(LIONS))})
        if self.path == "/endless":
            self.answer(200, b"", {"Content-Length": None})
            try:
                while True:
                    self.wfile.write(LIONS)
            except OSError:
                return
        if self.path == "/empty":
            return self.answer(200, b"")
        self.answer(404, b"no lions here")

    def answer(self, status, body, headers={}):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Thread(target=server.serve_forever, daemon=True).start()
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".part", sys.argv[1])
sys.stdin.read()
