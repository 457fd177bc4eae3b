"""The launch as text for other programs: argv, a shell line, variables."""

from __future__ import annotations

from shlex import quote

from resolver.masking import mask
from resolver.resolution import Resolution
from resolver.views.result import engine_bin


def argv_lines(resolution: Resolution) -> str:
    """One word a line, keys masked; a line break inside a word is shown as a space (no word of the launcher's own has one)."""
    return "".join(word.replace("\n", " ") + "\n" for word in mask(resolution.argv))


def shell_words(resolution: Resolution) -> list[str]:
    """Environment and command as quoted words for a POSIX shell. The key of api_key.txt is read by the shell, not shown."""
    words = ["env"]
    for name in resolution.rendered.unset_variables:
        words.append(f"-u {quote(name)}")
    words += [f"{name}={quote(value)}" for name, value in resolution.set_variables.items()]
    words.append(f'PATH={quote(engine_bin(resolution))}:"$PATH"')
    if resolution.setting("api_key_source") == "api_key.txt":
        words.append('VLLM_API_KEY="$(cat api_key.txt)"')
    return words + [quote(word) for word in mask(resolution.argv)]


def shell_line(resolution: Resolution) -> str:
    """One line to paste: folder, environment, command."""
    return f"cd {quote(str(resolution.resolver.root))} && {' '.join(shell_words(resolution))}\n"


def env_lines(resolution: Resolution) -> str:
    """The variables that differ from the caller's, as `--env-file` reads them; removed ones as comments."""
    lines = [f"{name}={_env_quote(value)}" for name, value in sorted(resolution.set_variables.items())]
    lines += [f"# removed: {name}" for name in resolution.rendered.unset_variables]
    lines.append(f"# first on PATH: {engine_bin(resolution)}")
    if resolution.setting("api_key_source") == "api_key.txt":
        lines.append("# VLLM_API_KEY: read from api_key.txt when the engine is started")
    return "".join(line.replace("\n", " ") + "\n" for line in lines)


def _env_quote(value: str) -> str:
    """A value as a line of an env file, for this product and for a shell alike."""
    if "'" not in value:
        return f"'{value}'"
    escaped = "".join(f"\\{c}" if c in '\\"$`' else c for c in value)
    return f'"{escaped}"'
