"""A server that is not ours is judged right, by the contract alone and by the real stage."""

import json
import subprocess
import sys
from pathlib import Path

EXPECTED = {
    "honest": ([], "upheld"),
    "one row dropped": ("reply-count", "refused"),
    "error dict": ("reply-count", "refused"),
    "short row": ("ids-enough", "refused"),
    "rows swapped": ("item-identity", "silent"),
}


def test_a_foreign_server_is_judged_right_five_times_of_five() -> None:
    """Honest, a row dropped, an error dict, a short row, and two rows swapped."""
    program = Path(__file__).with_name("foreign_provider.py")
    said = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    found = {line["mode"]: line for line in map(json.loads, said.stdout.splitlines())}

    for mode, (clause, verdict) in EXPECTED.items():
        assert found[mode]["verdict"] == verdict, mode
        assert found[mode]["clauses"][:1] == ([clause] if clause else []), mode
    assert found["rows swapped"]["detail"] == (
        "output 0 carries prompt 2's tokens; output 2 carries prompt 0's tokens"
    )
