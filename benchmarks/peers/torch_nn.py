"""torch.nn.LSTM, GRU and RNN, and LSTM and GRU with int8 weights."""

import torch

from benchmarks.peers import Unsupported


def make(variant, threads):
    torch.set_num_threads(threads)
    return _Torch()


def _quantize(module):
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

    def prepare(self, problem, x, dy, weights, training):
        p = problem
        if p.dropout:
            raise Unsupported("problems without dropout only")
        int8 = p.dtype == "int8"
        if int8 and (training or p.cell not in ("lstm", "gru")):
            raise Unsupported("int8 for inference of LSTM and GRU only")
        dtype = getattr(torch, p.value_dtype)
        kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
        extra = {} if p.cell in kinds else {"nonlinearity": p.cell}
        self.module = kinds.get(p.cell, torch.nn.RNN)(
            p.I, p.H, num_layers=p.L, bidirectional=p.D == 2, dtype=dtype, **extra
        )
        with torch.no_grad():
            flat = [w for ws in weights for w in ws]
            for to, value in zip(self.module.parameters(), flat, strict=True):
                to.copy_(torch.from_numpy(value))
        if int8:
            self.module = _quantize(self.module)
        self.x = torch.from_numpy(x).to(dtype).requires_grad_(training)
        self.dy = torch.from_numpy(dy).to(dtype)
        self.training = training

    def run(self):
        if not self.training:
            with torch.inference_mode():
                self.y = self.module(self.x)[0]
            return
        self.x.grad = None
        self.module.zero_grad()
        self.y = self.module(self.x)[0]
        self.y.backward(self.dy)

    def result(self):
        result = {"y": self.y.detach().float().numpy()}
        if self.training:
            result["dx"] = self.x.grad.float().numpy()
        return result
