"""`loadcell completion SHELL`: the script a shell needs to complete loadcell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from loadcell.cli import main
from loadcell.cli.command import argument, command
from loadcell.cli.streams import echo

_INSTALL = {
    "bash": "loadcell completion bash > ~/.local/share/bash-completion/completions/loadcell",
    "zsh": "loadcell completion zsh > a directory of $fpath, as _loadcell",
    "fish": "loadcell completion fish > ~/.config/fish/completions/loadcell.fish",
}
# A setting is completed as `load.duration=` and a directory as `plans/`; what follows does so without a
# space.
_NO_SPACE = "    if [[ ${COMPREPLY[0]} == *[=/] ]]; then compopt -o nospace; fi\n"


@command("completion")
@argument("shell", type=click.Choice(list(_INSTALL)))
def completion(shell: str) -> None:
    """Print the completion script of a shell."""
    shape = get_completion_class(shell)
    assert shape is not None
    echo(f"# {_INSTALL[shell]}")
    script = shape(main, {}, "loadcell", "_LOADCELL_COMPLETE").source()
    if shell == "bash":
        script = script.replace("    return 0\n", _NO_SPACE + "    return 0\n", 1)
    echo(script)
