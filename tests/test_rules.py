"""The rules: the table, its page in docs/, and the checks that use the codes."""

from __future__ import annotations

import ast
import re
import shlex

import pytest

from aligncheck.report import prose
from aligncheck.report.rules import RULES, Rule
from tests.support.cli import ROOT, command

PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"(?ms)^## (.+?)\n(.*?)(?=^## |\Z)", PAGE))
EXAMPLES = re.findall(r"(?ms)^```console\n\$ aligncheck (.+?)\n(.*?)^```", PAGE)
CHECKS = ("aligncheck/audit.py", "aligncheck/structure.py")
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def codes(text: str) -> set[str]:
    return set(re.findall(r"\bAC\d{3}\b", text))


def test_codes_and_names_are_unique_and_sorted() -> None:
    assert [rule.code for rule in RULES] == sorted({rule.code for rule in RULES})
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_every_rule_has_a_section_and_every_section_a_rule() -> None:
    assert list(SECTIONS) == [rule.title for rule in RULES]


def test_every_code_that_a_check_gives_is_a_rule_and_the_other_way_round() -> None:
    given = set()
    for name in CHECKS:
        for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and re.fullmatch(r"AC\d{3}", str(node.value)):
                given.add(str(node.value))
    assert given | {"AC001"} == {rule.code for rule in RULES}


def test_the_words_for_remarks_are_those_of_the_rules_without_an_alignment() -> None:
    assert set(prose._REMARKS) == {rule.code for rule in RULES if rule.code >= "AC2"}


@every_rule
def test_a_rule_says_something(rule: Rule) -> None:
    assert rule.summary.endswith(".")
    assert rule.help.endswith(".")
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)


@every_rule
def test_a_section_has_its_four_parts_in_order(rule: Rule) -> None:
    parts = re.findall(r"(?m)^\*\*(\w+)\.\*\*", SECTIONS[rule.title])
    assert parts == ["What", "Why", "Example", "Fix"]


@every_rule
def test_the_table_in_the_page_tells_the_rule_and_leads_to_its_section(rule: Rule) -> None:
    link = f"[{rule.code}](#{slug(rule.title)})"
    assert f"| {link} | {rule.name} | {rule.level} | {rule.summary} |" in PAGE
    assert rule.anchor == slug(rule.title)


@every_rule
def test_an_example_is_of_its_own_rule(rule: Rule) -> None:
    example = SECTIONS[rule.title].partition("**Example.**")[2].partition("**Fix.**")[0]
    assert codes(example) <= {rule.code}
    assert rule.code in example or "$ aligncheck" in example


def test_the_address_of_a_rule_is_that_of_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aligncheck.report.rules.MANUAL", "https://example.org/rules.md")
    assert RULES[1].uri == "https://example.org/rules.md#ac101-named-data"


def test_without_a_manual_online_a_rule_has_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aligncheck.report.rules.MANUAL", None)
    assert RULES[1].uri is None


@pytest.mark.parametrize(("arguments", "expected"), EXAMPLES)
def test_the_commands_in_the_page_print_what_stands_there(arguments: str, expected: str) -> None:
    ran = command(*shlex.split(arguments), cwd=ROOT)
    assert ran.out + ran.err == expected


def test_the_page_has_commands() -> None:
    assert len(EXAMPLES) == 5
