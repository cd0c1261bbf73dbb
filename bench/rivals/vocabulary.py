"""Times one operation of numpy into an array that exists.

    python3 vocabulary.py NAME

For each line of its input it takes one sample and prints the time of one call
in nanoseconds. One thread. The names are those of bench/vocabulary.
"""
import sys
import time

import numpy as np

N = 1_000_000
random = np.random.default_rng(1)


def numbers(*shape):
    return random.standard_normal(shape)


def complexes(*shape):
    return numbers(*shape) + 1j * numbers(*shape)


def permuted(x, axes):
    y = x.transpose(axes)
    out = np.empty(y.shape)
    return lambda: np.copyto(out, y)


def elementwise(op, dtype):
    make = complexes if dtype == "c128" else numbers
    x = make(N)
    if op == "log" and dtype == "f64":
        x = np.exp(x)
    out = np.empty_like(x)
    if op in ("sum", "max"):
        return getattr(x, op)
    if op in ("asin", "acos"):
        x = random.random(N)
    if op == "pow":
        x = np.exp(x)
    if op in ("add", "mul", "pow", "atan2", "logaddexp"):
        y, f = make(N), {"add": np.add, "mul": np.multiply, "pow": np.power, "atan2": np.arctan2, "logaddexp": np.logaddexp}[op]
        return lambda: f(x, y, out=out)
    if op in ("equal", "less"):
        y, out, f = make(N), np.empty(N, bool), {"equal": np.equal, "less": np.less}[op]
        return lambda: f(x, y, out=out)
    if op == "and":
        x, y, out = random.random(N) < 0.5, random.random(N) < 0.5, np.empty(N, bool)
        return lambda: np.logical_and(x, y, out=out)
    if op == "select":  # into an array that exists: where() makes a new one
        y, p = make(N), random.random(N) < 0.5

        def select():
            np.copyto(out, y)
            np.copyto(out, x, where=p)

        return select
    if op == "cast":
        out = np.empty(N, np.float32)
        return lambda: np.copyto(out, x, casting="same_kind")
    if op in ("isnan", "isfinite"):
        out = np.empty(N, bool)
    f = getattr(np, {"neg": "negative", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}.get(op, op))
    return lambda: f(x, out=out)


def call(name):
    if name == "gather":
        x, at, out = numbers(N), random.integers(0, N, N), np.empty(N)
        return lambda: np.take(x, at, out=out, mode="clip")  # with "raise" it buffers, and is slower
    if name == "scatter-add":
        x, at, y = numbers(N), random.integers(0, N, N), numbers(N)
        return lambda: np.add.at(x, at, y)
    if name == "scatter-bincount":  # numpy's other way, into a new array of zeros
        at, y = random.integers(0, N, N), numbers(N)
        return lambda: np.bincount(at, weights=y, minlength=N)
    if name == "slice":
        x, out = numbers(2000, 1000), np.empty((2000, 500))
        return lambda: np.copyto(out, x[:, ::2])
    if name == "concat":
        x, y, out = numbers(N // 2), numbers(N // 2), np.empty(N)
        return lambda: np.concatenate([x, y], out=out)
    if name.startswith("permute-"):
        n, rank = map(int, name[len("permute-"):].split("x"))
        return permuted(numbers(*(n,) * rank), tuple(reversed(range(rank))))
    return elementwise(*name.split("-"))


def main():
    f, calls = call(sys.argv[1]), 1
    for _ in sys.stdin:
        start = time.perf_counter_ns()
        while time.perf_counter_ns() - start < 1_000_000:
            f()
        while True:
            start = time.perf_counter_ns()
            for _ in range(calls):
                f()
            d = time.perf_counter_ns() - start
            if d > 3_000_000:
                break
            calls *= 2
        print(d / calls, flush=True)


main()
