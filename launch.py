#!/usr/bin/env python3
"""Start the vLLM server that was asked for, or say why not. Everything is in resolver/; `launch.py --help` says what there is."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file is all that an older Python reads
    sys.exit("error: launch.py needs Python 3.11 or later; run `make setup`, then .venv/bin/python launch.py")

ROOT = os.path.dirname(os.path.realpath(__file__))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

if __name__ == "__main__":
    try:
        from resolver.cli.start import start

        start(ROOT)
    except KeyboardInterrupt:
        os._exit(130)
    except (ImportError, OSError, MemoryError) as error:
        kind = type(error).__name__
        sys.exit(
            f"error: launch.py cannot start ({kind} in {ROOT})\n  fix: see that resolver/ is whole, and raise `ulimit -n` and `ulimit -v`"
        )
