#!/usr/bin/env python3
"""Trains a transformer under DistributedDataParallel and times its steps.

usage: torchrun --nproc-per-node N bench/nccl/ddp.py [--steps 300] [--last 150] [--layers 8] [--width 1024]
                                                     [--batch 8] [--bucket-mb 25] [--json FILE]

bf16, random tokens of a fixed seed. FILE gets the median step of the last steps in ms (the least over the ranks) and the
losses of every 50th step, which have to be equal with and without tuning. Nothing in here knows of AutoCCL: preload it.
"""
import argparse
import json
import os
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--last", type=int, default=150)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--bucket-mb", type=int, default=25)
    parser.add_argument("--json", default="ddp.json")
    return parser.parse_args()


def main():
    options, rank = arguments(), int(os.environ["RANK"])
    import torch
    import torch.distributed as dist

    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(options.width, options.width // 64, 4 * options.width, dropout=0.0,
                                             batch_first=True)
    model = torch.nn.Sequential(torch.nn.Embedding(8192, options.width),
                                torch.nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False),
                                torch.nn.Linear(options.width, 8192)).to(device, torch.bfloat16)
    model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=options.bucket_mb)
    optimiser = torch.optim.SGD(model.parameters(), lr=1e-3)
    torch.manual_seed(100 + rank)
    tokens = torch.randint(0, 8192, (options.batch, 256), device=device)

    times, losses = [], []
    for step in range(options.steps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1).float(), tokens.flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - began) * 1e3)
        if step % 50 == 49:
            losses.append(loss.item())
    last = sorted(times[-options.last:])
    median = torch.tensor(last[len(last) // 2], device=device)
    dist.all_reduce(median, op=dist.ReduceOp.MIN)
    if rank == 0:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"step_ms": median.item(), "losses": losses, "steps": options.steps}, file, indent=1)
        print(f"step {median.item():.3f} ms, losses {losses}; wrote {options.json}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
