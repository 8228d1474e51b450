"""`python -m tf_rnn_ops`, and the arguments of its commands compare and info."""

import pathlib

import numpy as np
import pytest

import tf_rnn_ops
from tf_rnn_ops import __main__ as commands
from tf_rnn_ops import compare, info


def _plot_refusal(path, capsys):
    """The output of the command before it reads the model, which does not exist."""
    assert compare.main(["nowhere.keras", "--plot", str(path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_a_plot_that_cannot_be_written_is_refused_first(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "none" / "x.png", tmp_path / "file" / "x.png", tmp_path / "folder"):
        line = _plot_refusal(path, capsys)
        assert "--plot must be a file in a folder" in line and str(path) in line
    pytest.importorskip("matplotlib")
    line = _plot_refusal(tmp_path / "t.xyz", capsys)
    assert "--plot must end in one of" in line and "png" in line and "t.xyz" in line


@pytest.mark.parametrize("name", ["t.png", "t.PNG", "t"])
def test_other_plots_are_not_refused(name, tmp_path, capsys):
    assert "--plot" not in _plot_refusal(tmp_path / name, capsys)


@pytest.mark.parametrize("flag", ["--batch", "--time", "--repeats"])
@pytest.mark.parametrize("value", ["0", "-3"])
def test_sizes_below_one_are_refused_by_name(flag, value, capsys):
    with pytest.raises(SystemExit, match="2"):
        compare.main(["nowhere.keras", flag, value])
    assert f"{flag} must be at least 1, but it is {value}." in capsys.readouterr().err


def test_the_help_of_compare_says_what_the_batch_is(capsys):
    with pytest.raises(SystemExit, match="0"):
        compare.main(["--help"])
    out = " ".join(capsys.readouterr().out.split())
    assert "random floats, ones for integers" in out and "zeros for a sparse loss" in out

    class Tensor:
        shape, dtype = (None, None), "int32"

    np.testing.assert_array_equal(compare._made_up(Tensor, 2, 3), np.ones((2, 3)))
    Tensor.dtype = "float32"
    assert np.unique(compare._made_up(Tensor, 2, 3)).size == 6


def test_info_takes_help_and_nothing_else(capsys):
    with pytest.raises(SystemExit, match="0"):
        info.main(["--help"])
    out = capsys.readouterr().out
    assert out.startswith("usage: python -m tf_rnn_ops.info") and "Processor" not in out
    with pytest.raises(SystemExit, match="2"):
        info.main(["--typo"])
    assert "unrecognized arguments: --typo" in capsys.readouterr().err


def test_the_list_of_commands(capsys):
    folder = pathlib.Path(tf_rnn_ops.__file__).parent
    found = {
        path.parent.name if path.stem == "__main__" else path.stem
        for path in folder.rglob("*.py")
        if path.parent != folder or path.stem != "__main__"
        if '__name__ == "__main__"' in path.read_text()
    }
    assert commands.main() == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert {line.split()[2].removeprefix("tf_rnn_ops.") for line in lines} == found
    assert all(line.startswith("  python -m tf_rnn_ops.") for line in lines)
    with pytest.raises(SystemExit, match="2"):
        commands.main(["info"])


def test_commands_are_attributes_of_the_package():
    assert tf_rnn_ops.compare is compare and tf_rnn_ops.info is info
    assert {"compare", "info"} <= {*dir(tf_rnn_ops)} & {*tf_rnn_ops.__all__}
