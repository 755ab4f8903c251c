"""The command line: what there is to say. What is done about it is in command.py.

Only what the options need is imported here, so that `--version` and completion start at once.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from aligncheck.report import REPORTS
from aligncheck.requests.target_facts import TARGETS
from aligncheck.version import __version__

_GROUPS = {
    "Requests": (
        *("requirements", "segment_alignment", "targets"),
        *("request_files", "no_sidecar", "config", "isolated"),
    ),
    "Report": ("report", "output_file", "quiet", "verbose"),
    "Fixing": ("fix", "diff", "output", "output_dir"),
    "Exit status": ("strict", "exit_zero", "exit_non_zero_on_fix", "allow_lfs_pointers"),
}


class _Grouped(click.Command):
    """A command whose help shows its options in groups."""

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except KeyboardInterrupt:  # click would exit with 1, which says that data is misaligned
            sys.exit(130)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        rest = {option.name: option.get_help_record(ctx) for option in options}
        for title, names in _GROUPS.items():
            self._section(formatter, title, [rest.pop(name) for name in names])
        self._section(formatter, "Other", list(rest.values()))

    @staticmethod
    def _section(
        formatter: click.HelpFormatter, title: str, records: list[tuple[str, str] | None]
    ) -> None:
        with formatter.section(title):
            formatter.write_dl([record for record in records if record is not None])


@click.command(cls=_Grouped, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "-r",
    "--require",
    "requirements",
    metavar="KEY=BYTES",
    multiple=True,
    help="Ask for an alignment of the entry named KEY, or of all that match it. Repeatable.",
)
@click.option(
    "-s",
    "--segment-alignment",
    metavar="BYTES",
    help="Ask for an alignment of every segment that holds data.",
)
@click.option(
    "--target",
    "targets",
    type=click.Choice([target.name for target in TARGETS]),
    multiple=True,
    help="Ask for what a platform wants. Repeatable. "
    + "; ".join(f"{t.name}: {t.meaning} ({t.alignment} bytes)" for t in TARGETS),
)
@click.option(
    "--requests",
    "request_files",
    metavar="FILE",
    type=click.Path(),
    multiple=True,
    help="Take recorded requests from FILE too. Repeatable.",
)
@click.option("--no-sidecar", is_flag=True, help="Ignore FILE.align.json beside FILE.")
@click.option(
    "--config", metavar="FILE", type=click.Path(), help="Use this configuration for all files."
)
@click.option("--isolated", is_flag=True, help="Ignore all configuration.")
@click.option(
    "-f",
    "--format",
    "report",
    type=click.Choice(["text", *REPORTS]),
    default="text",
    show_default=True,
    help="How to report.",
)
@click.option("--output-file", metavar="FILE", type=click.Path(), help="Write the report here.")
@click.option("--fix", is_flag=True, help="Rewrite the files so that all requests are met.")
@click.option("--diff", is_flag=True, help="Show what --fix would move, and write nothing.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(),
    help="With --fix: write the one file's copy here.",
)
@click.option(
    "--output-dir",
    metavar="DIR",
    type=click.Path(),
    help="With --fix: write all files' copies here.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print violations only, one line each.")
@click.option("-v", "--verbose", is_flag=True, help="Print every entry and the file's layout.")
@click.option(
    "--allow-lfs-pointers",
    is_flag=True,
    help="Pass over Git LFS pointers that were not fetched, unless --strict.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 also for warnings.")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 also if something is violated.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if a file was fixed.")
@click.version_option(__version__, message="%(prog)s %(version)s")
def main(**options: Any) -> None:
    """Report data in ExecuTorch .pte and .ptd files that is not aligned as it was asked to be.

    PATH is a file, or a folder that is searched for *.pte and *.ptd. BYTES is a number such as
    256, 0x100, 4K, 16KiB or 1MiB, up to 1 GiB.

    \b
    Examples:
      aligncheck model.pte weights.ptd           what formats and backends need
      aligncheck -r 'npu.*=4K' model.pte         a request, by name or glob
      aligncheck --diff -s 16KiB build/          what a fix would move
      aligncheck --fix --target ios model.pte    fix the file in place

    \b
    Exit status:
      0  nothing is violated, or nothing any more after --fix
      1  something is violated; with --diff, something would change
      2  bad usage, or a file that could not be audited or fixed
    """
    from aligncheck.command import Options, execute

    sys.exit(execute(Options(**options)))
