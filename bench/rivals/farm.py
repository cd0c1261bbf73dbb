"""mpi4py.futures on null items, a rival of the scheduler's rows.

mpirun -n 3 python3 -m mpi4py.futures farm.py ITEMS CHUNKSIZE prints items per second. The pool's manager takes a
rank that computes nothing, so two ranks are one worker.
"""
import sys
import time

from mpi4py.futures import MPIPoolExecutor


def double(x):
    return 2 * x


if __name__ == "__main__":
    n, chunk = int(sys.argv[1]), int(sys.argv[2])
    with MPIPoolExecutor() as pool:
        list(pool.map(double, range(200), chunksize=chunk))  # warm
        start = time.perf_counter()
        out = list(pool.map(double, range(n), chunksize=chunk))
        seconds = time.perf_counter() - start
    assert out == [2 * i for i in range(n)]
    print(f"{n / seconds:.0f}")
