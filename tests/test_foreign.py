"""Files that are neither a .pte nor a .ptd: the error says what they are."""

from __future__ import annotations

import errno
import gzip
import io
import os
import pickle
import zipfile
from pathlib import Path

import pytest

from aligncheck.errors import BadFile
from aligncheck.formats import read_container
from tests.support.build import Pte, Segment
from tests.support.cli import command
from tests.support.reading import fault_at, fault_of

LFS = b"""version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
"""


def zip_archive(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, b"content")
    return stream.getvalue()


NEITHER = "not ET12 (a program) or FT01 (a data file)"
FOREIGN = {
    "git lfs pointer": (LFS, "is a Git LFS pointer, not the model; run `git lfs pull`"),
    "zip archive": (
        zip_archive("archive/data.pkl"),
        "is a zip archive (a TorchScript or torch.save file?); export it to .pte",
    ),
    "empty zip archive": (zip_archive(), "is a zip archive, an empty one"),
    "gzip": (gzip.compress(b"program"), "is gzip data; decompress it first"),
    "pickle": (
        pickle.dumps({"state": 1}, protocol=2),
        "is a pickle (a torch.save file?); export it to .pte",
    ),
    "gguf": (b"GGUF\3\0\0\0" + bytes(24), "is a GGUF model"),
    "elf": (b"\x7fELF\2\1\1" + bytes(32), "is an ELF binary"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(32), "is a TensorFlow Lite model"),
    "etdump": (
        b"\x1c\0\0\0ED00" + bytes(32),
        "is an ETDump, a profile of a run, not a model",
    ),
    "text": (b"404: Not Found\n", "is text, not a .pte or .ptd"),
    "html": (b"<!DOCTYPE html>\r\n<html>", "is text, not a .pte or .ptd"),
    "short text": (b"todo\n", "is text, not a .pte or .ptd"),
    "text in utf-8": ("модель здесь ".encode() * 20, "is text, not a .pte or .ptd"),
    "zeros": (bytes(64), rf"byte 4: the identifier is b'\x00\x00\x00\x00', {NEITHER}"),
    "another flatbuffer": (
        b"\x10\0\0\0ABCD" + bytes(56),
        f"byte 4: the identifier is b'ABCD', {NEITHER}",
    ),
    "program of another version": (
        Pte(identifier=b"ET13").build().data,
        "byte 4: the identifier is b'ET13', not ET12 (a program)",
    ),
    "data file of another version": (
        b"\x10\0\0\0FT99FH01" + bytes(56),
        "byte 4: the identifier is b'FT99', not FT01 (a data file)",
    ),
}


@pytest.mark.parametrize(("data", "fault"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_called_by_its_name(tmp_path: Path, data: bytes, fault: str) -> None:
    assert fault_of(data, tmp_path) == fault


@pytest.mark.parametrize("identifier", [b"BP04", b"BP05", b"BP06", b"BP07", b"BP08"])
def test_a_bundled_program_is_called_by_its_name(tmp_path: Path, identifier: bytes) -> None:
    data = b"\x20\0\0\0" + identifier + Pte(segments=[Segment(b"1")]).build().data
    assert fault_of(data, tmp_path) == (
        "is a bundled program, which is not supported; audit the .pte it was made from"
    )


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    assert fault_of(b"", tmp_path) == "is empty"


@pytest.mark.parametrize("size", range(1, 8))
def test_a_file_of_a_few_bytes_is_called_too_short(tmp_path: Path, size: int) -> None:
    fault = fault_of(b"\x10\0\0\0ET12"[:size], tmp_path)
    assert fault == f"has only {size} bytes, too few for a .pte or .ptd"


def test_a_folder_is_called_a_directory(tmp_path: Path) -> None:
    assert fault_at(tmp_path) == "is a directory"


def test_a_missing_file_is_called_missing(tmp_path: Path) -> None:
    assert fault_at(tmp_path / "none.pte") == "cannot be read: No such file or directory"


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.pte")
    # In a process of its own, which is given up after a while if it waits.
    ran = command("fifo.pte", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, "aligncheck: fifo.pte: is not a regular file\n")


def test_a_device_is_refused() -> None:
    assert fault_at(Path("/dev/zero")) == "is not a regular file"


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "loop.pte"
    link.symlink_to(link)
    assert fault_at(link) == f"cannot be read: {os.strerror(errno.ELOOP)}"


def test_a_link_to_a_program_is_read(tmp_path: Path) -> None:
    link = tmp_path / "link.pte"
    link.symlink_to(Pte().build().write(tmp_path / "model.pte"))
    assert read_container(str(link)).format == "pte"


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def _refuse(path: str, *_: object) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    path = Pte().build().write(tmp_path / "secret.pte")
    # The permissions of a file do not stop root, who may well run this.
    monkeypatch.setattr(os, "open", _refuse)
    assert fault_at(path) == "cannot be read: Permission denied"


def test_a_disk_that_fails_is_an_error_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def _fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    path = Pte().build().write(tmp_path / "model.pte")
    monkeypatch.setattr(os, "pread", _fail)
    assert fault_at(path) == f"byte 0: cannot be read: {os.strerror(errno.EIO)}"


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(BadFile, match=r"is no file name: .*embedded null"):
        read_container("model\0.pte")


def test_an_error_tells_file_place_and_finding_apart(tmp_path: Path) -> None:
    path = tmp_path / "bad.pte"
    path.write_bytes(b"\x10\0\0\0ET13" + bytes(8))
    with pytest.raises(BadFile) as caught:
        read_container(str(path))
    error = caught.value
    assert (error.path, error.place) == (str(path), "byte 4")
    assert error.found == "the identifier is b'ET13', not ET12 (a program)"
    assert str(error) == f"{path}: {error.reason}"


def test_no_file_is_left_open(tmp_path: Path) -> None:
    good = Pte().build().write(tmp_path / "good.pte")
    bad = tmp_path / "bad.pte"
    bad.write_bytes(b"PK\3\4")
    before = sorted(os.listdir("/proc/self/fd"))
    read_container(str(good))
    for path in (bad, tmp_path):
        fault_at(path)
    assert sorted(os.listdir("/proc/self/fd")) == before
