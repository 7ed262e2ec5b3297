# SPDX-License-Identifier: MIT
"""A product that Hone tuned, as an operator of PyTorch, in the place of a model's linear layers.

    python3 linear.py tuned.db          # checks and times a model with layers of 4096 x 4096 for 16 rows

tuned.db is what `hone tune configs/sgemm.yaml -p M=16 -p N=4096 -p K=4096 --cache tuned.db` wrote. What nobody tuned, and what is not of
float32 on a GPU, PyTorch computes as before."""

import functools
import sys

import hone
import torch


@functools.lru_cache(maxsize=None)
def open_cache(path=None):
    return hone.Cache(path)


@functools.lru_cache(maxsize=None)
def find(path, device, m, n, k):
    """The kernel that was tuned for these sizes on a device like this one, or that a rule is sure of; None: there is none."""
    with torch.cuda.device(device):
        try:
            return open_cache(path).kernel("sgemm", M=m, N=n, K=k, on_miss="fail")
        except hone.LibraryError as error:
            if error.status != "HONE_NOT_FOUND":
                raise
            return None


@torch.library.custom_op("hone::sgemm", mutates_args=(), device_types="cuda")
def sgemm(a: torch.Tensor, b: torch.Tensor, cache: str) -> torch.Tensor:
    """a b, of float32: (m, k) and (k, n) to (m, n)."""
    kernel = find(cache, a.device.index, a.shape[0], b.shape[1], a.shape[1]) if a.dtype == b.dtype == torch.float32 else None
    if kernel is None:
        return a @ b
    c = a.new_empty(a.shape[0], b.shape[1])
    kernel(None, a.contiguous(), b.contiguous(), c)
    return c


@sgemm.register_kernel("cpu")
def _(a, b, cache):
    return a @ b


@sgemm.register_fake
def _(a, b, cache):
    return a.new_empty(a.shape[0], b.shape[1])


def _save(ctx, inputs, output):
    a, b, ctx.cache = inputs
    ctx.save_for_backward(a, b)


def _backward(ctx, gradient):
    a, b = ctx.saved_tensors
    return sgemm(gradient, b.t(), ctx.cache), sgemm(a.t(), gradient, ctx.cache), None


sgemm.register_autograd(_backward, setup_context=_save)


class Linear(torch.nn.Module):
    """As torch.nn.Linear, whose parameters it takes over; the weight lies as the kernel reads it: a row for each input."""

    def __init__(self, linear, cache):
        super().__init__()
        self.weight = torch.nn.Parameter(linear.weight.detach().t().contiguous())
        self.bias = linear.bias
        self.cache = cache

    def forward(self, x):
        y = sgemm(x.reshape(-1, x.shape[-1]), self.weight, self.cache).reshape(*x.shape[:-1], -1)
        return y if self.bias is None else y + self.bias


def replace(model, cache):
    """Puts tuned layers into the place of all linear ones of a model."""
    for name, child in model.named_children():
        if isinstance(child, torch.nn.Linear):
            setattr(model, name, Linear(child, cache))
        else:
            replace(child, cache)
    return model


def make_model(width=4096, depth=4):
    layers = [layer for _ in range(depth) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers)


def time_us(run, repeats=50):
    """The device's time of one run, captured into a graph, so that no host takes part: median of repeats, in microseconds. It is run
    before on the stream of the capture, on which kernels with scratch memory allocate it."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        run()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(1e3 * start.elapsed_time(end))
    return sorted(times)[repeats // 2]


@torch.no_grad()
def compare(cache, rows=16, width=4096, depth=4):
    """The largest difference relative to the largest output, and both times in microseconds."""
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    model = make_model(width, depth).cuda()
    x = torch.randn(rows, width, device="cuda")
    expected, theirs = model(x), time_us(lambda: model(x))
    replace(model, cache)
    found, ours = model(x), time_us(lambda: model(x))
    return ((found - expected).abs().max() / expected.abs().max()).item(), theirs, ours


if __name__ == "__main__":
    path = sys.argv[1]
    difference, theirs, ours = compare(path)
    kernel = find(path, 0, 16, 4096, 4096)
    print(f"tuned: {kernel.info.point if kernel else 'nothing for these sizes, PyTorch computes them'}")
    print(f"largest difference {difference:.1e} of the largest output")
    print(f"four layers of 4096 x 4096 for 16 rows: PyTorch {theirs:.1f} us, tuned {ours:.1f} us")
    sys.exit(difference > 1e-4)
