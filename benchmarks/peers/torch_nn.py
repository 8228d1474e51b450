"""torch.nn.LSTM, GRU and RNN, and LSTM and GRU with int8 weights."""

import torch

from benchmarks.peers import Unsupported


def make(variant, threads, device=""):
    torch.set_num_threads(threads)
    return _Torch("cuda" if device.startswith("GPU") else "cpu")


def quantize(module):
    """The module with int8 weights that have one scale for each column."""
    from torch.ao import quantization

    # WHY a list around it: quantize_dynamic replaces only the children of a module.
    parent = quantization.quantize_dynamic(
        torch.nn.ModuleList([module]), {type(module): quantization.per_channel_dynamic_qconfig}
    )
    return parent[0]


class _Torch:
    int8 = True
    version = f"torch {torch.__version__}"

    def __init__(self, device):
        self.device = device
        torch.zeros(1, device=device)
        # As TensorFlow on a GPU.
        torch.backends.cuda.matmul.allow_tf32 = True

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if p.dropout:
            raise Unsupported("problems without dropout only")
        int8 = p.dtype == "int8"
        if int8 and (training or p.cell not in ("lstm", "gru")):
            raise Unsupported("int8 for inference of LSTM and GRU only")
        place = {"dtype": getattr(torch, p.value_dtype), "device": self.device}
        kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
        extra = {} if p.cell in kinds else {"nonlinearity": p.cell}
        self.module = kinds.get(p.cell, torch.nn.RNN)(
            p.I, p.H, num_layers=p.L, bidirectional=p.D == 2, **place, **extra
        )
        with torch.no_grad():
            flat = [w for ws in weights for w in ws]
            for to, value in zip(self.module.parameters(), flat, strict=True):
                to.copy_(torch.from_numpy(value))
        if int8:
            self.module = quantize(self.module)
        self.x = torch.from_numpy(x).to(**place).requires_grad_(training)
        self.dy = torch.from_numpy(dy).to(**place)
        self.training = training

    def run(self):
        self.start()
        self.wait()

    def wait(self):
        if self.device == "cuda":
            torch.cuda.synchronize()

    def start(self):
        if not self.training:
            with torch.inference_mode():
                self.y = self.module(self.x)[0]
            return
        self.x.grad = None
        self.module.zero_grad()
        self.y = self.module(self.x)[0]
        self.y.backward(self.dy)

    def result(self):
        result = {"y": self.y.detach().float().cpu().numpy()}
        if self.training:
            result["dx"] = self.x.grad.float().cpu().numpy()
        return result
