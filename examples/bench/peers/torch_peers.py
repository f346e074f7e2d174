#!/usr/bin/env python3
"""Times PyTorch's operations where `bench` times these crates', and writes JSON that `bench --times FILE` reads.

    python3 torch_peers.py sum dot --sizes '2^10..2^30' --types f32,f64 --output torch.json

Times are medians over rounds of batches of about a millisecond, by device events, in a CUDA graph too, and by the host's
clock from the call to the value (for arrays, to the end of the work).
"""

import argparse
import json
import statistics
import sys
import time

import torch

TYPES = {
    "f32": torch.float32,
    "f64": torch.float64,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i64": torch.int64,
}
# A batch, in microseconds, and the most calls of one.
BATCH_US, MOST_CALLS = 1000.0, 240


def number(text):
    """`1000`, `1e6`, `2^20`, and sums of those."""
    total = 0
    for term in text.split("+"):
        base, caret, exponent = term.partition("^")
        total += int(base) ** int(exponent) if caret else int(float(base))
    return total


def parse_sizes(text):
    """As `bench --sizes`: numbers, 2^10..2^30, ROWSxCOLUMNS. Gives pairs of rows and columns, or of n and None."""
    sizes = []
    for part in text.split(","):
        if ".." in part:
            low, high = (number(end).bit_length() - 1 for end in part.split(".."))
            sizes += [(1 << exponent, None) for exponent in range(low, high + 1)]
        elif "x" in part:
            rows, columns = part.split("x")
            sizes.append((number(rows), number(columns)))
        else:
            sizes.append((number(part), None))
    return sizes


def spell(n):
    """A number as `bench` writes it."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)


def make(dtype, *shape):
    if dtype.is_floating_point:
        return torch.rand(*shape, device="cuda", dtype=torch.float32).mul_(2).sub_(1).to(dtype)
    return torch.randint(-(2**15), 2**15, shape, device="cuda", dtype=dtype)


def operation(name, dtype, rows, columns):
    """A call that queues work, and one that waits for its result; None where PyTorch has none."""
    if name == "transpose":
        x = make(dtype, rows, columns)
        out = torch.empty(columns, rows, device="cuda", dtype=dtype)
        call = lambda: out.copy_(x.t())
    elif name == "vecadd":
        x, y = make(dtype, rows), make(dtype, rows)
        out = torch.empty_like(x)
        call = lambda: torch.add(x, y, out=out)
    elif name == "dot":
        # On the GPU torch.dot is for floats, and sums halves in their own type.
        if dtype not in (torch.float32, torch.float64):
            return None
        x, y = make(dtype, rows), make(dtype, rows)
        call = lambda: torch.dot(x, y)
    else:
        x = make(dtype, rows)
        kind = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.int32: torch.int64}.get(dtype, dtype)
        if name == "sum":
            call = lambda: torch.sum(x, dtype=kind)
        else:
            function = {"minimum": torch.amin, "maximum": torch.amax}[name]
            call = lambda: function(x)

    def finish():
        result = call()
        if result.numel() == 1:
            result.item()
        else:
            torch.cuda.synchronize()

    return call, finish


def event_us(work, calls):
    """Microseconds of a call, of so many in `work`; what it does once before keeps the device busy."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3 / calls


def repeat(call, times):
    def work():
        for _ in range(times):
            call()

    return work


def calls_of(us):
    return int(min(max(BATCH_US / max(us, 1e-3), 1), MOST_CALLS))


def sampler(mode, call, finish):
    """A function that gives one sample in microseconds."""
    if mode == "latency":

        def host_us(calls):
            torch.cuda.synchronize()
            start = time.perf_counter()
            repeat(finish, calls)()
            return (time.perf_counter() - start) * 1e6 / calls

        host_us(1)
        calls = calls_of(host_us(3))
        return lambda: host_us(calls)
    repeat(call, 3)()
    torch.cuda.synchronize()
    calls = calls_of(event_us(repeat(call, 3), 3))
    work = repeat(call, calls)
    if mode == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        work = graph.replay

    def sample():
        # The device is busy when the clock starts.
        graph.replay() if mode == "graph" else call()
        return event_us(work, calls)

    return sample


def summary(samples):
    median = statistics.median(samples)
    spread = statistics.median(abs(sample - median) for sample in samples)
    return {"samples": len(samples), "median": median, "spread": spread, "min": min(samples), "max": max(samples)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["sum", "minimum", "maximum", "dot", "vecadd", "transpose"]
    parser.add_argument("operations", nargs="+", choices=names)
    parser.add_argument("--sizes", help="as for bench; by default 2^10..2^30, for transposes 2^5..2^15")
    parser.add_argument("--types", default="f32", help="such as f32,f16")
    parser.add_argument("--mode", default="one-by-one,graph,latency")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--output", help="the file to write; by default standard output")
    options = parser.parse_args()
    torch.manual_seed(0)

    results = []
    for name in options.operations:
        sizes = parse_sizes(options.sizes or ("2^5..2^15" if name == "transpose" else "2^10..2^30"))
        for dtype in options.types.split(","):
            for rows, columns in sizes:
                size = spell(rows)
                if name == "transpose":
                    columns = columns or rows
                    size += "x" + spell(columns)
                made = operation(name, TYPES[dtype], rows, columns)
                for mode in options.mode.split(",") if made else []:
                    try:
                        sample = sampler(mode, *made)
                        sample()
                        us = summary([sample() for _ in range(options.rounds)])
                    except RuntimeError as error:
                        print(f"{name} {dtype} {size} {mode}: {error}", file=sys.stderr)
                        continue
                    results.append({"operation": name, "dtype": dtype, "mode": mode, "size": size, "us": us})
                del made
                torch.cuda.empty_cache()
    text = json.dumps({"peer": f"PyTorch {torch.__version__}", "results": results}, indent=1)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    else:
        print(text)


if __name__ == "__main__":
    main()
