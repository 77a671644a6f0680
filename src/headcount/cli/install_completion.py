"""`headcount --install-completion`: commands, options and files are completed with Tab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from headcount.errors import InvalidOption

if TYPE_CHECKING:
    from cyclopts import App


def installer(app: App) -> Callable[..., None]:
    """The command that installs the completion of a program."""

    def install_completion(
        *,
        shell: Annotated[
            Literal["bash", "zsh", "fish", "powershell"] | None,
            Parameter(help="The shell; by default the one that this command is typed in."),
        ] = None,
        output: Annotated[
            Path | None, Parameter(name=["-o", "--output"], help="File for the script; nothing else is then changed.")
        ] = None,
    ) -> None:
        """Install completion of commands, options and files with Tab in bash, zsh, fish or PowerShell.

        Example: headcount --install-completion --shell bash
        """
        from cyclopts.completion.detect import ShellDetectionError

        try:
            written = app.install_completion(shell=shell, output=output, add_to_startup=output is None)
        except ShellDetectionError as error:
            raise InvalidOption(
                "cannot tell which shell this is; expected --shell bash, zsh, fish or powershell"
            ) from error
        print(f"Completion is in {written}." + (" Open a new shell, and press Tab." if output is None else ""))

    return install_completion
