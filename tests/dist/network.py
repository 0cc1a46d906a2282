"""Hosts on this machine: network namespaces PREFIX1 .. PREFIXn, joined by a switch that this program is.

Each has the address 10.77.0.I on a link (tun0) whose packets pass through here, so that a link can be as slow, far
or lossy as wanted without the kernel's netem. Needs root. Reads commands, a line each, and answers each by "ok":
  shape RATE DELAY LOSS MTU [QUEUE]   of all links: bits per second in each direction (0: no limit), seconds, share of
                          packets lost, bytes of a packet, bytes that wait at either end (250000 unless given)
  cut I                   nothing leaves or reaches host I any more
  mend                    all links are whole
Ends, and removes the namespaces, when there are no more commands.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
QUEUE = 250_000  # bytes that wait at either end of a link; what comes then is lost


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Link:
    """Of one host to the switch."""

    def __init__(self, prefix, number):
        self.namespace = f"{prefix}{number}"
        self.free = [0.0, 0.0]  # when the last packet has been sent: from the host, to it
        self.cut = False
        self.file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        device = f"{prefix}tun{number}"
        fcntl.ioctl(self.file, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TUN | IFF_NO_PI))
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "set", device, "netns", self.namespace)
        inside = ("ip", "-n", self.namespace)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "link", "set", device, "name", "tun0", "txqueuelen", "1000", "up")
        run(*inside, "address", "add", f"10.77.0.{number}/24", "dev", "tun0")
        # A connection with something under way ends 6 seconds after its last sign of life, not 15 minutes.
        run("ip", "netns", "exec", self.namespace, "sh", "-c", "echo 4 >/proc/sys/net/ipv4/tcp_retries2")

    def pass_through(self, way, now, size, rate, queue):
        """When a packet has passed; None if the queue is full."""
        begin = max(now, self.free[way])
        if (begin - now) * rate > queue * 8:
            return None
        self.free[way] = begin + (size * 8 / rate if rate > 0 else 0.0)
        return self.free[way]


class Switch:
    def __init__(self, prefix, count):
        self.links = {}
        self.on_the_way, self.passed = [], 0
        self.rate, self.delay, self.loss, self.queue = 0.0, 0.0, 0.0, QUEUE
        self.random = random.Random(1)
        try:
            for number in range(1, count + 1):
                self.links[number] = Link(prefix, number)
        except BaseException:
            self.remove()
            raise

    def take(self, source):
        for _ in range(64):
            try:
                packet = os.read(source.file, 65536)
            except BlockingIOError:
                return
            # The last number of an IPv4 packet's destination.
            target = self.links.get(packet[19]) if packet[0] >> 4 == 4 else None
            if target is None or source.cut or target.cut or self.random.random() < self.loss:
                continue
            self.enter(source, 0, target, packet, time.monotonic())

    def enter(self, link, way, target, packet, now):
        """A packet comes to an end of a link, where it waits for those before it."""
        passed = link.pass_through(way, now, len(packet), self.rate, self.queue)
        if passed is not None:
            self.passed += 1
            heapq.heappush(self.on_the_way, (passed + self.delay * way, self.passed, way, target, packet))

    def deliver(self):
        while self.on_the_way and self.on_the_way[0][0] <= time.monotonic():
            arrived, _, way, target, packet = heapq.heappop(self.on_the_way)
            if target.cut:
                continue
            if way == 0:
                self.enter(target, 1, target, packet, arrived)
                continue
            try:
                os.write(target.file, packet)
            except OSError:  # the host has shut its link down, or is too slow
                pass

    def obey(self, words):
        if words[0] == "shape":
            self.rate, self.delay, self.loss = map(float, words[1:4])
            self.queue = float(words[5]) if len(words) > 5 else QUEUE
            for link in self.links.values():
                run("ip", "-n", link.namespace, "link", "set", "tun0", "mtu", words[4])
        elif words[0] == "cut":
            self.links[int(words[1])].cut = True
        elif words[0] == "mend":
            for link in self.links.values():
                link.cut = False
        else:
            raise SystemExit(f"network.py: no such command: {words}")

    def go(self):
        print("ok", flush=True)
        by_file = {link.file: link for link in self.links.values()}
        while True:
            wait = max(0.0, self.on_the_way[0][0] - time.monotonic()) if self.on_the_way else None
            ready, _, _ = select.select([0, *by_file], [], [], wait)
            for file in ready:
                if file in by_file:
                    self.take(by_file[file])
                    continue
                line = sys.stdin.readline()
                if not line:
                    return
                self.obey(line.split())
                print("ok", flush=True)
            self.deliver()

    def remove(self):
        for link in self.links.values():
            subprocess.run(["ip", "netns", "del", link.namespace], check=False)


if __name__ == "__main__":
    switch = Switch(sys.argv[1], int(sys.argv[2]))
    try:
        switch.go()
    finally:
        switch.remove()
