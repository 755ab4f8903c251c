"""The documentation: it shows what the program prints, names what exists, and hangs together."""

from __future__ import annotations

import json
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

import aligncheck
from aligncheck.cli import main
from aligncheck.report import REPORTS
from aligncheck.report.rules import RULES
from tests.support import cli_reference, pages, terminal, wheels
from tests.support.cli import ROOT, python
from tests.support.pages import DOCS, PAGES

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
CI = (DOCS / "ci.md").read_text(encoding="utf-8")
YAML = [
    (page.name, text)
    for page in (ROOT / "README.md", DOCS / "ci.md")
    for text in pages.fenced(page, "yaml")
]


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The page or file, and the anchor, that each link inside the project leads to."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


def loaded(text: str) -> Any:
    """A YAML document, read by the parser that pre-commit brings."""
    script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.argv[1])))"
    ran = python("-c", script, text)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def command_lines() -> Iterator[str]:
    """The calls of the program in the recipes, those that the other tests do not run."""
    for text in [*(text for _, text in YAML), *indented("ci.md")]:
        yield from re.findall(r"(?m)^[ -]*(?:run: )?(aligncheck .+)$", text)


def indented(name: str) -> list[str]:
    """The blocks of a page that are set in by four blanks: shell scripts."""
    return [
        re.sub(r"^    ", "", block, flags=re.MULTILINE)
        for block in re.findall(r"(?:^    .+\n)+", text_of(name), re.MULTILINE)
    ]


@every_page
def test_a_page_shows_what_the_program_prints(page: Path, tmp_path: Path) -> None:
    # If this fails because the program says it better now: python -m tests.support.pages
    pages.prepare(tmp_path)
    assert pages.refreshed(page, tmp_path) == page.read_text(encoding="utf-8")


def test_output_is_shown_in_many_places() -> None:
    texts = [text for page in PAGES for text in pages.fenced(page, "console")]
    assert sum(bool(step.shown) for text in texts for step in pages.steps(text)) >= 12


def test_the_command_reference_is_current() -> None:
    # If this fails: python -m tests.support.cli_reference > docs/cli.md
    assert text_of("cli.md") == cli_reference.reference()


def test_the_command_reference_names_every_option() -> None:
    options = [p for p in main.get_params(click.Context(main)) if isinstance(p, click.Option)]
    names = [name for option in options for name in option.opts]
    assert len(names) > 20
    assert [name for name in names if not re.search(rf"[`, ]{name}\b", text_of("cli.md"))] == []


def test_the_picture_in_the_readme_shows_what_a_terminal_shows() -> None:
    # If this fails: python -m tests.support.terminal > docs/terminal.svg
    shown = text_of("terminal.svg")
    words = terminal.words_of(shown)
    assert words == terminal.words_of(terminal.picture())
    assert {"AC101", "strong", "640", "fixed,"} <= set(words)


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_needs_nothing_from_elsewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<title" in text
    assert not re.search(r"https?:|<script|@import|href", text)


@every_page
def test_links_lead_to_a_heading(page: Path) -> None:
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


def test_the_index_leads_to_every_page() -> None:
    linked = {target for target, _ in links(DOCS / "index.md")}
    assert {*DOCS.glob("*.md")} - {DOCS / "index.md"} - linked == set()


@every_page
def test_a_page_has_one_title_and_lines_of_a_length_to_read(page: Path) -> None:
    prose = re.sub(r"(?ms)^```.*?^```$", "", page.read_text(encoding="utf-8"))
    assert len(re.findall(r"^# ", prose, re.MULTILINE)) == 1
    lines = [line for line in prose.splitlines() if len(line) > 110]
    assert [
        line for line in lines if not line.startswith(("|", "!", "  "))
    ] == [] or page.name == "cli.md"


def test_the_api_page_names_the_whole_api() -> None:
    words = set(re.findall(r"\w+", text_of("api.md")))
    assert set(aligncheck.__all__) - words == set()


