"""A small residual image classifier: convolution, batch normalisation, pooling, one linear head."""

import torch
from torch import nn

from recipe import Recipe, dynamo, folding, seeded

CLASSES = 10


class Residual(nn.Module):
    """Two convolutions around a shortcut; the shortcut is a 1x1 convolution where the channels change."""

    def __init__(self, channels_in: int, channels_out: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        same = stride == 1 and channels_in == channels_out
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels_in, channels_out, 1, stride=stride)

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return torch.relu(y + self.shortcut(x))


class Classifier(nn.Module):
    """Stem, two residual stages, global average pooling, linear head."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 5, stride=2, padding=2)
        self.norm = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(3, stride=2, padding=1)
        self.stage1 = Residual(8, 8, stride=1)
        self.stage2 = Residual(8, 16, stride=2)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, image):
        x = self.pool(torch.relu(self.norm(self.stem(image))))
        x = self.stage2(self.stage1(x))
        return self.head(self.average(x).flatten(1))


def recipes() -> list[Recipe]:
    image = torch.zeros(2, 3, 32, 32)
    return [
        Recipe(
            file="classifier.onnx",
            what="convolutional classifier with a residual shortcut; symbolic batch; "
            "the exporter's own types of inner values left in",
            how="`torch.export` exporter, constants folded, batch normalisation not fused",
            network=seeded(Classifier),
            export=dynamo(
                (image,),
                {"image": {0: "batch"}},
                inputs=["image"],
                outputs=["logits"],
                # The whole optimiser would fuse the normalisation into the convolution before it.
                optimize=folding,
            ),
            inputs=["image"],
            cases=[(torch.rand(3, 3, 32, 32),), (torch.rand(1, 3, 32, 32),)],
            keep_value_info=True,
        )
    ]
