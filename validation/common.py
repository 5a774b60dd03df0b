"""What the scripts of this folder share: running `debye`, reading its tables, averages with their errors."""

import argparse
import concurrent.futures
import csv
import json
import math
import os
import subprocess

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(FOLDER)
PRECISIONS = ["single", "mixed", "double"]
# kJ/mol in an electron volt.
ELECTRON_VOLT = 96.48533212331


class Refused(Exception):
    """The program would not do it; the text says why."""


def parser(description, device="cuda"):
    """Arguments that all scripts have."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--debye", default=os.path.join(ROOT, "target/release/debye"), help="the program")
    p.add_argument("--device", default=device, help="cpu, cuda or cuda:N (default %(default)s)")
    p.add_argument("--limit", type=float, default=3600.0, help="seconds that one run may take (default %(default)s)")
    p.add_argument("--jobs", type=int, default=6, help="how many short runs at a time (default %(default)s)")
    return p


def names(text):
    return text.split(",")


def call(arguments, limit=60.0):
    """Runs the program and gives what it prints."""
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as late:
        raise Refused(f"took more than {limit:.0f} s") from late
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        said = [line for line in lines if line.startswith("error")] or lines
        raise Refused(said[-1])
    return done.stdout


def together(o, work, arguments):
    """Does the same for many arguments, some at a time, as most of it is waiting; yields results or refusals in order."""

    def one(argument):
        try:
            return work(*argument)
        except Refused as why:
            return why

    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        yield from pool.map(one, arguments)


def energy(o, file, precision):
    """One evaluation of an input file."""
    flags = ["--json", "--device", o.device, "--precision", precision]
    return json.loads(call([o.debye, "energy", file] + flags, o.limit))


def run(o, file, precision, folder, *more):
    """Runs an input file into a folder."""
    flags = ["--quiet", "--device", o.device, "--precision", precision, "--out", folder]
    call([o.debye, "run", file] + flags + list(more), o.limit)


def table(path):
    """Columns of a table by name, units left out."""
    with open(path, newline="", encoding="utf-8") as f:
        rows = list(csv.reader(f))
    heads = [name.split(" (")[0] for name in rows[0]]
    return {head: [float(row[k]) for row in rows[1:]] for k, head in enumerate(heads)}


def changed(name, folder, **keys):
    """A copy of an input file of this folder, with other values for some keys; its path."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as f:
        lines = f.read().splitlines()
    for key, value in keys.items():
        places = [k for k, line in enumerate(lines) if line.split("=")[0].strip() == key]
        if len(places) != 1:
            raise ValueError(f"{name} has {len(places)} lines with the key {key}")
        lines[places[0]] = f"{key} = {value}"
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return path


def average(values):
    """The mean and its standard error: blocks are doubled until the error no longer grows."""
    n, mean = len(values), sum(values) / len(values)
    error, blocks = 0.0, list(values)
    while len(blocks) >= 16:
        spread = sum((x - mean) ** 2 for x in blocks) / (len(blocks) - 1)
        error = max(error, math.sqrt(spread / len(blocks)))
        blocks = [0.5 * (a + b) for a, b in zip(blocks[::2], blocks[1::2])]
    return mean, error if n >= 16 else math.nan


class Report:
    """One line for every comparison, and how many failed."""

    def __init__(self):
        self.failed = self.refused = self.passed = 0
        line = f"{'row':26} {'precision':9} {'got':>20} {'expected':>20} {'error':>9} {'allowed':>9}"
        print(line, flush=True)

    def compare(self, row, precision, got, expected, size=None, allowed=0.0):
        """Differences are relative to `size`, or to what is expected."""
        size = abs(expected) if size is None else size
        error = abs(got - expected) / size if size else abs(got - expected)
        good = error <= allowed
        self.passed += good
        self.failed += not good
        verdict = "pass" if good else "FAIL"
        print(f"{row:26} {precision:9} {got:20.12g} {expected:20.12g} {error:9.1e} {allowed:9.1e} {verdict}", flush=True)

    def refuse(self, row, precision, why):
        self.refused += 1
        print(f"{row:26} {precision:9} refused: {why}", flush=True)

    def close(self):
        """The exit status."""
        print(f"{self.passed} passed, {self.failed} failed, {self.refused} refused")
        return 1 if self.failed else 0
