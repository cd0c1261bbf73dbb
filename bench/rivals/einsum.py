#!/usr/bin/env python3
"""Contract problems of the einsum benchmark, one matmul per step.

usage: einsum.py FILE PATH [d|z] [numpy|torch]

After a run that warms the allocator, each line of the input asks for one
sample: the time of one contraction in nanoseconds is printed. Of contractions
of more than a second the first run is the first sample.
"""
import json
import sys
import time

import numpy as np


def fill(name, k, shape):
    """Operand k: (0.5 + u) / sqrt(n), u from SplitMix64 seeded by FNV-1a(name) + k."""
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001B3) & (2**64 - 1)
    n = int(np.prod(shape, dtype=np.int64))
    with np.errstate(over="ignore"):
        z = np.uint64((state + k) & (2**64 - 1)) + np.uint64(0x9E3779B97F4A7C15) * np.arange(1, n + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    u = (z >> np.uint64(11)).astype(np.float64) / 2.0**53
    return ((0.5 + u) / np.sqrt(n)).reshape(shape)


def pair(a, la, b, lb, keep):
    """The product of a and b, with the labels that are not to be kept summed."""
    for_a = [x for x in la if x in lb or x in keep]
    if len(for_a) < len(la):
        a, la = a.sum(axis=tuple(i for i, x in enumerate(la) if x not in for_a)), for_a
    for_b = [x for x in lb if x in la or x in keep]
    if len(for_b) < len(lb):
        b, lb = b.sum(axis=tuple(i for i, x in enumerate(lb) if x not in for_b)), for_b
    batch = [x for x in la if x in lb and x in keep]
    summed = [x for x in la if x in lb and x not in keep]
    left = [x for x in la if x not in lb]
    right = [x for x in lb if x not in la]
    size = dict(zip(la, a.shape)) | dict(zip(lb, b.shape))

    def group(t, labels, *groups):
        order = [labels.index(x) for g in groups for x in g]
        return t.transpose(order).reshape([int(np.prod([size[x] for x in g], dtype=np.int64)) for g in groups])

    out = np.matmul(group(a, la, batch, left, summed), group(b, lb, batch, summed, right))
    labels = batch + left + right
    return out.reshape([size[x] for x in labels]), labels


def contract(inputs, output, path, operands):
    tensors = list(zip(operands, inputs))
    for i, j in path:
        (a, la), (b, lb) = tensors[i], tensors[j]
        for at in sorted((i, j), reverse=True):
            del tensors[at]
        keep = set(output).union(*(labels for _, labels in tensors))
        tensors.append(pair(a, la, b, lb, keep))
    (out, labels), = tensors
    return np.ascontiguousarray(out.transpose([labels.index(x) for x in output]))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        problem = json.load(f)
    path = problem["paths"][sys.argv[2]]["path"]
    dtype = {"d": np.float64, "z": np.complex128}[sys.argv[3] if len(sys.argv) > 3 else "d"]
    left, output = problem["format"].split("->")
    inputs = [list(term) for term in left.split(",")]
    operands = [fill(problem["name"], k, shape).astype(dtype) for k, shape in enumerate(problem["shapes"])]
    if len(sys.argv) > 4 and sys.argv[4] == "torch":
        import torch

        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        operands = [Torch(torch.from_numpy(x)) for x in operands]
        globals()["np"] = Torch
    calls = 0
    start = time.perf_counter()
    while time.perf_counter() - start < 8e-3:
        contract(inputs, list(output), path, operands)
        calls += 1
    took = time.perf_counter() - start
    warm, first = took < 0.2, took > 1  # a call so long counts itself
    for _ in sys.stdin:
        if first:
            print(f"{took * 1e9:.1f}", flush=True)
            first = False
            continue
        start = time.perf_counter()
        while warm and time.perf_counter() - start < 1e-3:
            contract(inputs, list(output), path, operands)
        start = time.perf_counter()
        for _ in range(calls):
            contract(inputs, list(output), path, operands)
        print(f"{(time.perf_counter() - start) / calls * 1e9:.1f}", flush=True)


class Torch:
    """The few names of numpy that are used above, by torch."""

    int64 = int

    def __init__(self, t):
        self.t, self.shape = t, tuple(t.shape)

    def sum(self, axis):
        return Torch(self.t.sum(dim=axis))

    def transpose(self, order):
        return Torch(self.t.permute(order))

    def reshape(self, shape):
        return Torch(self.t.reshape(shape))

    @staticmethod
    def prod(x, dtype):
        n = 1
        for v in x:
            n *= v
        return n

    @staticmethod
    def matmul(a, b):
        return Torch(a.t @ b.t)

    @staticmethod
    def ascontiguousarray(a):
        return Torch(a.t.contiguous())


main()
