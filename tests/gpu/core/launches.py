"""The persistent kernels: which of them a problem should launch, and which were launched."""

import ctypes

import torch

OPERANDS = {"float32": "Float32", "float16": "Half", "bfloat16": "BFloat16"}
CELLS = {"lstm": "Lstm", "gru": "Gru", "rnn": "Vanilla", "rnn_tanh": "Vanilla"}
CELLS |= {"rnn_relu": "Vanilla", "gru_reset_before": "GruResetBefore"}
KNOWN = ("Lstm", "Gru")  # kernels that are not general know their activations
WIDTHS = (256, 512, 1024)
ROWS_OF_PART, MOST_ROWS = 64, 128
SMALL_TILE = 16  # of plain forward kernels; all others have tiles of 64 rows
AMPERE = (8, 0)


def is_general(case):
    """Whether a problem has what only the general kernels have."""
    i = case.inputs
    known = CELLS.get(case.rnn_mode) in KNOWN
    usual = not known or (case.activation, case.recurrent_activation) == ("tanh", "sigmoid")
    more = (i.recurrent_mask, i.peepholes)
    limits = (case.zoneout_h, case.zoneout_c, case.cell_clip)
    return not usual or any(t is not None for t in more) or any(v > 0 for v in limits)


def expected(case):
    """The names of the kernels of both passes on a large GPU."""
    i = case.inputs
    batch, units = i.h0.shape[0], i.recurrent_kernel.shape[0]
    if i.projection is not None or i.layer_norm is not None:
        return set()
    return kernels_of(case.rnn_mode, case.dtype, batch, units, is_general(case))


def kernels_of(mode, dtype, batch, units, general=False):
    """The names for a layer without projection and layer normalization."""
    cell, plain = CELLS.get(mode), 0 < batch <= MOST_ROWS
    width = next((w for w in WIDTHS if w >= units), None)
    if not (plain and cell and width and dtype in OPERANDS) or (general and cell not in KNOWN):
        return set()
    tail = str(general).lower()
    names = set()
    for first in range(0, batch, ROWS_OF_PART):
        tile = SMALL_TILE if not general and batch - first <= SMALL_TILE else ROWS_OF_PART
        names.add(f"Forward_{cell}_{OPERANDS[dtype]}_{width}_{tile}_{tail}")
    if general and dtype == "float32" and width == WIDTHS[-1]:
        names.clear()  # its weights do not fit the registers
    if cell == "GruResetBefore":
        return names
    return names | {f"Backward_{cell}_{OPERANDS[dtype]}_{width}_{ROWS_OF_PART}_{tail}"}


def blocks(name, units):
    """The blocks of a kernel, each of which needs a multiprocessor: persistent_shapes.h."""
    direction, cell, operand, width, _, general = name.split("_")
    wide = int(width) > 512
    if direction == "Backward":
        # Blocks that share their units.
        parts = 4 if int(width) > (256 if operand == "Float32" else 512) else 1
        return -(-units // (8 * parts)) * parts
    of_block = 16 if general == "true" or cell == "Vanilla" else 8 if wide else 4
    return -(-units // of_block)


class Launches:
    """The launches of the core's library, and whether this GPU should run persistent kernels."""

    def __init__(self, library, device):
        self.library, self.device = library, device
        for function in ("name", "load", "launched"):
            getattr(library, f"core_persistent_{function}").restype = ctypes.c_char_p

    def old_gpu(self):
        """Text that says why no kernel can run, for GPUs before Ampere; "" on others."""
        capability = torch.cuda.get_device_capability() if self.device == "cuda" else (9, 0)
        if capability >= AMPERE:
            return ""
        return f"compute capability {capability[0]}.{capability[1]} has no persistent kernels"

    def multiprocessors(self):
        if self.device != "cuda":
            return 132  # of the mock
        return torch.cuda.get_device_properties("cuda").multi_processor_count

    def expected(self, case):
        """The names of the kernels of both passes for which this GPU has the multiprocessors."""
        units, most = case.inputs.recurrent_kernel.shape[0], self.multiprocessors()
        return {name for name in expected(case) if blocks(name, units) <= most}

    def forget(self):
        self.library.core_persistent_launched()

    def launched(self):
        """The names of the kernels since forget() or the last call of this method."""
        return set(self.library.core_persistent_launched().decode().split())

    def verdict(self, case, algorithms):
        """Whether the launched kernels are those that should run a problem, and the text that says which."""
        passes = [name for name, a in zip(("Forward", "Backward"), algorithms) if a == "persistent"]
        return self.judge(
            {name for name in self.expected(case) if name.split("_")[0] in passes},
            bool(passes),
        )

    def judge(self, want, persistent=True):
        """As verdict(), of the names that should have been launched. `persistent`: in any pass."""
        old, found = self.old_gpu(), self.launched()
        text = ", ".join(sorted(found)) or (persistent and old) or "no persistent kernel"
        if found == (set() if old else want):
            return True, text
        reasons = [] if old else map(self.refusal, sorted(want - found))
        return False, f"{text}, but it should be {', '.join(reasons) or 'less'}"

    def refusal(self, name):
        """The name, and why the kernel cannot run here if so."""
        try:
            self.load(name)
        except RuntimeError as error:
            return f"{name} ({error})"
        return name

    def names(self):
        """All kernels, in the order of the library."""
        count, found = 0, []
        while (name := self.library.core_persistent_name(count)) is not None:
            found.append(name.decode())
            count += 1
        return found

    def load(self, name):
        """Milliseconds that the driver took to load a kernel. Raises RuntimeError if it cannot run."""
        stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else None
        found = ctypes.c_double()
        error = self.library.core_persistent_load(
            self.names().index(name), ctypes.c_void_p(stream), ctypes.byref(found)
        )
        if error is not None:
            raise RuntimeError(error.decode())
        return found.value
