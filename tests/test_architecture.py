"""How the package hangs together: which module may use which, and what else each may touch.

A new module fails here until it is given its place.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import ROOT

PACKAGE = ROOT / "aligncheck"
LAYERS = (
    # Pure: what is known, what follows from it, and how it is told.
    *("version", "errors", "model", "structure"),
    *("plan.congruence", "plan.constant_layout", "plan.blocks", "plan"),
    *("outcome", "report", "report.prose", "report.layout", "report.rules"),
    *("report.markup", "report.picture.shapes", "report.picture.states", "report.picture.rows"),
    *("report.picture.table", "report.picture.strip", "report.picture.closeup", "report.picture"),
    *("report.svg", "report.html"),
    *("report.json_v1", "report.jsonl", "report.junit", "report.sarif", "report.github"),
    *("report.quiet", "report.text", "report.progress"),
    # Reading.
    "garbage",
    *(
        "formats.source",
        "formats.flatbuffer",
        "formats.tables",
        "formats.columns",
        "formats.layout",
    ),
    *("formats.payloads.header", "formats.payloads.vulkan", "formats.payloads.xnnpack"),
    *("formats.payloads", "formats.foreign", "formats.pte_schema", "formats.pte", "formats.ptd"),
    "formats",
    *("requests", "requests.declared", "requests.format_rules", "requests.backend_facts"),
    *(
        "requests.backends",
        "requests.sidecar",
        "requests.config",
        "requests.pairing",
        "requests.sources",
    ),
    *("requests.target_facts", "requests.targets"),
    "audit",
    # Writing.
    *(
        "rewrite.copying",
        "rewrite.following",
        "rewrite.temporary",
        "rewrite.verify",
        "rewrite",
        "record",
    ),
    # The command.
    *("paths", "run", "__init__", "command", "cli", "__main__"),
)
"""A module may import those above it."""

THIRD_PARTIES = {
    "click": {"cli", "command"},
    "executorch": {"record"},
    "rich": {"report.text", "report.progress"},
    "tomli": {"requests.config"},
    "tomllib": {"requests.config"},  # not yet in the standard library of 3.10
}
"""Which modules may use which packages. Among the rest are numpy, torch and
flatbuffers: none may."""

WRITERS = {"rewrite", "rewrite.copying", "rewrite.temporary", "record"}
WRITES_A_LITTLE = {
    "command": {"O_WRONLY"},  # the null device in the place of a closed pipe, and --output-file
    "run": {"makedirs"},  # for --output-dir
}


def path_of(module: str) -> Path:
    base = PACKAGE.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = sorted(name_of(path) for path in PACKAGE.rglob("*.py"))
every_module = pytest.mark.parametrize("module", MODULES)


def nodes(module: str) -> Iterator[ast.AST]:
    """All of a module's syntax, also inside of functions and of `if TYPE_CHECKING`."""
    return ast.walk(ast.parse(path_of(module).read_text(encoding="utf-8")))


def imports(module: str) -> Iterator[str]:
    """Dotted names of what a module imports: modules, or values of modules."""
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def packages(module: str) -> set[str]:
    """The outermost packages that a module imports from."""
    return {name.partition(".")[0] for name in imports(module)}


def own_imports(module: str) -> set[str]:
    """The modules of this package that a module imports."""
    names = (name for name in imports(module) if name.partition(".")[0] == "aligncheck")
    return {owner_of(name.removeprefix("aligncheck").removeprefix(".")) for name in names}


def owner_of(name: str) -> str:
    """The module that a name stands for or, where it is a value, that it comes from."""
    if name in MODULES:
        return name
    return name.rpartition(".")[0] or "__init__"


def used_names(module: str) -> set[str]:
    """Names after a dot, and those of functions that are called."""
    found = set()
    for node in nodes(module):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
    return found


def test_every_module_has_its_place_and_every_place_a_module() -> None:
    assert sorted(LAYERS) == MODULES


@every_module
def test_a_module_imports_only_from_above_it(module: str) -> None:
    above = LAYERS[: LAYERS.index(module)]
    assert own_imports(module) <= set(above)


@every_module
def test_a_module_uses_only_the_packages_that_it_may(module: str) -> None:
    others = packages(module) - sys.stdlib_module_names - {"aligncheck"}
    assert others <= {name for name, users in THIRD_PARTIES.items() if module in users}


def test_each_package_that_a_module_may_use_is_used() -> None:
    for name, users in THIRD_PARTIES.items():
        for module in users - {"record"}:  # which imports executorch by its name, while it runs
            assert name in packages(module), (name, module)


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("report")])
def test_reports_reach_neither_files_nor_fixes(module: str) -> None:
    first = {name.partition(".")[0] for name in own_imports(module)}
    assert first <= {"version", "model", "plan", "outcome", "report"}


@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("plan")])
def test_a_plan_is_pure(module: str) -> None:
    assert not {"os", "io", "pathlib", "tempfile"} & packages(module)
    assert {name.partition(".")[0] for name in own_imports(module)} <= {"model", "plan"}


WRITING = {
    *("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND", "write_text", "write_bytes", "touch"),
    *("open", "fdopen", "mkstemp", "NamedTemporaryFile", "TemporaryFile", "mkdir", "makedirs"),
    *(
        "rename",
        "unlink",
        "remove",
        "rmdir",
        "truncate",
        "ftruncate",
        "pwrite",
        "copyfile",
        "symlink",
    ),
}
"""Names with which files are opened for writing, made, changed or removed."""


def writing_names(module: str) -> set[str]:
    """Those that a module uses. `os.open` alone reads; the flags beside it tell."""
    found = used_names(module) & WRITING
    return found - {"open"} if module == "formats.source" else found


@every_module
def test_only_a_fix_and_a_recording_write_files(module: str) -> None:
    if module in WRITERS:
        assert writing_names(module) | used_names(module) & {"write"}
    else:
        assert writing_names(module) - {"open"} <= WRITES_A_LITTLE.get(module, set())


@every_module
def test_files_are_opened_for_reading_in_one_module(module: str) -> None:
    opens = "open" in used_names(module)
    assert opens == (module in {"formats.source", "rewrite.temporary", "record", "command"})


@every_module
def test_a_function_is_short_and_a_module_is_of_a_size_to_read(module: str) -> None:
    lines = path_of(module).read_text(encoding="utf-8").count("\n")
    assert lines <= 300
    for node in nodes(module):
        if isinstance(node, ast.FunctionDef):
            body = (node.end_lineno or 0) - node.body[0].lineno + 1
            assert body <= 50, node.name
