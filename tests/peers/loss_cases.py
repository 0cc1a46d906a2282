"""Cases of losses."""
import torch
import torch.nn.functional as F

from case import Case, generator
from draw import packed

REDUCTIONS = ["mean", "sum", "none"]
NAMES = {"mse": F.mse_loss, "l1": F.l1_loss, "huber": F.huber_loss, "smooth_l1": F.smooth_l1_loss,
         "bce": F.binary_cross_entropy, "bce_with_logits": F.binary_cross_entropy_with_logits,
         "hinge_embedding": F.hinge_embedding_loss, "cosine_embedding": F.cosine_embedding_loss,
         "margin_ranking": F.margin_ranking_loss, "triplet_margin": F.triplet_margin_loss,
         "poisson_nll": F.poisson_nll_loss, "gaussian_nll": F.gaussian_nll_loss, "kl_div": F.kl_div,
         "cross_entropy": F.cross_entropy, "nll": F.nll_loss}


def called(name):
    """PyTorch's function, whose options have the same names."""
    def reference(*arguments):
        *tensors, options = arguments
        options = {**options, "reduction": REDUCTIONS[options["reduction"]]}
        if options.pop("batch_mean", False):
            options["reduction"] = "batchmean"
        if name == "gaussian_nll":
            tensors = [*tensors[:2], tensors[2]]
        return NAMES[name](*tensors, **options)
    return reference


def signs(draw, shape, dtype):
    return packed(torch.from_numpy(draw.rng.choice([-1.0, 1.0], shape)).to(dtype))


@generator(*[name for name in NAMES if name not in ("cross_entropy", "nll")])
def loss(draw, name):
    dtype, options = draw.of(["f64", "f64", "f32"]), {"reduction": draw.integer(0, 2)}
    shape = draw.shape(1, 3, empty=0)
    margin = draw.number(0.1, 2)
    x, t = draw.tensor(shape, dtype), draw.tensor(shape, dtype)
    if name in ("huber", "smooth_l1"):
        options["delta" if name == "huber" else "beta"] = margin
    if name in ("bce", "bce_with_logits"):
        t = draw.tensor(shape, dtype, 0, 1)
        if name == "bce":
            x = draw.tensor(shape, dtype, 0.01, 0.99)
        elif draw.chance(0.4):
            options["pos_weight"] = draw.tensor(shape[-1:], dtype, 0.1, 3, grad=False)
    if name == "hinge_embedding":
        t = signs(draw, shape, x.memory.dtype)
        options["margin"] = margin
    if name in ("margin_ranking", "cosine_embedding"):
        shape = shape[:1] + ([draw.integer(2, 5)] if name == "cosine_embedding" else [])
        options["margin"] = margin / 3
        pair = [draw.tensor(shape, dtype) for _ in range(2)]
        return Case(name, [*pair, signs(draw, shape[:1], x.memory.dtype), options], called(name), slack=1024)
    if name == "triplet_margin":
        options.update(margin=margin, p=draw.of([1.0, 2.0, 3.0]), swap=draw.chance(0.5), eps=1e-6)
        three = [draw.tensor(shape, dtype) for _ in range(3)]
        return Case(name, [*three, options], called(name), slack=1024)
    if name == "poisson_nll":
        options.update(log_input=draw.chance(0.5), full=draw.chance(0.5), eps=1e-8)
        x, t = draw.tensor(shape, dtype, 0.1, 3), draw.tensor(shape, dtype, 0, 5, grad=False)
    if name == "gaussian_nll":
        options.update(full=draw.chance(0.5), eps=1e-6)
        return Case(name, [x, t, draw.tensor(shape, dtype, 0.1, 3), options], called(name), slack=1024)
    if name == "kl_div":
        options["log_target"] = draw.chance(0.5)
        if options["reduction"] == 0:
            options["batch_mean"] = draw.chance(0.5)
        t = draw.tensor(shape, dtype, *((-3, 0) if options["log_target"] else (0.01, 1)))
    return Case(name, [x, t, options], called(name), slack=1024)


@generator("cross_entropy", "nll")
def classes(draw, name):
    dtype, count = draw.of(["f64", "f64", "f32"]), draw.integer(2, 6)
    n, rest = draw.integer(1, 5), draw.shape(0, 2, most=3, empty=0)
    options = {"reduction": draw.integer(0, 2), "ignore_index": draw.of([-100, 0, 1])}
    if draw.chance(0.4):
        options["weight"] = draw.tensor([count], dtype, 0.1, 2, grad=False)
    x = draw.tensor([n, count] + rest, dtype)
    if name == "cross_entropy":
        if draw.chance(0.5):
            options["label_smoothing"] = draw.number(0, 0.5)
        if draw.chance(0.3):
            options["ignore_index"] = -100
            return Case(name, [x, draw.tensor(x.shape, dtype, 0, 1), options], called(name), slack=1024)
    return Case(name, [x, draw.index([n] + rest, count), options], called(name), slack=1024)
