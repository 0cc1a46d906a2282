"""What the comparisons with PyTorch share, so that all of them are fair in the same way."""

# For the peers: memory that a step frees is kept for the next one, in huge pages, instead of faulting anew.
TUNED = {
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}


def peak_memory():
    """The most that this process has held, in MiB."""
    with open("/proc/self/status") as status:
        return next(float(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))
