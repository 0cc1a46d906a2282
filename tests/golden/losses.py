#!/usr/bin/env python3
"""Writes losses.json: values and gradients of PyTorch's losses, for every option and all three reductions.

Run with a Python that has torch:  python tests/golden/losses.py
All numbers are computed in float64, so that the reference has no rounding of its own.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)


def tensor(t):
    kind = {"dtype": "i64"} if t.dtype == torch.int64 else {}
    return {"shape": list(t.shape), "values": t.detach().flatten().tolist(), **kind}


a, b = torch.randn(4, 5) * 1.5, torch.randn(4, 5) * 1.5
a[0, 0] = b[0, 0]  # equal
a[0, 1] = b[0, 1] + 0.7  # at the deltas below
signs = torch.where(torch.rand(4, 5) > 0.5, 1.0, -1.0)
row_signs = torch.tensor([1.0, -1, -1, 1])
shares = torch.rand(4, 5)
shares[0, 0], shares[0, 1] = 0, 1
bits = (torch.rand(4, 5) > 0.5).double()
edges = torch.rand(4, 5)
edges[0, :4] = torch.tensor([0.0, 1, 0, 1])  # the ends, right and wrong
bits[0, :4] = torch.tensor([0.0, 1, 1, 0])
logits = torch.randn(4, 5) * 3
logits[1] *= 300  # beyond exp()
deep = torch.randn(3, 4, 2, 2)
classes = torch.tensor([0, 4, 2, 2])
holes = torch.tensor([0, -100, 2, 1])
deep_classes = torch.randint(0, 4, (3, 2, 2))
deep_classes[1, 0, 1] = 3
weights, deep_weights = torch.tensor([0.5, 2, 1, 0, 3]), torch.tensor([1.0, 0.25, 2, 4])
distribution = torch.softmax(torch.randn(4, 5), 1)
distribution[0] = torch.tensor([0.0, 0, 1, 0, 0])
deep_distribution = torch.softmax(torch.randn(3, 4, 2, 2), 1)
log_p = torch.log_softmax(torch.randn(4, 5), 1)
c = torch.randn(4, 5) * 1.5
counts = torch.tensor([[0.0, 1, 2, 3, 7], [0, 0, 1, 12, 2], [1, 2, 0, 5, 1], [4, 1, 1, 0, 3]])
variances = torch.rand(4, 5) * 2
variances[0, 0] = 0
row_variances = torch.rand(4, 1) + 0.1


def focal(x, t, r, alpha=0.25, gamma=2.0):
    """torchvision.ops.sigmoid_focal_loss"""
    p = torch.sigmoid(x)
    loss = F.binary_cross_entropy_with_logits(x, t, reduction="none") * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
    if alpha >= 0:
        loss = (alpha * t + (1 - alpha) * (1 - t)) * loss
    return {"mean": loss.mean, "sum": loss.sum, "none": lambda: loss}[r]()


# name: (prediction, target, function of both and the reduction)
CASES = {
    "mse": (a, b, lambda p, t, r: F.mse_loss(p, t, reduction=r)),
    "l1": (a, b, lambda p, t, r: F.l1_loss(p, t, reduction=r)),
    "huber": (a, b, lambda p, t, r: F.huber_loss(p, t, reduction=r)),
    "huber_delta": (a, b, lambda p, t, r: F.huber_loss(p, t, reduction=r, delta=0.7)),
    "smooth_l1": (a, b, lambda p, t, r: F.smooth_l1_loss(p, t, reduction=r)),
    "smooth_l1_beta": (a, b, lambda p, t, r: F.smooth_l1_loss(p, t, reduction=r, beta=0.3)),
    "smooth_l1_zero": (a, b, lambda p, t, r: F.smooth_l1_loss(p, t, reduction=r, beta=0)),
    "hinge_embedding": (a, signs, lambda p, t, r: F.hinge_embedding_loss(p, t, reduction=r, margin=0.8)),
    "cosine_embedding": (a, b, lambda p, t, r: F.cosine_embedding_loss(p, t, row_signs, reduction=r, margin=-0.3)),
    "bce": (shares, bits, lambda p, t, r: F.binary_cross_entropy(p, t, reduction=r)),
    "bce_edges": (edges, bits, lambda p, t, r: F.binary_cross_entropy(p, t, reduction=r)),
    "bce_with_logits": (logits, shares, lambda p, t, r: F.binary_cross_entropy_with_logits(p, t, reduction=r)),
    "bce_positive_weight": (logits, shares, lambda p, t, r: F.binary_cross_entropy_with_logits(
        p, t, reduction=r, pos_weight=weights)),
    "cross_entropy": (logits, classes, lambda p, t, r: F.cross_entropy(p, t, reduction=r)),
    "cross_entropy_one": (logits[0], classes[0], lambda p, t, r: F.cross_entropy(p, t, reduction=r)),
    "cross_entropy_weights": (logits, classes, lambda p, t, r: F.cross_entropy(p, t, weight=weights, reduction=r)),
    "cross_entropy_ignore": (logits, holes, lambda p, t, r: F.cross_entropy(p, t, reduction=r)),
    "cross_entropy_smooth": (logits, holes, lambda p, t, r: F.cross_entropy(
        p, t, weight=weights, label_smoothing=0.2, reduction=r)),
    "cross_entropy_deep": (deep, deep_classes, lambda p, t, r: F.cross_entropy(
        p, t, weight=deep_weights, ignore_index=3, label_smoothing=0.1, reduction=r)),
    "cross_entropy_shares": (logits, distribution, lambda p, t, r: F.cross_entropy(p, t, reduction=r)),
    "cross_entropy_shares_all": (deep, deep_distribution, lambda p, t, r: F.cross_entropy(
        p, t, weight=deep_weights, label_smoothing=0.3, reduction=r)),
    "nll": (log_p, holes, lambda p, t, r: F.nll_loss(p, t, weight=weights, reduction=r)),
    "kl_div": (log_p, distribution, lambda p, t, r: F.kl_div(p, t, reduction=r)),
    "kl_div_log": (log_p, distribution.clamp_min(1e-3).log(), lambda p, t, r: F.kl_div(
        p, t, reduction=r, log_target=True)),
    "kl_div_batch": (log_p, distribution, lambda p, t, r: F.kl_div(
        p, t, reduction="batchmean" if r == "mean" else r)),
    "focal": (a, bits, lambda p, t, r: focal(p, t, r)),
    "focal_plain": (a, shares, lambda p, t, r: focal(p, t, r, alpha=-1, gamma=1.5)),
    "margin_ranking": (a, b, lambda p, t, r: F.margin_ranking_loss(p, t, signs, reduction=r)),
    "margin_ranking_margin": (a, b, lambda p, t, r: F.margin_ranking_loss(p, t, signs, margin=0.4, reduction=r)),
    "triplet": (a, b, lambda p, t, r: F.triplet_margin_loss(p, t, c, reduction=r)),
    "triplet_swap": (a, b, lambda p, t, r: F.triplet_margin_loss(p, t, c, margin=2, p=1, swap=True, reduction=r)),
    "poisson": (a, counts, lambda p, t, r: F.poisson_nll_loss(p, t, reduction=r)),
    "poisson_rate": (shares, counts, lambda p, t, r: F.poisson_nll_loss(p, t, log_input=False, full=True, reduction=r)),
    "gaussian": (a, b, lambda p, t, r: F.gaussian_nll_loss(p, t, variances, reduction=r)),
    "gaussian_rows": (a, b, lambda p, t, r: F.gaussian_nll_loss(p, t, row_variances, full=True, reduction=r)),
    "gaussian_variance": (variances, b, lambda p, t, r: F.gaussian_nll_loss(a, t, p, reduction=r)),
}


def case(prediction, target, function):
    out = {"prediction": tensor(prediction), "target": tensor(target), "results": {}}
    for reduction in ("mean", "sum", "none"):
        p = prediction.clone().requires_grad_()
        value = function(p, target, reduction)
        factors = torch.arange(1.0, value.numel() + 1).reshape(value.shape)  # tells the elements apart
        (gradient,) = torch.autograd.grad((value * factors).sum(), p)
        out["results"][reduction] = {"value": tensor(value), "gradient": tensor(gradient)}
    return out


path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps({
    "torch": torch.__version__, "row_signs": tensor(row_signs), "weights": tensor(weights),
    "deep_weights": tensor(deep_weights), "signs": tensor(signs), "c": tensor(c),
    "a": tensor(a), "variances": tensor(variances), "row_variances": tensor(row_variances), "cases": {name: case(*c) for name, c in CASES.items()}}) + "\n")
