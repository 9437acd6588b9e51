#!/usr/bin/env python3
"""Times AllReduce, AllGather and ReduceScatter of several sizes, again and again, in one process group.

usage: torchrun --nproc-per-node N bench/nccl/sweep.py [--steps 500] [--last 200] [--sizes 65536,…]
                                                       [--gemm K] [--blocks 15] [--hosts] [--json FILE]

A step calls every collective once at every size, on float32 of ordinary device memory; each call is timed
with CUDA events on the stream. FILE gets per collective and size the median over steps 10 to 59 (first_us)
and over the last steps (last_us), the least over the ranks, and whether a last AllReduce was right. Then every
task runs in blocks of back-to-back calls, the tasks in turn, with one event before a block and one behind: block_us is
the median time of a call in them, what a program feels of it with nothing of ours between the calls.
--gemm K runs four K x K bf16 matrix products a step on another stream. --hosts gives every rank a host id
of its own, so that NCCL goes over sockets. Nothing in here knows of AutoCCL: preload it to tune.
"""
import argparse
import json
import os
import time

STEPS_OF_FIRST = range(10, 60)
BLOCK_CALLS = 20


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--last", type=int, default=200)
    parser.add_argument("--sizes", default="65536,262144,1048576,4194304,16777216,67108864")
    parser.add_argument("--gemm", type=int, default=0)
    parser.add_argument("--blocks", type=int, default=15)
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--json", default="sweep.json")
    return parser.parse_args()


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    options, rank = arguments(), int(os.environ["RANK"])
    if options.hosts:
        os.environ["NCCL_HOSTID"] = f"host{rank}"
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    ranks = dist.get_world_size()

    tasks = []
    for size in map(int, options.sizes.split(",")):
        whole, part = torch.ones(size // 4, device=device), torch.ones(size // 4 // ranks, device=device)
        tasks += [("allreduce", size, lambda w=whole: dist.all_reduce(w)),
                  ("allgather", size, lambda w=whole, p=part: dist.all_gather_into_tensor(w, p)),
                  ("reducescatter", size, lambda w=whole, p=part: dist.reduce_scatter_tensor(p, w))]

    def event():
        return torch.cuda.Event(enable_timing=True)

    timed = {step: [(event(), event()) for _ in tasks]
             for step in (*STEPS_OF_FIRST, *range(options.steps - options.last, options.steps))}
    side = torch.cuda.Stream()
    left = torch.randn(options.gemm or 1, options.gemm or 1, device=device, dtype=torch.bfloat16)
    product = torch.empty_like(left)

    began = time.time()
    for step in range(options.steps):
        if options.gemm:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(4):
                    torch.mm(left, left, out=product)
        events = timed.get(step)
        for index, (_, _, call) in enumerate(tasks):
            if events:
                events[index][0].record()
            call()
            if events:
                events[index][1].record()
        if step % 20 == 19:
            torch.cuda.synchronize()
        if options.gemm:
            torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    seconds = time.time() - began

    def microseconds(steps, index):
        return median([timed[s][index][0].elapsed_time(timed[s][index][1]) * 1e3 for s in steps])

    def block(call):
        before, after = event(), event()
        before.record()
        for _ in range(BLOCK_CALLS):
            call()
        after.record()
        return before, after

    blocks = [[] for _ in tasks]
    for _ in range(options.blocks):
        for index, (_, _, call) in enumerate(tasks):
            if options.gemm:
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    for _ in range(4):
                        torch.mm(left, left, out=product)
            blocks[index].append(block(call))
            if options.gemm:
                torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()

    def block_us(index):
        return median([a.elapsed_time(b) * 1e3 / BLOCK_CALLS for a, b in blocks[index]])

    rows = []
    for index, (name, size, _) in enumerate(tasks):
        last = range(options.steps - options.last, options.steps)
        times = torch.tensor([microseconds(STEPS_OF_FIRST, index), microseconds(last, index), block_us(index)],
                             device=device)
        dist.all_reduce(times, op=dist.ReduceOp.MIN)
        first_us, last_us, of_block_us = times.tolist()
        rows.append({"collective": name, "bytes": size, "first_us": first_us, "last_us": last_us, "block_us": of_block_us})
    check = torch.full((1 << 20,), float(rank + 1), device=device)
    dist.all_reduce(check)
    right = bool((check == ranks * (ranks + 1) / 2).all())
    if rank == 0:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"nccl": ".".join(map(str, torch.cuda.nccl.version())), "ranks": ranks, "steps": options.steps,
                       "seconds": seconds, "right": right, "rows": rows}, file, indent=1)
        print(f"{options.steps} steps in {seconds:.1f} s, results {'right' if right else 'WRONG'}; wrote {options.json}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