def test_the_newest_version_in_the_changelog_is_this_one() -> None:
    versions = re.findall(r"^## (\S+)", text_of("changelog.md"), re.MULTILINE)
    assert versions[0] == aligncheck.__version__


def test_files_that_contributors_are_sent_to_exist() -> None:
    named = re.findall(r"`((?:aligncheck|tests|docs)/[\w./]*)`", text_of("contributing.md"))
    assert len(named) > 15
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_modules_that_contributors_are_to_run_exist() -> None:
    named = set(re.findall(r"python -m (tests[\w.]+)", text_of("contributing.md")))
    assert {"tests.support.matrix", "tests.support.cli_reference", "tests.data.make"} <= named
    assert [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []


def test_every_format_of_a_report_is_in_the_table_of_formats() -> None:
    table = CI.split("## Formats")[1]
    cells = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == {"text", *REPORTS}


def test_the_rules_have_a_page_that_the_index_leads_to() -> None:
    assert (DOCS / "rules.md", "") in list(links(DOCS / "index.md"))
    assert [rule.code for rule in RULES if rule.code not in text_of("rules.md")] == []


@pytest.mark.parametrize(("page", "text"), YAML)
def test_yaml_is_yaml(page: str, text: str) -> None:
    assert isinstance(loaded(text), dict), page


def test_the_configuration_for_pre_commit_is_valid_and_names_hooks_that_exist(
    tmp_path: Path,
) -> None:
    known = {hook["id"] for hook in loaded((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    configurations = [text for _, text in YAML if text.startswith("repos:")]
    assert len(configurations) == 2
    for text in configurations:
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        ran = wheels.module("pre_commit", "validate-config", path, cwd=tmp_path)
        assert (ran.code, ran.out) == (0, "")
        (repo,) = loaded(text)["repos"]
        assert repo["rev"] == f"v{aligncheck.__version__}"
        assert {hook["id"] for hook in repo["hooks"]} <= known
    assert known == set(re.findall(r"^\| `(aligncheck[\w-]*)` \|", CI, re.MULTILINE))


def test_the_calls_in_the_recipes_are_calls_that_the_program_understands() -> None:
    lines = list(command_lines())
    assert len(lines) >= 5
    for line in lines:
        main.make_context("aligncheck", shlex.split(line)[1:])


def test_the_shell_script_fixes_and_then_passes(tmp_path: Path) -> None:
    (script,) = [text for text in indented("ci.md") if text.startswith("set -e")]
    pages.prepare(tmp_path)
    (tmp_path / "aligncheck.toml").write_text("[requests]\nstrong = 256\n", encoding="ascii")
    program = tmp_path / "bin" / "aligncheck"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m aligncheck "$@"\n', encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    ran = subprocess.run(
        ["bash", "-c", script],
        check=False,
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        env={"PATH": f"{program.parent}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "build/model.pte: fixed" in ran.stdout
    assert (tmp_path / "SHA256SUMS").stat().st_size


def test_toml_is_a_configuration_that_the_program_takes(tmp_path: Path) -> None:
    blocks = pages.fenced(DOCS / "requests.md", "toml")
    assert len(blocks) == 2
    pages.prepare(tmp_path)
    for text in blocks:
        name = "pyproject.toml" if "[tool." in text else "aligncheck.toml"
        (tmp_path / name).write_text(text, encoding="utf-8")
        ran = pages.execute(f"aligncheck --config {name} -q build/model.pte", tmp_path)
        assert (ran.code, ran.err) == (1, "")
        assert f"asked by {name} strong=256" in ran.out


@pytest.mark.exporter
def test_the_sources_of_the_format_page_are_where_it_says() -> None:
    from tests.exporter.upstream import executorch_folder

    named = set(re.findall(r"`([\w/]+\.(?:py|fbs))`", text_of("format.md")))
    assert {"schema/program.fbs", "exir/capture/_config.py"} <= named
    folder = executorch_folder()
    shipped = {path.name for path in folder.rglob("*.fbs")}
    for name in named:
        assert (folder / name).exists() or Path(name).name in shipped, name
