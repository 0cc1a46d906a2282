# Trains a small network by torch's DistributedDataParallel over gloo, for ddp_test.cpp: reads the weights and the data
# that Veldt has written as raw f32, and writes losses and weights back.
# Usage: ddp.py FOLDER RANKS STEPS
import os
import sys

import numpy
import torch
import torch.distributed
import torch.multiprocessing

IN, HIDDEN, OUT, EXAMPLES = 6, 16, 3, 24


def train(rank, folder, ranks, steps):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks)
    numbers = torch.from_numpy(numpy.fromfile(f"{folder}/begin.f32", dtype=numpy.float32))
    net = torch.nn.Sequential(torch.nn.Linear(IN, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, OUT))
    at = 0
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(numbers[at : at + p.numel()].reshape(p.shape))
            at += p.numel()
    x = numbers[at : at + EXAMPLES * IN].reshape(EXAMPLES, IN)
    y = numbers[at + EXAMPLES * IN :].reshape(EXAMPLES, OUT)
    own = slice(EXAMPLES * rank // ranks, EXAMPLES * (rank + 1) // ranks)
    parallel = torch.nn.parallel.DistributedDataParallel(net)
    adam = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        adam.zero_grad()
        loss = torch.nn.functional.mse_loss(parallel(x[own]), y[own])
        loss.backward()
        adam.step()
        mean = loss.detach().clone()
        torch.distributed.all_reduce(mean)
        losses.append(mean.item() / ranks)
    if rank == 0:
        weights = numpy.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
        numpy.concatenate([numpy.array(losses, numpy.float32), weights]).tofile(f"{folder}/end.f32")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.multiprocessing.spawn(train, args=(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), nprocs=int(sys.argv[2]))
