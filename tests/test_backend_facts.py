"""What is known of backends: the tables, the page about them, and upstream's own numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aligncheck.requests.backend_facts import FACTS, Fact
from aligncheck.requests.declared import check_alignment
from aligncheck.requests.target_facts import TARGETS, Target
from tests.exporter.upstream import executorch_folder

PAGE = (Path(__file__).parent.parent / "docs" / "backends.md").read_text(encoding="utf-8")
SILENT = "ask for nothing"
STRENGTHS = {"error": "enforced", "warning": "asked"}

each_fact = pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.backend)
each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def sources(row: Fact | Target) -> list[str]:
    return row.source.split(", ")


def test_a_backend_has_one_row() -> None:
    ids = [fact.backend for fact in FACTS]
    assert ids == sorted(set(ids))


@each_fact
def test_a_fact_is_about_something(fact: Fact) -> None:
    alignments = [number for number in (fact.payload, fact.named_data) if number is not None]
    assert alignments
    assert [check_alignment(number) for number in alignments] == alignments
    assert 1 not in alignments, "a backend that asks for nothing is not in the table"


@each_fact
def test_a_level_is_of_something(fact: Fact) -> None:
    for alignment, level in (
        (fact.payload, fact.payload_level),
        (fact.named_data, fact.named_data_level),
    ):
        assert alignment is not None or level == "warning"


@each_fact
def test_a_fact_says_where_it_is_from(fact: Fact) -> None:
    assert re.fullmatch(r"\d+\.\d+", fact.since)
    assert fact.note
    assert all(re.fullmatch(r"([\w-]+/[\w-]+: )?[\w./-]+\.(py|h|cpp)", s) for s in sources(fact))


def test_targets_have_names_of_their_own() -> None:
    assert len({target.name for target in TARGETS}) == len(TARGETS)


@each_target
def test_a_target_says_what_it_is(target: Target) -> None:
    assert check_alignment(target.alignment) == target.alignment > 1
    assert target.meaning
    assert all("." in source for source in sources(target))


def test_the_target_of_a_backend_is_what_is_known_of_it() -> None:
    known = {fact.backend: fact.payload for fact in FACTS}
    meant = [target for target in TARGETS if target.backend]
    assert meant
    assert all(known[target.backend] == target.alignment for target in meant if target.backend)


def rows(title: str) -> list[str]:
    """The lines of the table under a title of the page, without the head."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def row(*cells: str) -> str:
    return re.sub(" +", " ", f"| {' | '.join(cells)} |")


def listed(named: Fact | Target) -> str:
    return ", ".join(f"`{source}`" for source in sources(named))


def strength(alignment: int | None, level: str) -> str:
    return "" if alignment is None else f"{alignment}, {STRENGTHS[level]}"


def test_the_page_lists_all_facts() -> None:
    assert rows("What backends ask") == [
        row(
            f"`{fact.backend}`",
            strength(fact.payload, fact.payload_level),
            strength(fact.named_data, fact.named_data_level),
            fact.since,
            listed(fact),
            fact.note,
        )
        for fact in FACTS
    ]


def test_the_page_lists_all_targets() -> None:
    assert rows("Targets") == [
        row(
            f"`{target.name}`",
            str(target.alignment),
            f"`{target.backend}` payloads" if target.backend else "every segment that holds data",
            target.meaning,
            listed(target),
        )
        for target in TARGETS
    ]


def silent() -> set[str]:
    """The backends that the page says ask for nothing."""
    (paragraph,) = (text for text in PAGE.split("\n\n") if SILENT in text)
    return set(re.findall(r"`(\w+)`", paragraph))


def test_a_backend_that_asks_for_nothing_has_no_row() -> None:
    assert silent()
    assert not silent() & {fact.backend for fact in FACTS}


@pytest.mark.exporter
def test_every_backend_that_upstream_ships_is_on_the_page() -> None:
    # A new backend is to be looked at: what does it ask for?
    folder = executorch_folder() / "backends"
    declaration = re.compile(r"^class (\w+)\(.*\bBackendDetails\)", re.MULTILINE)
    shipped = {
        name
        for path in folder.rglob("*.py")
        if not {"test", "tests", "example"} & set(path.relative_to(folder).parts)
        for name in declaration.findall(path.read_text("utf-8"))
    }
    assert {"XnnpackBackend", "VulkanBackend", "QnnBackend"} <= shipped
    assert shipped <= silent() | {fact.backend for fact in FACTS}


@pytest.mark.exporter
@each_fact
def test_a_source_is_where_the_fact_says(fact: Fact) -> None:
    # The wheel has no C++.
    for source in sources(fact):
        if source.startswith("backends/") and source.endswith(".py"):
            assert (executorch_folder() / source).is_file(), source


@pytest.mark.exporter
@pytest.mark.parametrize(
    ("backend", "source", "number"),
    [
        ("CoreAIBackend", "apple/coreai/compiler/preprocess.py", r"^_ASSET_ALIGNMENT = (\d+)$"),
        ("EthosUBackend", "arm/arm_vela.py", r"^_BLOCK_ALIGNMENT = (\d+)$"),
        ("MLXBackend", "mlx/builder/program_builder.py", r"\balignment=(\d+)\b"),
        ("NeutronBackend", "nxp/nxp_backend.py", r"^ +ALIGNMENT = (\d+)$"),
        ("VulkanBackend", "vulkan/serialization/vulkan_graph_builder.py", r"\balignment=(\d+)\b"),
        (
            "XnnpackBackend",
            "xnnpack/serialization/xnnpack_graph_serialize.py",
            r"^CONSTANT_TENSOR_ALIGNMENT = (\d+)$",
        ),
    ],
)
def test_the_number_is_upstreams(backend: str, source: str, number: str) -> None:
    (fact,) = (fact for fact in FACTS if fact.backend == backend)
    text = (executorch_folder() / "backends" / source).read_text("utf-8")
    found = {int(digits) for digits in re.findall(number, text, re.MULTILINE)}
    assert found == {fact.payload, fact.named_data} - {None}
