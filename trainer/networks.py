"""The two networks of the guides, each from an image of 28x28 to the logarithms of ten probabilities."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class Cnn(nn.Module):
    """20 and 50 filters of 5x5, 500 hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.fc1 = nn.Linear(4 * 4 * 50, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: Tensor) -> Tensor:
        """The guides rectify, then pool; the other way round gives the same numbers from a quarter of the work."""
        x = functional.relu(functional.max_pool2d(self.conv1(x), 2))
        x = functional.relu(functional.max_pool2d(self.conv2(x), 2))
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return functional.log_softmax(self.fc2(x), dim=1)


class CnnDropout(nn.Module):
    """32 and 64 filters of 3x3, a quarter of them dropped, 128 hidden, half of them dropped."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.dropout1 = nn.Dropout2d(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(12 * 12 * 64, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Pooled before it is rectified, as above."""
        x = functional.relu(self.conv1(x))
        x = functional.relu(functional.max_pool2d(self.conv2(x), 2))
        x = self.dropout1(x)
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return functional.log_softmax(self.fc2(self.dropout2(x)), dim=1)


NETWORKS: dict[str, type[nn.Module]] = {"cnn": Cnn, "cnn-dropout": CnnDropout}
