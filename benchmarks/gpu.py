"""Times the ops on a GPU next to TensorFlow's own CudnnRNNV3 and BlockLSTMV2 and PyTorch's layers.

    python -m benchmarks.gpu [--device GPU:0] [--rounds 7] [--peers NAME ...] [--output FOLDER]

Every library runs in its own process, since one process cannot load two builds of cuDNN. The libraries
alternate, round by round. The time of a call is measured as in a training loop: many calls and one
synchronisation at the end, divided by the number of calls. --device CPU:0 is only a test of this program.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks import problems

ROOT = pathlib.Path(__file__).resolve().parents[1]
SHAPES = ROOT / "benchmarks" / "shapes" / "gpu.txt"
OURS, BLOCK = "tf_rnn_ops", "tf_rnn_ops BlockLSTM"
PEERS = (OURS, "TensorFlow CudnnRNNV3", "PyTorch", BLOCK, "TensorFlow BlockLSTMV2")
# {our op: the libraries that it is compared with}.
RIVALS = {OURS: PEERS[1:3], BLOCK: PEERS[4:]}
TURN_SECONDS = 0.1
# Products in TF32, which both frameworks allow, round their operands to 10 bits.
TOLERANCE = 3e-2
_MODES = {"lstm": "lstm", "gru": "gru", "tanh": "rnn_tanh", "relu": "rnn_relu"}


# ---- In the worker ----


class _TensorFlowStep:
    """Traces one step of our ops or, with `stock`, of TensorFlow's ops. `run` only starts it."""

    def __init__(self, device, stock):
        import tensorflow as tf

        self.tf, self.device = tf, device
        kind, number = device.split(":")
        if len(tf.config.list_logical_devices(kind)) <= int(number):
            raise RuntimeError(f"TensorFlow has registered no {device}")
        if stock:
            self.ops = tf.raw_ops
        else:
            import tf_rnn_ops

            self.ops = tf_rnn_ops.raw_ops

    def sync(self):
        self.tf.test.experimental.sync_devices()

    def run(self):
        self.last = self.step()

    def result(self):
        values = [self.tf.cast(value, self.tf.float32).numpy() for value in self.last[:2]]
        return dict(zip(("y", "dx"), values, strict=False))


class _Stack(_TensorFlowStep):
    def prepare(self, p, training):
        tf = self.tf
        x, dy, weights = problems.make_data(p)
        flat = [w.ravel() for ws in weights for w in ws[:2]] + [b for ws in weights for b in ws[2:]]
        dtype = tf.as_dtype(p.dtype)
        with tf.device(self.device):
            x, params, dy = (tf.cast(v, dtype) for v in (x, np.concatenate(flat), dy))
            h = tf.zeros((p.L * p.D, p.B, p.H), dtype)
            lengths = tf.fill((p.B,), p.T)

        def forward(x, params):
            return self.ops.CudnnRNNV3(
                input=x,
                input_h=h,
                input_c=h,
                params=params,
                sequence_lengths=lengths,
                rnn_mode=_MODES[p.cell],
                direction="bidirectional" if p.D == 2 else "unidirectional",
                is_training=training,
            )[0]

        @tf.function
        def step(x, params):
            with tf.device(self.device):
                if not training:
                    return [forward(x, params)]
                with tf.GradientTape() as tape:
                    tape.watch([x, params])
                    y = forward(x, params)
                return [y] + tape.gradient(y, [x, params], dy)

        self.step = lambda: step(x, params)


class _Block(_TensorFlowStep):
    def prepare(self, p, training):
        if (p.cell, p.L, p.D, p.dtype) != ("lstm", 1, 1, "float32"):
            raise NotImplementedError("one unidirectional float32 LSTM layer only")
        tf = self.tf
        x, dy, weights = problems.make_data(p)
        w_ih, w_hh, b_ih, b_hh = weights[0]
        with tf.device(self.device):
            x, dy = tf.constant(x), tf.constant(dy)
            zeros, peephole = tf.zeros((p.B, p.H)), tf.zeros((p.H,))
            shared = dict(
                seq_len_max=tf.constant(p.T, tf.int64),
                cs_prev=zeros,
                h_prev=zeros,
                # Columns i, f, ci, o: the order of the shared weights.
                w=tf.constant(np.concatenate([w_ih.T, w_hh.T])),
                wci=peephole,
                wcf=peephole,
                wco=peephole,
                b=tf.constant(b_ih + b_hh),
                use_peephole=False,
            )
            no_cs_grad = tf.zeros_like(dy)

        # WHY the gradient op by name: TensorFlow registers the gradient op of BlockLSTM for V2.
        @tf.function
        def step(x):
            with tf.device(self.device):
                result = self.ops.BlockLSTMV2(x=x, cell_clip=0.0, **shared)
                if not training:
                    return [result.h]
                gradients = self.ops.BlockLSTMGradV2(
                    x=x, cs_grad=no_cs_grad, h_grad=dy, **result._asdict(), **shared
                )
                return [result.h, gradients.x_grad, gradients.w_grad, gradients.b_grad]

        self.step = lambda: step(x)


