"""The hooks: the real pre-commit, in a real git repository, at real commits."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest

from aligncheck import audit
from tests.support import samples
from tests.support.cli import ROOT
from tests.support.hooks import Repository, hook_source

MANIFEST = ROOT / ".pre-commit-hooks.yaml"
CONFIGURATION = '[requests]\nstrong = 256\nweak = 16\n"prefix*" = 128\n'
POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 12345\n"
)
LIGHT_CORE = {"aligncheck", "click", "colorama", "tomli"} | {
    *("rich", "markdown-it-py", "mdurl", "pygments", "typing-extensions")
}
"""The package and its dependencies, and theirs."""

Start = Callable[..., Repository]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environment that it builds once for all tests here."""
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> tuple[Path, str]:
    """The repository that the hooks come from, and the commit to take."""
    return hook_source(tmp_path_factory.mktemp("hooks"), cache)


@pytest.fixture
def start(tmp_path: Path, cache: Path, source: tuple[Path, str]) -> Start:
    """Makes a repository that uses a hook, with one commit."""

    def make(hook: str, *args: str) -> Repository:
        repository = Repository(tmp_path / "user", cache)
        folder, revision = source
        used = {"id": hook, "args": list(args), "verbose": True}
        config = {"repos": [{"repo": str(folder), "rev": revision, "hooks": [used]}]}
        write(repository, ".pre-commit-config.yaml", json.dumps(config))  # JSON is YAML, too
        write(repository, "aligncheck.toml", CONFIGURATION)
        assert repository.pre_commit("install").code == 0
        assert repository.commit().code == 0
        return repository

    return make


def write(repository: Repository, name: str, text: str) -> Path:
    path = repository.folder / name
    path.write_text(text, encoding="utf-8")
    return path


def weak_first(repository: Repository, name: str = "model.pte") -> Path:
    """A file that the configuration finds a violation in."""
    return samples.weak_first(samples.pte).build().write(repository.folder / name)


def strong_first(repository: Repository, name: str = "model.ptd") -> Path:
    """A file that it finds none in."""
    return samples.strong_first(samples.ptd).build().write(repository.folder / name)


def test_the_manifest_is_valid(start: Start) -> None:
    ran = start("aligncheck").pre_commit("validate-manifest", str(MANIFEST))
    assert (ran.code, ran.out) == (0, "")


def test_a_violation_fails_the_commit(start: Start) -> None:
    repository = start("aligncheck")
    before = weak_first(repository).read_bytes()
    ran = repository.commit()
    assert ran.code == 1
    assert "AC101" in ran.err
    assert "asked by aligncheck.toml strong=256" in " ".join(ran.err.split())
    assert repository.commits == 1
    assert (repository.folder / "model.pte").read_bytes() == before


def test_a_file_without_violations_is_committed(start: Start) -> None:
    repository = start("aligncheck")
    strong_first(repository)
    ran = repository.commit()
    assert ran.code == 0, ran.err
    assert "1 file, 3 entries: nothing violated" in ran.err
    assert repository.commits == 2


def test_all_files_of_a_commit_are_audited_in_one_run(start: Start) -> None:
    repository = start("aligncheck")
    for number in range(20):
        strong_first(repository, f"{number}.ptd")
    ran = repository.commit()
    assert "20 files, 60 entries: nothing violated" in ran.err


def test_files_of_other_kinds_do_not_start_the_hook(start: Start) -> None:
    repository = start("aligncheck")
    write(repository, "model.pte.txt", "not a model")
    ran = repository.commit()
    assert ran.code == 0
    assert "(no files to check)Skipped" in ran.err


def test_the_hook_takes_arguments(start: Start) -> None:
    repository = start("aligncheck", "-q", "--segment-alignment=4K")
    strong_first(repository)
    ran = repository.commit()
    assert ran.code == 1
    assert "model.ptd: AC104 error: segment 0 at 512 needs 4096" in ran.err


def test_a_fix_changes_the_file_and_fails_once_and_then_passes(start: Start) -> None:
    repository = start("aligncheck-fix")
    path = weak_first(repository)
    first = repository.commit()
    assert first.code == 1
    assert "files were modified by this hook" in first.err
    assert "model.pte: fixed" in first.err
    fixed = path.read_bytes()
    assert not audit(path, samples.REQUESTS).findings
    second = repository.commit()
    assert second.code == 0, second.err
    assert path.read_bytes() == fixed
    assert repository.commits == 2
    assert repository.git("status", "--porcelain") == ""


def test_a_fix_leaves_a_file_without_violations_alone(start: Start) -> None:
    repository = start("aligncheck-fix")
    path = strong_first(repository)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert repository.commit().code == 0
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


@pytest.mark.parametrize("hook", ["aligncheck", "aligncheck-fix"])
def test_a_pointer_of_git_lfs_is_told_and_passed_over(start: Start, hook: str) -> None:
    repository = start(hook)
    path = write(repository, "model.pte", POINTER)
    ran = repository.commit()
    assert ran.code == 0, ran.err
    assert "Git LFS pointer" in ran.err
    assert path.read_text(encoding="utf-8") == POINTER


def test_a_pointer_of_git_lfs_counts_if_the_hook_is_strict(start: Start) -> None:
    repository = start("aligncheck", "--strict")
    write(repository, "model.pte", POINTER)
    ran = repository.commit()
    assert ran.code == 1
    assert "Git LFS pointer" in ran.err
    assert repository.commits == 1


def test_a_pointer_of_git_lfs_hides_no_violation_of_another_file(start: Start) -> None:
    repository = start("aligncheck")
    write(repository, "fetched.pte", POINTER)
    weak_first(repository)
    ran = repository.commit()
    assert ran.code == 1
    assert "AC101" in ran.err


def test_a_file_that_cannot_be_read_fails_the_commit(start: Start) -> None:
    repository = start("aligncheck")
    write(repository, "model.pte", "this is text")
    ran = repository.commit()
    assert ran.code == 1
    assert "model.pte: is text, not a .pte or .ptd" in ran.err


def test_the_environment_that_pre_commit_builds_is_that_of_the_light_core(
    start: Start, cache: Path
) -> None:
    start("aligncheck")
    (folder,) = cache.glob("repo*/py_env-*")
    libraries = [str(path) for path in folder.glob("**/site-packages")]
    found = {str(d.name).lower().replace("_", "-") for d in distributions(path=libraries)}
    assert {"aligncheck", "click", "rich"} <= found
    assert found - LIGHT_CORE <= {"pip", "setuptools", "wheel"}
