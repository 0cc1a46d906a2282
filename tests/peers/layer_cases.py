"""Cases of ops that layers are made of."""
import math

import torch
import torch.nn.functional as F

from case import Case, generator

MODES = ["zeros", "reflect", "replicate", "circular"]


def per_dim(draw, dims, low, high):
    """One number for each dimension, or the same for all."""
    return [draw.integer(low, high) for _ in range(dims)] if draw.chance(0.5) else [draw.integer(low, high)] * dims


@generator("conv1d", "conv2d", "conv3d")
def convolution(draw, name):
    dims, dtype = int(name[4]), draw.float_dtype()
    kernel, dilation = per_dim(draw, dims, 1, 3), per_dim(draw, dims, 1, 2)
    groups, inside, outside = draw.of([1, 1, 2, 3]), draw.integer(1, 3), draw.integer(1, 3)
    mode = draw.of([0, 0, 0, 1, 2, 3])
    spatial = [d * (k - 1) + draw.integer(1, 6) for k, d in zip(kernel, dilation)]
    padding = [draw.integer(0, min(2, s - 1)) for s in spatial]
    options = {"stride": per_dim(draw, dims, 1, 3), "padding": padding, "dilation": dilation, "groups": groups}
    if draw.chance(0.15):
        options["stride"], options["padding"] = [1] * dims, draw.of(["same", "valid"])
        mode = 0
    lead = [draw.integer(1, 3)] if draw.chance(0.8) else []
    x = draw.tensor(lead + [groups * inside] + spatial, dtype)
    w = draw.tensor([groups * outside, inside] + kernel, dtype)
    bias = draw.tensor([groups * outside], dtype) if draw.chance(0.6) else None

    def reference(x, w, bias, options):
        options = dict(options)
        mode = MODES[options.pop("padding_mode")]
        if mode != "zeros":
            around = [p for p in reversed(options["padding"]) for _ in range(2)]
            x, options["padding"] = F.pad(x, around, mode=mode), 0
        return getattr(F, name)(x, w, bias, **options)
    return Case(name, [x, w, bias, {**options, "padding_mode": mode}], reference, slack=256)


