#!/usr/bin/python3
"""Writes engine/enginetest/testdata/golden.txt: results of numpy for the
operations of the engine's vocabulary.

A case is a name, then one line per input and per output:

    case NAME
    in DTYPE EXTENTS VALUES…
    out DTYPE EXTENTS VALUES…

Extents are joined by x, "-" for rank 0; complex values are re,im. Elementary
functions are computed in extended precision and rounded once (erf, which numpy lacks, in that of Python). Run it from the
root of the module; the seed is fixed, so the file does not change unless the
script does.
"""
import math
import sys
import numpy as np

rng = np.random.default_rng(20240607)
out = open(sys.argv[1] if len(sys.argv) > 1 else "engine/enginetest/testdata/golden.txt", "w")
print("# Written by scripts/golden.py with numpy. Do not edit.", file=out)


def text(x):
    if isinstance(x, (bool, np.bool_)):
        return "1" if x else "0"
    if np.iscomplexobj(x):
        return text(x.real) + "," + text(x.imag)
    return repr(x.item()) if not isinstance(x, np.float32) else repr(float(x))


def line(kind, a):
    a = np.asarray(a)
    extents = "x".join(map(str, a.shape)) or "-"
    print(kind, a.dtype.name, extents, *[text(v) for v in a.ravel()], file=out)


def case(name, ins, outs):
    print("case", name, file=out)
    for a in ins:
        line("in", a)
    for a in outs:
        line("out", a)


SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan]


