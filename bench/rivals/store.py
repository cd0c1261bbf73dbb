"""Appends rows to an HDF5 file with h5py, with the chunks and filters of
store.Sink, and prints rows per second, imports not counted.

usage: store.py FILE ROWS WIDTH resize|sized|blocks

resize grows the dataset row by row, sized knows the number of rows, blocks
holds 1000 rows in memory and loses them when the process dies.
"""
import os
import sys
import time

import h5py
import numpy as np

path, rows, width, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
chunk = max(1, min(1 << 16, (256 << 10) // (8 * width), rows))
row = np.arange(width, dtype=np.float64)

start = time.perf_counter()
with h5py.File(path, "w") as f:
    size = 0 if how == "resize" else rows
    d = f.create_dataset("data", (size, width), np.float64, maxshape=(None, width), chunks=(chunk, width),
                         compression="gzip", compression_opts=1, shuffle=True, fletcher32=True)
    if how == "blocks":  # held in memory, lost with the process
        for first in range(0, rows, 1000):
            n = min(1000, rows - first)
            block = np.empty((n, width))
            for i in range(n):
                block[i] = row + (first + i)
            d[first:first + n] = block
    else:
        for i in range(rows):
            if how == "resize":
                d.resize(i + 1, axis=0)
            d[i] = row + i
fd = os.open(path, os.O_RDONLY)
os.fsync(fd)
os.close(fd)
print(rows / (time.perf_counter() - start))
