"""A torch whose GPU says that it is available and dies at its first kernel."""

import random

__version__ = "2.13.0+broken"

MESSAGE = (
    "CUDA error: no kernel image is available for execution on the device\n"
    "CUDA kernel errors might be asynchronously reported at some other API call, "
    "so the stacktrace below might be incorrect."
)


class device:
    def __init__(self, name):
        self.type, _, index = str(name).partition(":")
        self.index = int(index) if index else None

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"


class Tensor:
    def __init__(self, shape, where):
        self.shape, self.device = shape, where

    def to(self, where):
        return Tensor(self.shape, where if isinstance(where, device) else device(where))

    def cuda(self, index=0):
        return self.to(f"cuda:{index}")

    def _kernel(self, *_):
        raise RuntimeError(MESSAGE if self.device.type == "cuda" else "this torch computes nothing")

    __matmul__ = __add__ = __mul__ = __sub__ = sum = _kernel


def _new(*shape, device="cpu", **_):
    return Tensor(shape, globals()["device"](device))


rand = randn = zeros = ones = empty = _new


class cuda:
    @staticmethod
    def is_available():
        return True

    @staticmethod
    def device_count():
        return COUNT

    @staticmethod
    def get_device_name(_=0):
        return NAME

    @staticmethod
    def synchronize(_=None):
        raise RuntimeError(MESSAGE)


def manual_seed(seed):
    random.seed(seed)
