"""The right answers of the suite, in the precision of their inputs."""

import numpy as np


def saxpy(a, x, y):
    return x.dtype.type(a) * x + y


def transpose(**given):
    return given["in"].T.copy()


def rowsum(x):
    return x.sum(axis=1)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(x, weight):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + x.dtype.type(1e-5)) * weight


def histogram(values, counts):
    return counts + np.bincount(values, minlength=100).astype(counts.dtype)


def reduce(x, total):
    return total + x.sum()


def scan(x):
    return np.cumsum(x, axis=1, dtype=x.dtype)


def matmul(a, b):
    return a @ b


def stencil(x):
    wide = np.concatenate([[x.dtype.type(0)], x, [x.dtype.type(0)]])
    return (wide[:-2] + wide[2:]) * x.dtype.type(0.25) + x * x.dtype.type(0.5)
