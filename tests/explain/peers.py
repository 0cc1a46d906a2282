"""What captum and grad-cam make of the networks and inputs of peers_test.cpp.

    python3 peers.py FOLDER    reads FOLDER/given.safetensors, writes FOLDER/expected.safetensors; ends with 77
                               where a package is missing

Networks are made of torch.nn's layers with the given weights. Attention roll-out is in neither package: it is
multiplied here, of the weights that torch.nn.MultiheadAttention returns.
"""

import sys
import warnings

try:
    import torch
    from captum.attr import (
        LRP,
        FeaturePermutation,
        GuidedBackprop,
        InputXGradient,
        IntegratedGradients,
        LayerGradCam,
        NoiseTunnel,
        Occlusion,
        Saliency,
    )
    from captum.attr._utils.lrp_rules import EpsilonRule
    from pytorch_grad_cam import GradCAM, GradCAMPlusPlus
    from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget
    from safetensors.torch import load_file, save_file
    from torch import nn
except ImportError:
    sys.exit(77)


class Pictures(nn.Module):
    """The network of peers_test.cpp, whose layer 6 flattens: captum's LRP knows no module that does."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleDict(
            {
                "0": nn.Conv2d(3, 6, 3, padding=1),
                "1": nn.BatchNorm2d(6),
                "2": nn.ReLU(),
                "3": nn.Conv2d(6, 8, 3, padding=1),
                "4": nn.ReLU(),
                "5": nn.MaxPool2d(2),
                "7": nn.Linear(288, 16),
                "8": nn.ReLU(),
                "9": nn.Linear(16, 5),
            }
        )

    def forward(self, x):
        for name, layer in self.layers.items():
            x = layer(x.flatten(1) if name == "7" else x)
        return x


def main(folder):
    warnings.simplefilter("ignore")  # of captum, that it sets requires_grad
    torch.manual_seed(1)
    given = load_file(f"{folder}/given.safetensors")
    net = Pictures().eval()
    net.load_state_dict({f"layers.{k[4:]}": v for k, v in given.items() if k.startswith("net.")})
    x, target = given["x"], given["target"]
    found = {"outputs": net(x)}
    found["saliency"] = Saliency(net).attribute(x.clone(), target)
    found["input_x_gradient"] = InputXGradient(net).attribute(x.clone(), target)
    found["integrated_gradients"] = IntegratedGradients(net).attribute(x, given["baseline"], target)
    found["guided_backprop"] = GuidedBackprop(net).attribute(x.clone(), target)
    found["lrp"] = LRP(net).attribute(x.clone(), target)
    for name, layer in net.layers.items():
        if name in "013579" and name != "5":
            layer.rule = EpsilonRule(epsilon=0.25)
    found["lrp_epsilon"] = LRP(net).attribute(x.clone(), target)
    found["occlusion"] = Occlusion(net).attribute(
        x, (3, 4, 4), strides=(3, 3, 3), baselines=0.25, target=target
    )[:, :1]
    layer = net.layers["4"]
    found["grad_cam"] = LayerGradCam(net, layer).attribute(x, target, relu_attributions=True)
    found["grad_cam_signed"] = LayerGradCam(net, layer).attribute(x, target)

    # NoiseTunnel draws with torch.normal(0, stdevs), which is given the test's noise here: for each example
    # all samples, one after the other.
    noise, normal = given["noise"], torch.normal
    torch.normal = lambda mean, std, **_: noise.transpose(0, 1).reshape(std.shape)
    try:
        found["smooth_grad"] = NoiseTunnel(Saliency(net)).attribute(
            x.clone(), nt_type="smoothgrad", nt_samples=noise.shape[0], stdevs=1.0, target=target, abs=False
        )
    finally:
        torch.normal = normal

    targets = [ClassifierOutputTarget(int(t)) for t in target]
    with GradCAM(net, [layer]) as cam:
        found["package_grad_cam"] = torch.from_numpy(cam(x, targets))
    with GradCAMPlusPlus(net, [layer]) as cam:
        found["grad_cam_plus_plus"] = torch.from_numpy(cam(x, targets))

    # Each layer of a transformer, and the weights of its attention.
    tokens, product = given["tokens"], None
    for i in range(2):
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval()
        prefix = f"encoder.layers.{i}."
        layer.load_state_dict({k[len(prefix) :]: v for k, v in given.items() if k.startswith(prefix)})
        with torch.no_grad():
            weights = layer.self_attn(tokens, tokens, tokens, need_weights=True)[1]
            step = 0.5 * weights + 0.5 * torch.eye(weights.shape[-1])
            product = step if product is None else step @ product
            tokens = layer(tokens)
    found["attention_rollout"] = product

    # Columns in an order that the test gives: one permutation for each.
    rows, orders = given["rows"], iter(given["orders"])
    table = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    table.load_state_dict({k[6:]: v for k, v in given.items() if k.startswith("table.")})

    def shuffle(values, mask):
        order = next(orders)
        changed = values.clone()
        changed[:, mask.squeeze(0)] = values[order][:, mask.squeeze(0)]
        return changed

    def score(values):
        return -((table(values)[:, 0] - given["truths"]) ** 2).mean().reshape(1)

    found["permutation_importance"] = FeaturePermutation(score, shuffle).attribute(rows)[0]
    save_file({k: v.detach().contiguous().float() for k, v in found.items()}, f"{folder}/expected.safetensors")


main(sys.argv[1])
