"""The commands of the documents that the tests do not run, each with the reason. The tests hold the list against the documents."""

GPU = "needs a GPU, an engine for it and weights"
WHOLE = "is what runs these tests, or takes minutes and the network; CI runs it"
SERVER = "needs a server that runs; tests/serving and tests/measure have one"
SYSTEM = "changes the system"
GIT = "needs the history of the repository; tests/check runs it"
ELSEWHERE = "takes minutes; tests/check runs what it consists of"

LEFT_OUT: dict[str, str] = {
    "make run": WHOLE,
    "make test": WHOLE,
    "make setup": WHOLE,
    "make kernels-test": WHOLE,
    "make fuzz MINUTES=10": "takes as long as it says; tests/matrix runs what it consists of",
    "make reference": "writes the pages that tests/docs/test_reference.py compares",
    ". .venv/bin/activate": "the tests run in that environment",
    "python launch.py --profile dflash2-long": GPU,
    "python launch.py serve --profile dflash2-long": GPU,
    "python launch.py serve --profile mtp-fast": GPU,
    "python launch.py serve --profile mtp-long": GPU,
    "python launch.py serve --switch --profile mtp-long": GPU,
    "python launch.py accept --profile dflash2-long": GPU,
    "python launch.py serve --profile mtp-fast --once --ask Hello": GPU,
    "python launch.py serve --profile cpu-tiny": "needs the CPU engine and boots for half a minute; tests/serving does it",
    "python launch.py matrix --html matrix.html": "takes a minute; tests/docs/test_matrix_page.py writes such pages and asks them",
    "python launch.py fit --profile mtp-fast": GPU,
    "python launch.py serve --profile mtp-long ATTENTION_BACKEND=FLEX_ATTENTION": GPU,
    "python launch.py figures --arm mtp-long-flashinfer-fp8 --plot speed.svg": "needs matplotlib; tests/views draws",
    "python launch.py explain ID": "ID stands for a rule",
    "python3 -m venv venv": "would hide that no engine is there",
    "venv/bin/python -m pip install vllm==0.31.0": "downloads gigabytes",
    "venv/bin/hf download OWNER/NAME --local-dir models/Qwen3.8-27B-W4A16-AutoRound": "downloads gigabytes",
    "python launch.py check --equivalent HEAD": GIT,
    "python launch.py check --equivalent HEAD~1": GIT,
    "python -m tests.check.coverage": ELSEWHERE,
    "python -m tests.check.mutation": ELSEWHERE,
    "python -m tests.check.pin": ELSEWHERE,
    "python -m tools.export_rules": ELSEWHERE,
    "sudo systemctl daemon-reload": SYSTEM,
    "sudo systemctl enable --now vllm": SYSTEM,
}
"""Command, as the documents have it, to the reason."""
LEFT_OUT_BY_START: dict[str, str] = {
    "python launch.py --profile mtp-fast TENSOR_PARALLEL_SIZE=2": GPU,
    "python launch.py measure": SERVER,
    "python launch.py figures --ledger figures.jsonl": "needs a ledger that `measure` wrote; tests/evidence makes one",
    "curl -s http://127.0.0.1:18020/": SERVER,
    "python launch.py resolve --profile mtp-fast --format systemd | sudo": SYSTEM,
}
"""The same for commands that are long: how they begin."""


def reason(command: str) -> str | None:
    """Why a command is not run; None when it is."""
    return LEFT_OUT.get(command) or next(
        (why for start, why in LEFT_OUT_BY_START.items() if command.startswith(start)), None
    )