def spread(lo, hi, n=40):
    """Values over the interval, denser near 0, and special ones."""
    x = rng.uniform(lo, hi, n)
    y = rng.choice([-1.0, 1.0], n // 2) * 2.0 ** rng.uniform(-30, 0, n // 2)
    y = y[(y >= lo) & (y <= hi)]
    return np.concatenate([x, y, SPECIAL])


ext = np.longdouble
functions = {
    "Exp": (np.exp, -700, 700), "Log": (np.log, 0, 1e6), "Expm1": (np.expm1, -40, 700), "Log1p": (np.log1p, -1, 1e6),
    "Sin": (np.sin, -100, 100), "Cos": (np.cos, -100, 100), "Tan": (np.tan, -100, 100),
    "Asin": (np.arcsin, -1, 1), "Acos": (np.arccos, -1, 1), "Atan": (np.arctan, -50, 50),
    "Sinh": (np.sinh, -700, 700), "Cosh": (np.cosh, -700, 700), "Tanh": (np.tanh, -20, 20),
    "Sqrt": (np.sqrt, 0, 1e9), "Rsqrt": (lambda x: 1 / np.sqrt(x), 0, 1e9),
}
with np.errstate(all="ignore"):
    for name, (f, lo, hi) in functions.items():
        x = spread(lo, hi)
        case(name, [x], [f(x.astype(ext)).astype(np.float64)])
        x = spread(max(lo, -80), min(hi, 80)).astype(np.float32)
        case(name, [x], [f(x.astype(ext)).astype(np.float32)])
    z = (rng.normal(size=24) + 1j * rng.normal(size=24)) * 1.5
    cfunctions = {k: functions[k][0] for k in ("Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Sqrt", "Rsqrt")}
    cfunctions |= {"Neg": np.negative, "Conj": np.conj, "Sign": lambda z: z / np.abs(z), "Abs": np.abs, "Real": np.real, "Imag": np.imag}
    for name, f in cfunctions.items():
        r = f(z.astype(np.clongdouble))
        case(name, [z], [r.astype(np.complex128 if np.iscomplexobj(r) else np.float64)])

    a = np.concatenate([spread(-9, 9, 30), SPECIAL])
    b = np.concatenate([spread(-9, 9, 30), SPECIAL[::-1]])
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    for name, f in {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Rem": np.fmod, "Max": np.maximum,
                    "Min": np.minimum, "Atan2": np.arctan2, "LogAddExp": np.logaddexp, "Equal": np.equal,
                    "NotEqual": np.not_equal, "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater,
                    "GreaterEqual": np.greater_equal}.items():
        r = f(a.astype(ext), b.astype(ext)) if name in ("Atan2", "LogAddExp") else f(a, b)
        case(name, [a, b], [r if r.dtype == bool else r.astype(np.float64)])
    p, q = np.concatenate([rng.uniform(0, 20, 30), a[-7:]]), np.concatenate([rng.uniform(-30, 30, 30), b[-7:]])
    zr = z[::-1] / 2
    case("Pow", [z, zr], [np.exp(zr.astype(np.clongdouble) * np.log(z.astype(np.clongdouble))).astype(np.complex128)])
    case("Div", [z, zr], [(z.astype(np.clongdouble) / zr.astype(np.clongdouble)).astype(np.complex128)])
    case("Pow", [p, q], [np.power(p.astype(ext), q.astype(ext)).astype(np.float64)])
    for name, f in {"Neg": np.negative, "Abs": np.abs, "Sign": np.sign, "IsNaN": np.isnan, "IsFinite": np.isfinite}.items():
        case(name, [a], [f(a)])
    for t in (np.int32, np.int64):
        m, k = rng.integers(-100, 100, 30).astype(t), rng.integers(1, 9, 30).astype(t) * rng.choice([-1, 1], 30).astype(t)
        case("Div", [m, k], [np.trunc(m / k).astype(t)])
        case("Rem", [m, k], [np.fmod(m, k)])
        case("Max", [m, k], [np.maximum(m, k)])
        case("CumSum-1", [m.reshape(5, 6)], [np.cumsum(m.reshape(5, 6), 1, dtype=t)])
    v, w = rng.integers(0, 2, 20).astype(bool), rng.integers(0, 2, 20).astype(bool)
    for name, f in {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.items():
        case(name, [v, w], [f(v, w)])
    case("Not", [v], [~v])
    case("Select", [v, a[:20], b[:20]], [np.where(v, a[:20], b[:20])])
    case("Clamp", [a, np.full(n, -2.5), np.full(n, 3.0)], [np.clip(a, -2.5, 3.0)])
    case("MakeComplex", [p[:9], q[:9]], [p[:9] + 1j * q[:9]])
    for t in (np.int32, np.float32, np.bool_, np.complex128):
        case("Cast-" + np.dtype(t).name, [np.array([0.0, 1.5, -2.5, 100.25, 3e4])], [np.array([0.0, 1.5, -2.5, 100.25, 3e4]).astype(t)])

    A = rng.normal(size=(3, 4, 5))
    E = A.astype(ext)
    for name, r in {"ReduceSum-02": E.sum((0, 2)), "ReduceProd-1": E.prod(1), "ReduceMean-12": E.mean((1, 2)), "Norm1-0": np.abs(E).sum(0),
                    "Norm2-02": np.sqrt((E * E).sum((0, 2))), "NormInf-1": np.abs(E).max(1),
                    "LogSumExp-01": np.log(np.exp(E).sum((0, 1))), "ReduceMax-2": E.max(2), "ReduceMin-0": E.min(0)}.items():
        case(name, [A], [r.astype(np.float64)])
    case("ArgMax-1", [A], [A.argmax(1)])
    case("ArgMin-12", [A], [A.reshape(3, 20).argmin(1)])
    case("CumSum-1", [A], [np.cumsum(A, 1)])
    case("CumProd-2", [A], [np.cumprod(A, 2)])
    Z = rng.normal(size=(4, 3)) + 1j * rng.normal(size=(4, 3))
    case("Norm2-02", [Z[:, None, :]], [np.sqrt((Z * Z.conj()).real.sum((0, 1), keepdims=True)).ravel()])
    case("ReduceProd-1", [Z], [Z.prod(1)])
    B = rng.integers(0, 2, (4, 3)).astype(bool)
    case("ReduceAny-1", [B], [B.any(1)])
    case("ReduceAll-1", [B], [B.all(1)])

    M = np.arange(24.0).reshape(4, 6)
    case("BroadcastInDim", [np.arange(3.0)], [np.broadcast_to(np.arange(3.0)[:, None], (2, 3, 4))])
    case("Slice", [M], [M[1:4:2, 5:0:-2]])
    case("Pad", [M], [np.pad(M, ((1, 0), (0, 2)), constant_values=7)])
    case("Concat-1", [M, M[:, ::2]], [np.concatenate([M, M[:, ::2]], 1)])
    case("Stack-1", [M, M + 1], [np.stack([M, M + 1], 1)])
    case("Split-1", [M], np.split(M, [1, 4], 1))
    case("Reverse-1", [M], [M[:, ::-1]])
    case("Roll", [M], [np.roll(M, -8, 1)])
    case("Tril", [M], [np.tril(M, 1)])
    case("Triu", [M], [np.triu(M, -1)])
    case("DiagonalIn", [np.arange(4.0)], [np.diag(np.arange(4.0))])
    idx = np.array([[2, 0], [3, 3]])
    case("Gather-0", [M, idx], [np.take(M, idx, 0)])
    case("Gather-1", [M, idx.astype(np.int32)], [np.take(M, idx, 1)])
    along = np.array([[0, 5, 1], [2, 2, 2], [4, 3, 0], [1, 1, 5]])
    case("TakeAlong-1", [M, along], [np.take_along_axis(M, along, 1)])
    U = rng.integers(-5, 5, (2, 2, 6)).astype(float)
    S, T = M.copy(), M.copy()
    S[idx] = U
    np.add.at(T, idx, U)
    case("Scatter-0", [M, idx, U], [S])
    case("ScatterAdd-0", [M, idx, U], [T])
    ties = rng.integers(-3, 3, (3, 8)).astype(np.float32)
    ties[1, 2] = ties[2, 5] = np.nan
    case("Sort-1", [ties], [np.sort(ties, 1)])
    case("ArgSort-1", [ties], [np.argsort(ties, 1, kind="stable")])
    Q = np.arange(120.0).reshape(2, 3, 4, 5)
    fused = Q.transpose(2, 0, 3, 1).reshape(8, 15)
    case("FuseAxes", [Q], [fused])
    case("SplitAxes", [fused], [Q])
    case("ApplyMatrix-1", [Q, M[:, :3]], [np.einsum("jk,akbc->ajbc", M[:, :3], Q)])

    case("Scale", [M], [M * 2.5])
    case("Scale", [Z], [Z * 2.5])
    case("Copy", [M[::-1]], [M[::-1]])
    case("Permute", [Q], [Q.transpose(2, 0, 3, 1)])
    case("Reshape", [M], [M.reshape(3, 8)])
    squares = np.arange(72.0).reshape(2, 3, 4, 3)
    case("Diagonal", [squares], [np.diagonal(squares, 0, 1, 3).transpose(0, 2, 1)])
    case("Convert-float32", [np.array([0.0, 1.5, -2.5, 2.0**100])], [np.array([0.0, 1.5, -2.5, 2.0**100], np.float32)])
    case("Convert-int32", [np.array([3.0, -7.0, 2.0**31 - 1])], [np.array([3, -7, 2**31 - 1], np.int32)])
    case("Convert-complex128", [np.array([1, -2], np.int64)], [np.array([1, -2], np.complex128)])
    tops = rng.integers(-3, 3, (3, 8)).astype(float)
    order = np.argsort(-tops, 1, kind="stable")[:, :3]
    case("TopK-1", [tops], [np.take_along_axis(tops, order, 1), order])
    case("DotGeneral", [M, M.T], [M @ M.T])
    case("GroupedDot", [np.arange(8.0), np.arange(8.0) - 3], [(np.arange(4.0).reshape(2, 2) @ np.arange(1.0, 5).reshape(2, 2)).ravel()])
    case("Fill", [], [np.full((2, 3), 2.5)])
    case("Iota-1", [], [np.broadcast_to(np.arange(4.0), (3, 4))])
    x = spread(-5, 5)
    case("Erf", [x], [np.vectorize(math.erf)(x)])
