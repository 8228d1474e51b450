"""LinearRecurrence from its documented equations, in float64."""

import numpy as np

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1}


def run(mode, arrays, transposed):
    """h and c of each step; `arrays` are the inputs of the op by name, of size 0 where absent."""
    a, gates, lstm = arrays, GATES[mode], mode == "lstm"
    steps = len(a["input"])
    zero = np.zeros(a["input"].shape[1:])

    def slope(name, t):
        return a[name][t] if a[name].size else 0.0

    def over_gates(name, t, rows):
        """A slope by the gates times a row of G*H, added up."""
        parts = np.split(slope(name, t) * rows, gates, -1)
        return sum(parts)

    def of_gates(name, t, state):
        """The same with the state of each unit for all of its gates."""
        return slope(name, t) * np.tile(state, gates)

    hs, cs = [zero] * steps, [zero] * steps
    h, c = zero, zero
    for k in range(steps):
        t = steps - 1 - k if transposed else k
        u, v = a["input"][t], a["cell_input"][t] if lstm else zero
        if k == 0:
            h, c = u, v
        elif transposed:
            back = of_gates("h_by_gates", t + 1, h) + of_gates("c_by_gates", t + 1, c)
            h, c = (
                u
                + back @ a["recurrent_kernel"].T
                + slope("h_by_h", t + 1) * h
                + slope("c_by_h", t + 1) * c,
                v + slope("h_by_c", t + 1) * h + slope("c_by_c", t + 1) * c,
            )
        else:
            rows = h @ a["recurrent_kernel"]
            h, c = (
                u
                + over_gates("h_by_gates", t, rows)
                + slope("h_by_h", t) * h
                + slope("h_by_c", t) * c,
                v
                + over_gates("c_by_gates", t, rows)
                + slope("c_by_h", t) * h
                + slope("c_by_c", t) * c,
            )
        hs[t], cs[t] = h, c
    shape = (steps, *zero.shape)  # also of no steps
    return np.reshape(hs, shape), np.reshape(cs, shape)
