# mypy: ignore-errors
# Parameters of kernels are annotated with values.
"""`wp.optim`: Adam and stochastic gradient descent on arrays, as kernels."""

from __future__ import annotations

from typing import Any

import warpsmith.warp as wp


@wp.kernel
def _sgd_step(
    gradient: wp.array(dtype=Any),
    velocity: wp.array(dtype=Any),
    rate: float,
    decay: float,
    momentum: float,
    dampening: float,
    nesterov: bool,
    first: bool,
    params: wp.array(dtype=Any),
):
    i = wp.tid()
    step = gradient[i]
    if decay != 0.0:
        step = step + decay * params[i]
    if momentum != 0.0:
        if first:
            velocity[i] = step
        else:
            velocity[i] = momentum * velocity[i] + (1.0 - dampening) * step
        if nesterov:
            step = step + momentum * velocity[i]
        else:
            step = velocity[i]
    params[i] = params[i] - rate * step


@wp.func
def _root(x: float):
    return wp.sqrt(x)


@wp.func
def _root(x: wp.vec3):  # noqa: F811 - an overload
    return wp.vec3(wp.sqrt(x[0]), wp.sqrt(x[1]), wp.sqrt(x[2]))


@wp.func
def _raised(x: float, by: float):
    return x + by


@wp.func
def _raised(x: wp.vec3, by: float):  # noqa: F811 - an overload
    return x + wp.vec3(by, by, by)


@wp.func
def _product(a: float, b: float):
    return a * b


@wp.func
def _product(a: wp.vec3, b: wp.vec3):  # noqa: F811 - an overload
    return wp.cw_mul(a, b)


@wp.func
def _quotient(a: float, b: float):
    return a / b


@wp.func
def _quotient(a: wp.vec3, b: wp.vec3):  # noqa: F811 - an overload
    return wp.cw_div(a, b)


@wp.kernel
def _adam_step(
    gradient: wp.array(dtype=Any),
    mean: wp.array(dtype=Any),
    square: wp.array(dtype=Any),
    rate: float,
    beta1: float,
    beta2: float,
    steps: float,
    eps: float,
    params: wp.array(dtype=Any),
):
    i = wp.tid()
    g = gradient[i]
    mean[i] = beta1 * mean[i] + (1.0 - beta1) * g
    square[i] = beta2 * square[i] + _product((1.0 - beta2) * g, g)
    unbiased_mean = mean[i] / (1.0 - wp.pow(beta1, steps + 1.0))
    unbiased_square = square[i] / (1.0 - wp.pow(beta2, steps + 1.0))
    params[i] = params[i] - _quotient(rate * unbiased_mean, _raised(_root(unbiased_square), eps))


class Adam:
    """Adaptive moment estimation (Kingma and Ba, 2015) for arrays of `float32` and `vec3`."""

    def __init__(self, params: Any = None, lr: float = 0.001, betas: Any = (0.9, 0.999), eps: float = 1e-8):
        self.lr, self.eps = lr, eps
        self.beta1, self.beta2 = betas
        self.t = 0
        self.params: list[Any] = []
        self.m: list[Any] = []
        self.v: list[Any] = []
        self.set_params(params)

    def set_params(self, params: Any) -> None:
        self.params = list(params or [])
        for one in self.params:
            if one.dtype not in (wp.float32, wp.vec3):
                raise NotImplementedError(f"optim.Adam for arrays of {one.dtype} is not in warpsmith.warp")
        self.m = [wp.zeros_like(one, requires_grad=False) for one in self.params]
        self.v = [wp.zeros_like(one, requires_grad=False) for one in self.params]
        self.t = 0

    def reset_internal_state(self) -> None:
        for one in (*self.m, *self.v):
            one.zero_()
        self.t = 0

    def step(self, grad: Any) -> None:
        """One step against the gradients, one for each array of parameters."""
        for g, m, v, params in zip(grad, self.m, self.v, self.params):
            inputs = [g, m, v, self.lr, self.beta1, self.beta2, float(self.t), self.eps, params]
            wp.launch(_adam_step, dim=len(params), inputs=inputs, record_tape=False)
        self.t += 1


class SGD:
    """Stochastic gradient descent with momentum."""

    def __init__(
        self,
        params: Any = None,
        lr: float = 0.001,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ):
        self.lr, self.momentum, self.dampening = lr, momentum, dampening
        self.weight_decay, self.nesterov = weight_decay, nesterov
        self.t = 0
        self.params: list[Any] = []
        self.b: list[Any] = []
        self.set_params(params)

    def set_params(self, params: Any) -> None:
        self.params = list(params or [])
        self.b = [wp.zeros_like(one, requires_grad=False) for one in self.params]
        self.t = 0

    def reset_internal_state(self) -> None:
        for one in self.b:
            one.zero_()
        self.t = 0

    def step(self, grad: Any) -> None:
        """One step against the gradients, one for each array of parameters."""
        for g, b, params in zip(grad, self.b, self.params):
            settings = [self.lr, self.weight_decay, self.momentum, self.dampening, self.nesterov, self.t == 0]
            wp.launch(_sgd_step, dim=len(params), inputs=[g, b, *settings, params], record_tape=False)
        self.t += 1