class _Torch:
    def __init__(self, device):
        import torch

        self.torch = torch
        self.device = "cuda" if device.startswith("GPU") else "cpu"
        torch.zeros(1, device=self.device)
        torch.backends.cuda.matmul.allow_tf32 = True

    def prepare(self, p, training):
        torch = self.torch
        x, dy, weights = problems.make_data(p)
        kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
        extra = {} if p.cell in kinds else {"nonlinearity": p.cell}
        place = {"dtype": getattr(torch, p.dtype), "device": self.device}
        self.module = kinds.get(p.cell, torch.nn.RNN)(
            p.I, p.H, num_layers=p.L, bidirectional=p.D == 2, **place, **extra
        )
        self.module.train(training)
        with torch.no_grad():
            flat = [w for ws in weights for w in ws]
            for to, value in zip(self.module.parameters(), flat, strict=True):
                to.copy_(torch.from_numpy(value))
        self.x = torch.from_numpy(x).to(**place).requires_grad_(training)
        self.dy = torch.from_numpy(dy).to(**place)
        self.training = training

    def run(self):
        if not self.training:
            with self.torch.inference_mode():
                self.y = self.module(self.x)[0]
            return
        self.x.grad = None
        self.module.zero_grad()
        self.y = self.module(self.x)[0]
        self.y.backward(self.dy)

    def sync(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def result(self):
        found = {"y": self.y.detach().float().cpu().numpy()}
        if self.training:
            found["dx"] = self.x.grad.float().cpu().numpy()
        return found


_MAKE = {
    PEERS[0]: lambda device: _Stack(device, stock=False),
    PEERS[1]: lambda device: _Stack(device, stock=True),
    PEERS[2]: _Torch,
    PEERS[3]: lambda device: _Block(device, stock=False),
    PEERS[4]: lambda device: _Block(device, stock=True),
}


def work(name, device):
    """Answers commands, one line of JSON each, until the input ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # libraries may print to stdout
    peer = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            peer = peer or _MAKE[name](device)
            if "problem" in command:
                peer.prepare(problems.parse(command["problem"]), command["training"])
                peer.run()
                np.savez(command["save"], **peer.result())
                answer = {}
            else:
                peer.sync()
                start = time.perf_counter()
                for _ in range(command["runs"]):
                    peer.run()
                peer.sync()
                answer = {"seconds": (time.perf_counter() - start) / command["runs"]}
        except Exception as error:  # reported, and omitted from the table
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:90]}
        answers.write(json.dumps(answer) + "\n")


# ---- In the driver ----


class Worker:
    """A library in its own process.

    If the process ends, the row omits it, and it is started again for the next.
    """

    def __init__(self, name, device):
        self.name, self.device = name, device
        self._start()

    def _start(self):
        command = [sys.executable, "-c", _START, str(ROOT)]
        command += ["--worker", self.name, "--device", self.device]
        # All processes use one GPU. Without this variable the first TensorFlow reserves all of its memory.
        environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def prepare(self, **command):
        """Builds a problem, in a new process if the last process has ended."""
        if self.process.poll() is not None:
            self._start()
        return self.ask(**command)

    def ask(self, **command):
        """The answer to a command. It has `error` if the command failed."""
        try:
            self.process.stdin.write(json.dumps(command) + "\n")
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        return json.loads(line) if line else {"error": f"its process ended: {self.process.wait()}"}

    def close(self):
        self.process.kill()
        self.process.wait()


# The source tree is put behind the installed packages, so that tf_rnn_ops is the installed one.
_START = (
    "import sys; root = sys.argv.pop(1); "
    "sys.path = [p for p in sys.path if p not in ('', root)] + [root]; "
    "from benchmarks.gpu import main; main()"
)


def _agree(folder, names):
    """{name: reason} for results that differ from the first result."""
    results = {name: dict(np.load(folder / f"{PEERS.index(name)}.npz")) for name in names}
    first = results[names[0]]

    def distance(other):
        return max(
            np.abs(first[key] - other[key]).max() / max(1e-6, np.abs(first[key]).max())
            for key in first
        )

    return {
        name: f"results differ by {distance(results[name]):.1e}"
        for name in names
        if not distance(results[name]) <= TOLERANCE
    }


def measure(workers, text, training, rounds, folder):
    """One row: {library: seconds}, and the reasons why libraries are omitted."""
    left_out, ready = {}, []
    for worker in workers:
        save = str(folder / f"{PEERS.index(worker.name)}.npz")
        answer = worker.prepare(problem=text, training=training, save=save)
        if "error" in answer:
            left_out[worker.name] = answer["error"]
        else:
            ready.append(worker)
    wrong = _agree(folder, [w.name for w in ready]) if ready else {}
    left_out.update(wrong)
    ready = [worker for worker in ready if worker.name not in wrong]
    runs = {}
    for worker in ready:
        worker.ask(runs=3)
        runs[worker.name] = max(1, round(TURN_SECONDS / worker.ask(runs=3)["seconds"]))
    seconds = {worker.name: [] for worker in ready}
    for _ in range(rounds):
        for worker in ready:
            seconds[worker.name].append(worker.ask(runs=runs[worker.name])["seconds"])
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    problem = problems.parse(text).name
    mode = "training" if training else "inference"
    return {"problem": problem, "mode": mode, "seconds": medians, "left_out": left_out}


def ratios(row):
    """{our op: time of the fastest other library divided by our time}."""
    found = {}
    for ours, rivals in RIVALS.items():
        times = [row["seconds"][name] for name in rivals if name in row["seconds"]]
        if times and ours in row["seconds"]:
            found[ours] = min(times) / row["seconds"][ours]
    return found


_HEAD = ["(T,B,I,H)", "mode", *PEERS, "ratio", "ratio BlockLSTM"]


def _line(cells):
    return "| " + " | ".join(cells) + " |"


def table_row(row):
    """A row of the table, in microseconds."""
    cells = [f"{row['seconds'][n] * 1e6:.1f}" if n in row["seconds"] else "" for n in PEERS]
    found = ratios(row)
    cells += [f"{found[name]:.2f}" if name in found else "" for name in (OURS, BLOCK)]
    return _line([row["problem"], row["mode"], *cells])


def markdown(rows):
    """The table and the reasons why cells are empty."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD)), *map(table_row, rows)]
    reasons = {(n, r) for row in rows for n, r in row["left_out"].items() if "only" not in r}
    return "\n".join([*lines, "", *(f"- left out: {n}: {r}" for n, r in sorted(reasons))])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="Example: python -m benchmarks.gpu --rounds 3",
    )
    parser.add_argument(
        "--device", default="GPU:0", help="TensorFlow's name of the device (default: %(default)s)"
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=7,
        help="rounds, each with a turn of every implementation (default: %(default)s)",
    )
    parser.add_argument(
        "--shapes",
        type=pathlib.Path,
        default=SHAPES,
        help="file with a shape in each line (default: benchmarks/shapes/gpu.txt)",
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=pathlib.Path("bench_output"),
        help="folder for the results (default: %(default)s)",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        default=PEERS,
        choices=PEERS,
        metavar="NAME",
        help=f"implementations to time (default: all of {', '.join(PEERS)})",
    )
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        work(args.worker, args.device)
        return
    args.output.mkdir(parents=True, exist_ok=True)
    lines = [line.split("#")[0].strip() for line in args.shapes.read_text().splitlines()]
    workers = [Worker(name, args.device) for name in args.peers]
    rows = []
    # The table is written after each row, so that an interrupted run has the rows so far.
    print(markdown(rows).strip(), flush=True)
    try:
        for text in filter(None, lines):
            for training in (False, True):
                rows.append(measure(workers, text, training, args.rounds, args.output))
                print(table_row(rows[-1]), flush=True)
                (args.output / "gpu.json").write_text(json.dumps(rows, indent=1))
                (args.output / "gpu.md").write_text(markdown(rows) + "\n")
    finally:
        for worker in workers:
            worker.close()
    print("\n".join(line for line in markdown(rows).splitlines() if line.startswith("- ")))
    if not any(row["seconds"].get(OURS) for row in rows):
        sys.exit("tf_rnn_ops ran no problem")


if __name__ == "__main__":
    main()
