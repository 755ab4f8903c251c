"""Requests declared once: where a configuration is found, what it may say, and for which files."""

from __future__ import annotations

from pathlib import Path

import pytest

from aligncheck import BadFile
from aligncheck.requests.config import Settings, find_config, read_config

WHOLE = """
segment-alignment = "4K"
exclude = ["old/*"]
[requests]
"npu.*" = 4096
vocab = "0x100"
[backends]
NpuBackend = "16KiB"
QnnBackend = false
[[overrides]]
paths = ["phone/*.pte"]
segment-alignment = 16384
requests = { vocab = 64 }
backends = { QnnBackend = 256 }
"""


def toml(folder: Path, text: str, name: str = "aligncheck.toml") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def settings(folder: Path, text: str) -> Settings:
    return read_config(toml(folder, text))


def fault(folder: Path, text: str) -> str:
    with pytest.raises(BadFile) as caught:
        settings(folder, text)
    return caught.value.reason


def test_every_setting_is_read(tmp_path: Path) -> None:
    found = settings(tmp_path, WHOLE)
    assert found.segment_alignments == (4096,)
    assert found.requests == (("npu.*", 4096), ("vocab", 256))
    assert found.backends == {"NpuBackend": 16384, "QnnBackend": False}
    assert found.exclude == ("old/*",)


def test_a_pyproject_has_the_same_settings_in_its_table(tmp_path: Path) -> None:
    lines = ("[tool.aligncheck.requests]", "w = 256", "[tool.other]", "x = 1")
    found = read_config(toml(tmp_path, "\n".join(lines), "pyproject.toml"))
    assert found.requests == (("w", 256),)


def test_an_override_adds_requests_and_has_the_last_word_on_backends(tmp_path: Path) -> None:
    found = settings(tmp_path, WHOLE).for_file(str(tmp_path / "phone" / "m.pte"))
    assert found.segment_alignments == (4096, 16384)
    assert found.requests == (("npu.*", 4096), ("vocab", 256), ("vocab", 64))
    assert found.backends == {"NpuBackend": 16384, "QnnBackend": 256}


def test_an_override_is_for_its_files_only(tmp_path: Path) -> None:
    found = settings(tmp_path, WHOLE)
    assert found.for_file(str(tmp_path / "laptop" / "m.pte")) == found


def test_globs_are_relative_to_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = settings(tmp_path, WHOLE)
    (tmp_path / "old").mkdir()
    monkeypatch.chdir(tmp_path / "old")
    assert found.excludes("m.pte")
    assert not found.excludes("../new.pte")


def test_the_nearest_configuration_above_a_file_is_found(tmp_path: Path) -> None:
    toml(tmp_path, "")
    near = toml(tmp_path / "a", "")
    assert find_config(str(tmp_path / "a" / "b")) == near


def test_a_pyproject_of_other_tools_is_passed_over(tmp_path: Path) -> None:
    above = toml(tmp_path, "")
    toml(tmp_path / "a", "[tool.black]\n# not aligncheck\n", "pyproject.toml")
    assert find_config(str(tmp_path / "a")) == above


def test_a_pyproject_that_another_tool_would_choke_on_is_passed_over(tmp_path: Path) -> None:
    above = toml(tmp_path, "")
    toml(tmp_path / "a", "[[[", "pyproject.toml")
    assert find_config(str(tmp_path / "a")) == above


def test_in_one_folder_the_own_file_comes_before_the_pyproject(tmp_path: Path) -> None:
    toml(tmp_path, "[tool.aligncheck]", "pyproject.toml")
    own = toml(tmp_path, "")
    assert find_config(str(tmp_path)) == own


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("alignment = 4", "alignment: is not a setting; there are segment-alignment, requests,"),
        ("segment-alignment = true", "segment-alignment: is True, not a number of bytes"),
        ("segment-alignment = 0", "segment-alignment: an alignment is 1 byte to 1 GiB, not 0"),
        ("segment-alignment = 1.5", "segment-alignment: is 1.5, not a number of bytes"),
        ("requests = 4", "requests: is 4, not a table"),
        ("requests = { w = '4Q' }", "requests.w: '4Q' is no number of bytes"),
        ("requests = { w = false }", "requests.w: is False, not a number of bytes"),
        ("backends = { B = true }", "backends.B: is True, not a number of bytes"),
        ("exclude = 'x'", "exclude: is 'x', not a list of globs"),
        ("exclude = [1]", "exclude: is [1], not a list of globs"),
        ("overrides = {}", "overrides: is {}, not a list of tables"),
        ("overrides = [1]", "overrides[0]: is 1, not a table"),
        ("overrides = [{}]", "overrides[0].paths: is (), not a list with at least one glob"),
        (
            "overrides = [{ paths = ['a'], exclude = ['b'] }]",
            "overrides[0].exclude: is not a setting; there are segment-alignment, requests, backe",
        ),
        ("tool = { aligncheck = 1 }", "tool.aligncheck: is 1, not a table"),
        ("a = ", "is no TOML: "),
        ("a = " + "[" * 100_000, "is no TOML: "),
        ("w = 1\nw = 2", "is no TOML: "),
    ],
)
def test_what_cannot_be_meant_is_an_error_with_its_place(
    tmp_path: Path, text: str, reason: str
) -> None:
    assert fault(tmp_path, text).startswith(reason)


def test_a_long_value_is_not_repeated_whole(tmp_path: Path) -> None:
    assert len(fault(tmp_path, f"requests = '{'x' * 10_000}'")) < 100


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "aligncheck.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadFile, match="is no TOML"):
        read_config(str(path))


def test_a_configuration_is_small(tmp_path: Path) -> None:
    assert "a configuration has at most" in fault(tmp_path, "#" * (2**20 + 1))


def test_a_named_file_must_have_settings(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"has no table \[tool.aligncheck\]"):
        read_config(toml(tmp_path, "[tool.black]", "pyproject.toml"))
