"""`launch.py completion SHELL`: the completion script of bash, zsh or fish."""

from __future__ import annotations

import os
import sys
from shlex import quote

from resolver.cli.options import Line
from resolver.cli.start import OK, put
from resolver.diagnostics import UsageError

BASH = """\
# Completion of launch.py for bash. Put this into ~/.bashrc:  source <({ask} completion bash)
_launch_py() {
    local line="${COMP_LINE:0:COMP_POINT}" current words reply
    current="${line##*[[:space:]]}"
    read -r -a words <<< "${line%"$current"}"
    COMPREPLY=()
    while IFS=$'\\t' read -r reply _; do
        [[ $current == *=* ]] && reply="${reply#"${current%"${current##*=}"}"}"
        [[ $reply == *= ]] || reply="$reply "
        COMPREPLY+=("$reply")
    done < <({ask} complete -- "${words[@]:1}" "$current" 2>/dev/null)
}
complete -o nospace -F _launch_py launch.py ./launch.py
"""
ZSH = """\
#compdef launch.py
# Completion of launch.py for zsh. Put this into ~/.zshrc, behind compinit:  source <({ask} completion zsh)
_launch_py() {
    local -a plain open
    local word help
    while IFS=$'\\t' read -r word help; do
        if [[ $word == *= ]]; then open+=("${word//:/\\\\:}:$help"); else plain+=("${word//:/\\\\:}:$help"); fi
    done < <({ask} complete -- "${(@)words[2,CURRENT-1]}" "${words[CURRENT]}" 2>/dev/null)
    (( $#plain )) && _describe 'launch.py' plain
    (( $#open )) && _describe 'knob' open -S ''
    _files
}
compdef _launch_py launch.py
"""
FISH = """\
# Completion of launch.py for fish. Put this into ~/.config/fish/completions/launch.py.fish
complete -c launch.py -f -a '({ask} complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def run(line: Line) -> int:
    """Print the script. Raises UsageError for a shell that has none."""
    shell = line.words[1][0] if len(line.words) > 1 else os.path.basename(os.environ.get("SHELL", ""))
    if shell not in SCRIPTS:
        raise UsageError(f"there is no completion for {shell or 'this shell'}", f"name one of {', '.join(SCRIPTS)}")
    put(script(shell))
    return OK


def script(shell: str) -> str:
    """The script of a shell; it asks this Python and this launch.py."""
    from resolver.compile import product_root

    ask = f"{quote(sys.executable or 'python3')} {quote(str(product_root() / 'launch.py'))}"
    return SCRIPTS[shell].replace("{ask}", ask)
