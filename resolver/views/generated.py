"""Pages that are made from data: written, or with --check compared with what stands in the repository."""

from __future__ import annotations

from pathlib import Path


def put_page(root: Path, page: str, text: str, module: str, arguments: list[str]) -> int:
    """Write `text` to `page` below `root`; with --check say whether it stands there already: 1 when it does not.

    `module` is what a reader runs to renew the page.
    """
    path = root / page
    if "--check" in arguments:
        fresh = path.is_file() and path.read_text(encoding="utf-8") == text
        print(f"{page} is {'up to date' if fresh else f'out of date: run python -m {module}'}")
        return 0 if fresh else 1
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"wrote {page}")
    return 0