@generator("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def transposed(draw, name):
    dims, dtype = int(name[14]), draw.float_dtype()
    kernel, dilation, stride = (per_dim(draw, dims, 1, n) for n in (3, 2, 3))
    groups, inside, outside = draw.of([1, 1, 2]), draw.integer(1, 3), draw.integer(1, 3)
    spatial = [draw.integer(2, 4) for _ in range(dims)]
    padding = [draw.integer(0, min(1, d * (k - 1))) for k, d in zip(kernel, dilation)]
    behind = [draw.integer(0, max(s, d) - 1) for s, d in zip(stride, dilation)]
    lead = [draw.integer(1, 3)] if draw.chance(0.8) else []
    x = draw.tensor(lead + [groups * inside] + spatial, dtype)
    w = draw.tensor([groups * inside, outside] + kernel, dtype)
    bias = draw.tensor([groups * outside], dtype) if draw.chance(0.6) else None
    options = {"stride": stride, "padding": padding, "output_padding": behind, "dilation": dilation, "groups": groups}
    return Case(name, [x, w, bias, options], lambda x, w, bias, options: getattr(F, name)(x, w, bias, **options),
                slack=256)


def holds_nothing(size, kernel, stride, padding, dilation, ceil_mode):
    """Whether a window of one dimension lies in the padding alone."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if ceil_mode else 0)
    return any(all(not 0 <= o * stride - padding + k * dilation < size for k in range(kernel))
               for o in range(reach // stride + 1) if o * stride < size + padding)


@generator("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d")
def pooling(draw, name):
    dims, dtype, largest = int(name[8]), draw.float_dtype(), name.startswith("max")
    kernel = per_dim(draw, dims, 1, 4)
    options = {"stride": per_dim(draw, dims, 1, 3) if draw.chance(0.6) else None,
               "padding": [draw.integer(0, k // 2) for k in kernel], "ceil_mode": draw.chance(0.4)}
    if largest:
        options["dilation"] = per_dim(draw, dims, 1, 2)
    else:
        options["count_include_pad"] = draw.chance(0.5)
    lead = [draw.integer(1, 2)] if draw.chance(0.8) else []
    x = draw.tensor(lead + [draw.integer(1, 3)] + [draw.integer(1, 8) for _ in range(dims)], dtype)

    def reference(x, kernel, options):
        return getattr(F, name)(x, kernel, **{**options, "stride": options["stride"] or kernel})
    stray = largest and any(map(holds_nothing, x.shape[-dims:], kernel, options["stride"] or kernel,
                                options["padding"], options["dilation"], [options["ceil_mode"]] * dims))
    # PyTorch's gradient writes outside of its memory there.
    return Case(name, [x, kernel, options], reference, order=0 if stray else 2, slack=64)


@generator("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "adaptive_avg_pool1d",
           "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive(draw, name):
    dims, lead = int(name[17]), [draw.integer(1, 2)] if draw.chance(0.8) else []
    x = draw.tensor(lead + [draw.integer(1, 3)] + [draw.integer(1, 9) for _ in range(dims)], draw.float_dtype())
    return Case(name, [x, per_dim(draw, dims, 1, 5)], getattr(F, name), slack=64)


@generator("interpolate")
def resizing(draw, name):
    dims, mode = draw.integer(1, 3), draw.integer(0, 3)
    if mode == 3:
        dims = 2  # PyTorch has no other bicubic
    names = ["nearest", "nearest-exact", {1: "linear", 2: "bilinear", 3: "trilinear"}[dims], "bicubic"]
    options = {"mode": mode}
    if draw.chance(0.5):
        options["size"] = per_dim(draw, dims, 1, 9)
    else:
        factor = draw.number(0.4, 2.5)
        options["scale_factor"] = [draw.number(0.4, 2.5) for _ in range(dims)] if draw.chance(0.5) else [factor] * dims
    if mode > 1:
        options["align_corners"] = draw.chance(0.5)
    sides = [draw.integer(3, 7) for _ in range(dims)]
    x = draw.tensor([draw.integer(1, 2), draw.integer(1, 2)] + sides, draw.float_dtype())
    return Case(name, [x, options], lambda x, o: F.interpolate(x, **{**o, "mode": names[o["mode"]]}), slack=256)


@generator("layer_norm", "group_norm", "rms_norm")
def normalisation(draw, name):
    dtype, eps = draw.float_dtype(), draw.of([1e-5, 1e-3])
    if name == "group_norm":
        groups = draw.integer(1, 3)
        channels = groups * draw.integer(1, 3)
        x = draw.tensor([draw.integer(1, 3), channels] + [draw.integer(1, 5) for _ in range(draw.integer(1, 3))], dtype)
        weights = [draw.tensor([channels], dtype) if draw.chance(0.7) else None for _ in range(2)]
        return Case(name, [x, groups, *weights, eps], F.group_norm, slack=1024)
    shape = [draw.integer(2, 9) for _ in range(draw.integer(1, 2))]
    x = draw.tensor([draw.integer(1, 4) for _ in range(draw.integer(0, 2))] + shape, dtype)
    weights = [draw.tensor(shape, dtype) if draw.chance(0.7) else None for _ in range(2)]
    if name == "rms_norm":
        return Case(name, [x, shape, weights[0], eps], F.rms_norm, slack=1024)
    return Case(name, [x, shape, *weights, eps], F.layer_norm, slack=1024)


def scores(q, k, mask, causal, scale):
    """The weights of attention, a row that may look at nothing being 0."""
    s = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        s = s.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else s + mask
    if causal:
        s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), -math.inf)
    nothing = (s == -math.inf).all(-1, keepdim=True)
    return torch.softmax(s.masked_fill(nothing, 0), -1).masked_fill(nothing, 0)


@generator("scaled_dot_product_attention", "attention_weights", "self_attention")
def attention(draw, name):
    dtype, heads = draw.of(["f64", "f64", "f32"]), draw.integer(1, 3)
    n, time, size = draw.integer(1, 3), draw.of([1, 2, 5, 33]), draw.of([1, 2, 4, 9])
    keys = time if draw.chance(0.5) or name == "self_attention" else draw.of([1, 3, 8])
    options = {"causal": draw.chance(0.3), "scale": draw.of([None, None, 0.5])}
    if draw.chance(0.5):
        lead = [n, heads, time] if draw.chance(0.5) else [1, 1, time]
        mask = options["mask"] = draw.tensor(lead + [keys], "bool" if draw.chance(0.5) else dtype)
        if mask.memory.dtype != torch.bool and draw.chance(0.5):  # padding as numbers
            mask.memory[torch.from_numpy(draw.rng.random(len(mask.memory)) < 0.6)] = -math.inf
    if name == "self_attention":
        x = draw.tensor([n, time, 3 * heads * size], dtype)

        def whole(x, heads, o):
            q, k, v = (t.unflatten(-1, (heads, size)).transpose(1, 2) for t in x.split(heads * size, -1))
            w = scores(q, k, o.get("mask"), o["causal"], o["scale"])
            return (w @ v).transpose(1, 2).flatten(2)
        return Case(name, [x, heads, options], whole, slack=1024)
    q, k = draw.tensor([n, heads, time, size], dtype), draw.tensor([n, heads, keys, size], dtype)
    if name == "attention_weights":
        return Case(name, [q, k, options], lambda q, k, o: scores(q, k, o.get("mask"), o["causal"], o["scale"]),
                    slack=1024)
    v = draw.tensor([n, heads, keys, draw.of([1, 3, 8])], dtype)
    return Case(name, [q, k, v, options],
                lambda q, k, v, o: scores(q, k, o.get("mask"), o["causal"], o["scale"]) @ v, slack=1024)


@generator("lstm_steps")
def steps(draw, name):
    time, n, hidden, dtype = draw.integer(1, 5), draw.integer(1, 4), draw.integer(1, 9), draw.of(["f64", "f32"])
    shapes = [[time, n, 4 * hidden], [4 * hidden, hidden], [n, hidden], [n, hidden]]

    def reference(inputs, w, h, c, backward):
        out = [None] * time
        for t in range(time - 1, -1, -1) if backward else range(time):
            i, f, g, o = (inputs[t] + h @ w.T).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out[t] = torch.cat([h, c], -1)
        return torch.stack(out)
    return Case(name, [draw.tensor(s, dtype) for s in shapes] + [draw.chance(0.5)], reference, slack=1024)


@generator("rotary_embedding")
def rotary(draw, name):
    half = draw.integer(1, 5)
    x = draw.tensor(draw.shape(0, 2) + [draw.integer(1, 6), 2 * half], draw.of(["f64", "f32"]))

    def reference(x, first, base):
        t = torch.arange(first, first + x.shape[-2], dtype=torch.float64)[:, None]
        angle = t * base ** (-torch.arange(half, dtype=torch.float64) / half)
        c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * c - b * s, a * s + b * c], -1)
    return Case(name, [x, draw.integer(0, 20), draw.of([10000.0, 100.0])], reference, slack=1024)


@generator("sinusoidal_positions")
def positions(draw, name):
    def reference(time, size, base, _):
        angle = torch.arange(time, dtype=torch.float64)[:, None] * base ** (
            -torch.arange(0, size, 2, dtype=torch.float64) / size)
        return torch.stack([angle.sin(), angle.cos()], -1).flatten(1).float()
    return Case(name, [draw.integer(1, 30), 2 * draw.integer(1, 8), 10000.0, 0], reference, slack=1024)
