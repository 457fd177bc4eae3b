"""The tiny model: the same bytes everywhere, whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tools.cpu_engine import tiny_model, tiny_tokenizer
from tools.cpu_engine.tiny_model import ModelError, make

REPO = Path(__file__).resolve().parents[2]
# The weights that were booted and asked; another sum is another model, to be booted and asked again.
WEIGHTS = "b5048f928b800683ff796b035d058ea78b11fe21473945e5860d2232b674ee1f"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_weights_are_the_ones_that_were_tried(tmp_path: Path) -> None:
    assert make(tmp_path / "tiny") is True
    assert hashlib.sha256((tmp_path / "tiny/model.safetensors").read_bytes()).hexdigest() == WEIGHTS


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    make(tmp_path / "tiny")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "tiny").iterdir()}
    assert make(tmp_path / "tiny") is False
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "tiny").iterdir()} == before


@pytest.mark.parametrize("harm", ["cut", "gone", "changed"])
def test_a_damaged_model_is_made_again(tmp_path: Path, harm: str) -> None:
    make(tmp_path / "tiny")
    whole = contents(tmp_path / "tiny")
    file = tmp_path / "tiny/model.safetensors"
    if harm == "gone":
        file.unlink()
    else:
        file.write_bytes(
            whole[file.name][:100] if harm == "cut" else whole[file.name].replace(b"\x80\x3f", b"\x80\x40")
        )
    assert make(tmp_path / "tiny") is True
    assert contents(tmp_path / "tiny") == whole
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    with pytest.raises(ModelError, match="not made by this tool"):
        make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    assert make(tmp_path / "tiny") is True


@pytest.mark.parametrize("what", ["file", "dangling link"])
def test_what_is_no_folder_is_left_alone(tmp_path: Path, what: str) -> None:
    out = tmp_path / "tiny"
    if what == "file":
        out.write_text("x")
    else:
        out.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ModelError, match="no folder"):
        make(out)
    assert os.path.lexists(out)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ModelError, match="No space left"):
        make(tmp_path / "tiny")
    assert list(tmp_path.iterdir()) == []


def test_the_weights_have_the_form_that_is_read(tmp_path: Path) -> None:
    raw = tiny_model.safetensors()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__")
    place = 0
    for name, entry in header.items():
        assert entry["dtype"] == "BF16"
        assert entry["data_offsets"][0] == place, name
        place = entry["data_offsets"][1]
    assert place == len(raw) - 8 - size
    assert size % 8 == 0
    assert len(header) == 3 + 11 * tiny_model.LAYERS


@pytest.mark.parametrize(("number", "bits"), [(1.0, 0x3F80), (-2.0, 0xC000), (0.3, 0x3E9A), (0.0, 0), (1 / 3, 0x3EAB)])
def test_bfloat16(number: float, bits: int) -> None:
    assert tiny_model.bfloat16([number]) == struct.pack("<H", bits)


def test_every_byte_is_one_token() -> None:
    letters = tiny_tokenizer.byte_alphabet()
    assert len(set(letters)) == 256
    assert letters[ord("a")] == "a"
    assert letters[ord(" ")] == "Ġ"
    assert letters[0] == "Ā"


def test_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.cpu_engine", "model", "--out", str(tmp_path / "tiny")]
    first = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    second = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert (first.returncode, second.returncode, first.stdout) == (0, 0, "")
    assert ": made, " in first.stderr
    assert ": there already, " in second.stderr
    command[-1] = "/proc/nowhere/tiny"
    failed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith("cpu_engine: error: cannot write the model to")
    assert "Traceback" not in failed.stderr
