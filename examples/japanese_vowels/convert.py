"""Makes japanese_vowels.npz from the two .ts files in the sktime wheel.

pip download --no-deps sktime==1.2.0
unzip sktime-1.2.0-*.whl 'sktime/datasets/data/JapaneseVowels/*'
python convert.py sktime/datasets/data/JapaneseVowels
"""

import argparse
import decimal
import pathlib
import sys

import numpy as np

import vowels


def read_ts(path):
    """Reads one .ts file.

    A line after `@data` is an utterance: 12 series of numbers between commas, one per cepstral
    coefficient, and then the label, all between colons.

    Args:
        path: the file.

    Returns:
        units, int32 [frames of all utterances, 12], in millionths; lengths; speakers, from 1.

    Raises:
        DataError: A line has another form, or a number has more than six decimals.
    """
    units, lengths, speakers = [], [], []
    in_data = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not in_data:
            in_data = line.strip().lower() == "@data"
            continue
        if not line.strip():
            continue
        try:
            *series, speaker = line.split(":")
            columns = [[_to_units(value) for value in column.split(",")] for column in series]
            units.append(np.array(columns, np.int32).T)
            speakers.append(int(speaker))
        except (ValueError, ArithmeticError) as error:
            raise vowels.DataError(f"{path}, line {number}: {error}") from error
        lengths.append(len(units[-1]))
    if not units:
        raise vowels.DataError(f"{path} has no utterances after a line '@data'.")
    return np.concatenate(units), lengths, speakers


def _to_units(text):
    scaled = decimal.Decimal(text) * vowels.UNITS
    if scaled != int(scaled):
        raise ValueError(f"{text} has more than six decimals")
    return int(scaled)


def main(arguments=None):
    """Converts the two files of a folder; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "folder", type=pathlib.Path, help="holds JapaneseVowels_TRAIN.ts and JapaneseVowels_TEST.ts"
    )
    parser.add_argument(
        "--output",
        type=pathlib.Path,
        default=vowels.DEFAULT_PATH,
        help="the file to write (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    try:
        splits = [
            read_ts(options.folder / f"JapaneseVowels_{name}.ts") for name in ("TRAIN", "TEST")
        ]
        units, lengths, speakers = (np.concatenate(parts) for parts in zip(*splits))
        vowels.save(options.output, units, lengths, speakers)
    except (OSError, vowels.DataError) as error:
        print(f"convert.py: {error}", file=sys.stderr)
        return 1
    print(
        f"wrote {options.output}: {len(lengths)} utterances, {len(units)} frames, "
        f"{options.output.stat().st_size} bytes"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
