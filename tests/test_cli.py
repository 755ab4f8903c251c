"""The command: what it prints where, and the status it exits with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import aligncheck
from tests.support import samples
from tests.support.build import Named, Ptd, Pte, Segment
from tests.support.cli import ROOT, command, run
from tests.support.samples import ASKED

OUTPUTS = pytest.mark.parametrize(
    "output", [(), ("-v",), ("-q",), ("-f", "json")], ids=["text", "verbose", "quiet", "json"]
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, where files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def weak(folder: Path) -> Path:
    """The reported bug."""
    samples.weak_first(samples.ptd).build().write(folder / "weak.ptd")
    return Path("weak.ptd")


@pytest.fixture
def strong(folder: Path) -> Path:
    """Its control: nothing is violated."""
    samples.strong_first(samples.pte).build().write(folder / "strong.pte")
    return Path("strong.pte")


@pytest.fixture
def broken(folder: Path) -> Path:
    """No program at all."""
    (folder / "broken.pte").write_text("404: Not Found\n")
    return Path("broken.pte")


def test_a_violation_is_shown_in_a_table_and_a_run_summed_up_in_a_line(weak: Path) -> None:
    ran = run(weak, *ASKED)
    assert ran.lines == [
        "weak.ptd",
        "rule   entry                                                  offset  needs  has",
        "AC101  strong                                                    640    256  128",
        "       segment 1, asked by --require strong=256. It shares",
        "       its segment with weak: the stricter request was",
        "       dropped when equal data was merged. Other names for",
        "       this data ask for 16 by --require weak=16.",
        "1 file, 3 entries: 1 violation",
    ]
    assert (ran.code, ran.err) == (1, "")


def test_a_clean_run_prints_one_line(strong: Path) -> None:
    assert run(strong, *ASKED) == (0, "1 file, 3 entries: nothing violated\n", "")


def test_a_run_without_requests_says_what_it_does_not_know(weak: Path) -> None:
    expected = "1 file, 3 entries: nothing violated, 3 entries have no known request\n"
    assert run(weak) == (0, expected, "")


def test_one_unknown_entry_is_told_in_the_singular(weak: Path) -> None:
    ran = run(weak, "-r", "weak=16", "-r", "prefix*=128")
    assert ran.out == "1 file, 3 entries: nothing violated, 1 entry has no known request\n"


def test_a_file_that_cannot_be_audited_is_told_on_standard_error(broken: Path) -> None:
    assert run(broken) == (
        2,
        "1 file, 0 entries: 1 file could not be audited\n",
        "aligncheck: broken.pte: is text, not a .pte or .ptd\n",
    )


def test_a_quiet_run_prints_a_line_for_each_violation_and_no_more(weak: Path, strong: Path) -> None:
    line = (
        "weak.ptd: AC101 error: strong at 640 needs 256, has 128"
        " (segment 1, shared-segment, asked by --require strong=256)\n"
    )
    assert run("-q", weak, *ASKED) == (1, line, "")
    assert run("-q", strong, *ASKED) == (0, "", "")


def test_a_verbose_run_shows_every_entry_and_draws_the_layout(strong: Path) -> None:
    ran = run("-v", strong, *ASKED)
    assert ran.lines == [
        "strong.pte",
        "offset  size  has  needs  entry",
        "   512     4  512    128  prefix0",
        "                          128 by --require prefix*=128",
        "   768     4  256     16  weak",
        "                          16 by --require weak=16",
        "   768     4  256    256  strong",
        "                          256 by --require strong=256",
        "offset  size                layout",
        "     0    40  ##            header",
        "    40   224  ###########   metadata",
        "   264   248  ############  padding",
        "   512     4  #             segment 0: prefix0 (all requests together: 128)",
        "   516   252  ############  padding",
        "   768     4  #             segment 1: weak, strong (all requests together: 256)",
        "1 file, 3 entries: nothing violated",
    ]
    assert (ran.code, ran.err) == (0, "")


def test_a_verbose_run_marks_the_segments_that_are_violated(weak: Path) -> None:
    marked = [line for line in run("-v", weak, *ASKED, columns=120).lines if "<--" in line]
    assert [line.split("#", 1)[1].strip("# ") for line in marked] == [
        "segment 1: weak, strong (all requests together: 256)  <-- violated"
    ]


def test_a_verbose_run_says_where_nothing_is_known(weak: Path) -> None:
    ran = run("-v", weak)
    assert ran.out.count("no known request") == 4
    assert "   640     4  128      ?  strong" in ran.lines


def test_a_drawing_shows_what_follows_the_last_segment(folder: Path) -> None:
    Ptd(segments=[Segment(b"1" * 64)], trailing=b"x" * 9).build().write(folder / "t.ptd")
    assert [line.split()[-1] for line in run("-v", "t.ptd").lines[-4:-1]] == [
        "padding",
        "0",
        "trailing",
    ]


@OUTPUTS
def test_nothing_but_quiet_and_json_is_wider_than_80_columns(
    folder: Path, output: tuple[str, ...]
) -> None:
    name = "decoder.layers.11.attention.key_projection.weight" * 3
    spec = Ptd(
        segments=[Segment(b"1", offset=2**20 + 1)], named=[Named(name + c, 0) for c in "abcde"]
    )
    spec.build().write(folder / "long.ptd")
    ran = run("long.ptd", "-r", "*=1GiB", *output)
    assert ran.code == 1
    if output in ((), ("-v",)):
        assert max(len(line) for line in ran.out.splitlines()) <= 80
        # Folded, but complete.
        cells = (re.sub(r"(\s+\d+){3}$", "", line) for line in ran.lines)
        assert name in "".join(cell.strip() for cell in cells)


@pytest.mark.parametrize("columns", [20, 40])
def test_a_narrow_terminal_is_not_exceeded(weak: Path, columns: int) -> None:
    table = run("-v", weak, *ASKED, columns=columns).out.splitlines()[:-1]
    assert max(len(line) for line in table) <= columns


@OUTPUTS
@pytest.mark.parametrize(
    ("names", "options", "status"),
    [
        (["strong"], ASKED, 0),
        (["strong"], (), 0),
        (["weak"], ASKED, 1),
        (["strong", "weak"], ASKED, 1),
        (["weak"], (*ASKED, "--exit-zero"), 0),
        (["broken"], ASKED, 2),
        (["missing"], ASKED, 2),
        (["broken", "weak"], ASKED, 2),
        (["weak", "missing"], ASKED, 2),
        (["weak", "broken"], (*ASKED, "--exit-zero"), 2),
        (["broken"], ("--exit-zero",), 2),
    ],
)
def test_the_exit_status_is_the_same_in_every_format(
    request: pytest.FixtureRequest,
    output: tuple[str, ...],
    names: list[str],
    options: tuple[str, ...],
    status: int,
) -> None:
    paths = [Path("none") if n == "missing" else request.getfixturevalue(n) for n in names]
    assert run(*paths, *options, *output).code == status


@OUTPUTS
def test_a_bad_file_does_not_keep_the_others_from_being_audited(
    weak: Path, broken: Path, output: tuple[str, ...]
) -> None:
    ran = run(broken, "none", weak, *ASKED, *output)
    assert ran.code == 2
    assert "strong" in ran.out
    if output != ("-f", "json"):
        assert "AC101" in ran.out
    assert [line.split(":")[1].strip() for line in ran.err.splitlines()] == ["broken.pte", "none"]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ((), "Missing argument 'PATH...'."),
        (("--no-such-option", "x"), "No such option '--no-such-option'."),
        (("-f", "xml", "x"), "Invalid value for '-f' / '--format': 'xml' is not one of 'text', "),
        (("-r", "weak", "x"), "Invalid value for '-r' / '--require': 'weak' is not KEY=BYTES, "),
        (("-r", "weak=x", "x"), "'x' is no number of bytes; write 256, 0x100, 4K, 16KiB or 1MiB"),
        (("-r", "weak=0", "x"), "an alignment is 1 byte to 1 GiB, not 0"),
        (("-r", "weak=-4", "x"), "'-4' is no number of bytes; write "),
        (("-r", "weak=1025M", "x"), "an alignment is 1 byte to 1 GiB, not 1074790400"),
        (("-s", "0", "x"), "an alignment is 1 byte to 1 GiB, not 0"),
        (("-s", "-4", "x"), "'-4' is no number of bytes; write "),
        (("-s", "2G", "x"), "an alignment is 1 byte to 1 GiB, not 2147483648"),
    ],
)
def test_bad_usage_exits_with_2_and_says_what_is_wrong(args: tuple[str, ...], fault: str) -> None:
    ran = run(*args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: aligncheck [OPTIONS] PATH...\n")
    assert fault in ran.err


def test_the_version_is_told() -> None:
    assert run("--version") == (0, f"aligncheck {aligncheck.__version__}\n", "")


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_tells_each_exit_status_on_a_line_of_its_own(option: str) -> None:
    ran = run(option)
    assert (ran.code, ran.err) == (0, "")
    assert [line[:3] for line in ran.lines if re.match(r"\s+\d  ", line)] == ["   "] * 3
    assert "\\b" not in ran.out
    assert max(len(line) for line in ran.lines) <= 80


def test_python_m_aligncheck_is_the_command(weak: Path, folder: Path) -> None:
    ran = command(weak, *ASKED, cwd=folder)
    assert ran == run(weak, *ASKED)
    usage = command(cwd=folder)
    assert usage.code == 2
    assert usage.err.startswith("Usage: aligncheck [OPTIONS] PATH...\n")


def test_folders_are_searched_for_both_formats(folder: Path) -> None:
    data = samples.lone(samples.ptd).build().data
    for name in ("b.pte", "a.ptd", "sub/deep/C.PTE", "sub/notes.txt", "sub/weights.bin"):
        path = folder / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (folder / "models" / "folder.pte").mkdir()
    ran = run("models", "-q", "-r", "strong=4096")
    assert [line.split(":")[0] for line in ran.lines] == [
        "models/a.ptd",
        "models/b.pte",
        "models/sub/deep/C.PTE",
    ]


def test_a_file_is_audited_whatever_its_name_is(folder: Path) -> None:
    samples.lone(samples.pte).build().write(folder / "blob")
    assert run("blob", "-q", "-r", "strong=4096").code == 1


def test_a_file_that_is_given_twice_is_audited_once(weak: Path) -> None:
    assert run(weak, weak, ".", *ASKED).out.count("AC101") == 2  # weak.ptd and ./weak.ptd
    assert run(weak, weak, *ASKED).lines[-1] == "1 file, 3 entries: 1 violation"


def test_files_are_reported_in_the_order_of_their_names(folder: Path) -> None:
    for name in ("c.ptd", "a.ptd", "b.ptd"):
        samples.lone(samples.ptd).build().write(folder / name)
    ran = run("c.ptd", "a.ptd", "b.ptd", "-q", "-r", "strong=4K")
    assert [line[0] for line in ran.lines] == ["a", "b", "c"]


def test_an_empty_folder_is_said_to_be_empty(folder: Path) -> None:
    (folder / "empty").mkdir()
    expected = "0 files, 0 entries: nothing to audit\n"
    assert run("empty") == (0, expected, "aligncheck: no .pte or .ptd file found\n")


def test_a_broken_link_in_a_folder_is_an_unreadable_file(folder: Path) -> None:
    (folder / "gone.pte").symlink_to("nowhere")
    ran = run(".")
    assert ran.code == 2
    assert ran.err == "aligncheck: ./gone.pte: cannot be read: No such file or directory\n"


def test_a_path_may_start_with_a_dash_after_two_dashes(folder: Path) -> None:
    samples.lone(samples.ptd).build().write(folder / "-r.ptd")
    ran = run("-q", "-r", "strong=4K", "--", "-r.ptd")
    assert ran.code == 1
    assert ran.out.startswith("-r.ptd: AC101 ")


def test_a_key_that_nothing_answers_to_is_told(weak: Path) -> None:
    ran = run(weak, *ASKED, "-r", "vocab*=64", "-r", "typo=64")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        "aligncheck: no entry is named, or matches, vocab*",
        "aligncheck: no entry is named, or matches, typo",
    ]


def test_a_key_that_one_of_the_files_answers_to_is_not_told(weak: Path, folder: Path) -> None:
    samples.lcm(samples.ptd).build().write(folder / "other.ptd")
    assert run(weak, "other.ptd", "-r", "a=1", "-r", "weak=1").err == ""


def test_a_quiet_run_keeps_quiet_about_keys(weak: Path) -> None:
    assert run("-q", weak, "-r", "typo=64") == (0, "", "")


def test_auditing_does_not_change_the_file(folder: Path) -> None:
    built = Pte(segments=[Segment(b"1")], named=[Named("n", 0)]).build()
    path = built.write(folder / "m.pte")
    before = path.stat()
    run(path, "-v", "-r", "n=4096")
    after = path.stat()
    assert path.read_bytes() == built.data
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert [entry.name for entry in folder.iterdir()] == ["m.pte"]


def test_the_project_is_where_it_is_thought_to_be() -> None:
    assert (ROOT / "aligncheck" / "cli.py").is_file()
