"""Hand-made broken rules. The sign § stands where the error must be reported, and is taken out before the file is read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bad:
    """`file` gets `text` (bytes are written as they are); with `old`, only the first `old` in it becomes `text`."""

    id: str
    text: str | bytes
    says: str
    file: str = "rules/zz.yaml"
    old: str | None = None


GOOD = "examples: {fires: [{ctx: long}], silent: [{ctx: fast}]}"


def guard(when: str, rest: str = "") -> str:
    return f"guards:\n  zz-bad:\n    warn: words\n    when: {when}\n    {GOOD}\n{rest}"


def setting(rows: str) -> str:
    return f"settings:\n  zz_bad:\n    first:\n{rows}"


YAML = [
    Bad("duplicate-key", "settings:\n  zz: {first: [{value: 1}]}\n  §zz: {first: [{value: 2}]}\n", "duplicate key 'zz': first given on line 2"),
    Bad("duplicate-key-quoted", "settings:\n  zz: {first: [{value: 1}]}\n  §'zz': {first: [{value: 2}]}\n", "duplicate key 'zz'"),
    Bad("alias", "settings:\n  zz: {first: [{value: §*x}]}\n", "anchors and aliases are not used here"),
    Bad("anchor", "settings:\n  zz: §&x {first: [{value: 1}]}\n", "anchors and aliases are not used here"),
    Bad("tag", "settings:\n  zz: {first: [{value: §!!int 1}]}\n", "tags are not used here"),
    Bad("python-tag", "settings: §!!python/object/apply:os.system [id]\n", "tags are not used here"),
    Bad("merge-key", "settings:\n  zz:\n    §<<: {first: [{value: 1}]}\n", "merge keys are not used here"),
    Bad("tab", "settings:\n§\tzz: {first: [{value: 1}]}\n", "not valid YAML"),
    Bad("unclosed-bracket", "settings:\n  zz: {first: [{value: 1}\n§", "not valid YAML"),
    Bad("unclosed-quote", "settings:\n  zz: {help: \"abc}\n§", "not valid YAML"),
    Bad("wrong-indent", "settings:\n  zz:\n    first: [{value: 1}]\n   §help: x\n", "not valid YAML"),
    Bad("two-documents", "settings: {}\n§---\nsettings: {}\n", "not valid YAML"),
    Bad("control-character", "settings:\n  zz: §\x01\n", "not valid YAML"),
    Bad("nul", "settings:\n  zz: §\0\n", "not valid YAML"),
    Bad("not-utf-8", b"settings:\n  zz: \xff\xfe\n", "rules/zz.yaml is not UTF-8 (byte 16)"),
    Bad("utf-16", "settings: {}\n".encode("utf-16"), "is not UTF-8 (byte 0)"),
    Bad("deep-list", "settings: " + "[" * 60 + "§[" + "]" * 61, "nested more than 60 levels deep"),
    Bad("very-deep-list", "settings: " + "[" * 60 + "§[" + "[" * 4939 + "]" * 5000, "nested more than 60 levels deep"),
    Bad("key-is-a-list", "settings:\n  ? §[a, b]\n  : {first: [{value: 1}]}\n", "a key must be a word"),
    Bad("empty-file", "§", "expected a mapping, found nothing"),
    Bad("only-a-comment", "# nothing\n", "expected a mapping, found nothing"),
    Bad("list-at-the-top", "§- settings\n- guards\n", "expected a mapping, found a list"),
    Bad("text-at-the-top", "§settings\n", "expected a mapping, found text"),
]  # fmt: skip

STRUCTURE = [
    Bad("unknown-top-key", "§setings: {}\n", "unknown key 'setings'"),
    Bad("unknown-row-key", setting("      - {§vale: 1, value: 1}\n"), "settings.zz_bad.first.0: unknown key 'vale'"),
    Bad("row-without-value", setting("      - §{when: {ctx: long}}\n"), "missing key 'value'"),
    Bad("no-rows", "settings:\n  zz_bad:\n    first: §[]\n", "an empty list"),
    Bad("fraction", setting("      - {value: §1.5}\n"), "found a number"),
    Bad("huge-float", setting("      - {value: §1e400}\n"), "found a number"),
    Bad("value-is-a-list", setting("      - {value: §[1]}\n"), "found a list"),
    Bad("bad-setting-name", "settings:\n  §ZZ-Bad: {first: [{value: 1}]}\n", "'ZZ-Bad' is not a good name here"),
    Bad("number-as-name", "settings:\n  §1: {first: [{value: 1}]}\n", "'1' is not a good name here"),
    Bad("bad-origin", setting("      - {value: 1, origin: §Rule 5}\n"), "R"),
    Bad("guard-without-when", "guards:\n  zz-bad: §{warn: words}\n", "missing key 'when'"),
    Bad("when-is-text", guard("§dflash2"), "expected a mapping, found text"),
    Bad("when-is-a-list", guard("§[{ctx: long}]"), "expected a mapping, found a list"),
    Bad("reason-is-a-number", f"guards:\n  zz-bad:\n    warn: §5\n    when: {{ctx: long}}\n    {GOOD}\n", "expected text, found a whole number"),
    Bad("two-severities", f"guards:\n  §zz-bad: {{warn: a, note: b, when: {{ctx: long}}, {GOOD}}}\n", "exactly one of refuse, warn, note"),
    Bad("no-severity", f"guards:\n  §zz-bad: {{when: {{ctx: long}}, {GOOD}}}\n", "exactly one of refuse, warn, note"),
    Bad("refusal-without-a-way-out", f"guards:\n  §zz-bad: {{refuse: a, when: {{ctx: long}}, {GOOD}}}\n", "a refusal needs a way out"),
    Bad("missing-examples", "guards:\n  §zz-bad: {warn: a, when: {ctx: long}, examples: {fires: [{ctx: long}]}}\n", "missing example: silent"),
    Bad("unreachable-row", setting("      - §{value: 1}\n      - {value: 2}\n"), "rows after this one can never be reached"),
]  # fmt: skip

MEANING = [
    Bad("undefined-name", guard("{§spek: mtp}"), "nothing is called 'spek'"),
    Bad("undefined-flag", guard("{§extra.last.max_num_seq: 1}"), "nothing is called 'extra.last.max_num_seq'"),
    Bad("undefined-in-comparison", guard('{max_seqs: §"> max_sequences"}'), "nothing is called 'max_sequences'"),
    Bad("undefined-in-a-value", setting("      - {value: §= max_seqz}\n"), "nothing is called 'max_seqz'"),
    Bad("state-of-a-setting", guard("{§tensor_parallel_size: given}"), "tensor_parallel_size is not a knob, so it is never given"),
    Bad("state-of-a-fact", guard("{§wsl: unset}"), "wsl is not a knob"),
    Bad("empty-condition", guard("§{}"), "an empty condition"),
    Bad("empty-choice", guard("{ctx: §[]}"), "one of nothing"),
    Bad("null-condition", guard("{ctx: §null}"), "ctx has no value"),
    Bad("fraction-condition", guard("{max_seqs: §1.5}"), "numbers with a fraction are written as text"),
    Bad("comparison-without-blank", guard("{max_seqs: §\">7\"}"), "is not a comparison"),
    Bad("comparison-with-words", guard("{max_seqs: §\"> seven and a half\"}"), "neither a number, a version nor a name"),
    Bad("comparison-too-large", guard("{max_seqs: §\"> 99999999999999999999\"}"), "the number is too large"),
    Bad("any-of-a-mapping", guard("{any: §{ctx: long}}"), "`any` takes a list of conditions"),
    Bad("not-of-a-word", guard("{not: §long}"), "a condition is a mapping"),
    Bad("bad-name-in-condition", guard("{§\"a b\": 1}"), "'a b' is not a name"),
    Bad("mapping-as-value", guard("{ctx: §{is: long}}"), "a mapping other than {not: VALUE}"),
    Bad("empty-expression", setting("      - {value: §\"=\"}\n"), "an empty expression"),
    Bad("python-in-expression", setting("      - {value: §\"= __import__('os').system('id')\"}\n"), "not in the language"),
    Bad("true-division", setting("      - {value: §= port / 2}\n"), "an operator that the language does not have"),
    Bad("unfinished-expression", setting("      - {value: §= port +}\n"), "not an expression"),
    Bad("too-large-in-expression", setting("      - {value: §= port + 99999999999999999999}\n"), "a number too large"),
    Bad("nested-expression", setting("      - {value: §\"= " + "-" * 300 + "port\"}\n"), "nested too deep"),
    Bad("brace-without-partner", setting("      - {value: §\"= {port\"}\n"), "a brace without its partner"),
    Bad("bad-name-in-braces", setting("      - {value: §\"= {port + 1}\"}\n"), "in braces is not a name"),
    Bad("cycle", "settings:\n  §zz_a: {first: [{value: = zz_b}]}\n  zz_b: {first: [{value: = zz_a}]}\n", "zz_a -> zz_b -> zz_a"),
    Bad("cycle-with-itself", "settings:\n  §zz_a: {first: [{when: {zz_a: 1}, value: 1}]}\n", "zz_a -> zz_a"),
    Bad("setting-defined-twice", "settings:\n  §tensor_parallel_size: {first: [{value: 1}]}\n", "setting tensor_parallel_size is defined twice"),
    Bad("setting-like-a-knob", "settings:\n  §ctx: {first: [{value: x}]}\n", "ctx is defined twice"),
    Bad("setting-like-a-fact", "settings:\n  §wsl: {first: [{value: x}]}\n", "wsl is defined twice"),
    Bad("undefined-in-a-message", f"guards:\n  §zz-bad: {{warn: 'see {{max_lenn}}', when: {{ctx: long}}, {GOOD}}}\n", "nothing is called 'max_lenn'"),
    Bad("undefined-knob-instead", f"guards:\n  §zz-bad: {{refuse: a, instead: [{{ctxx: long}}], when: {{ctx: long}}, {GOOD}}}\n", "nothing is called 'ctxx'"),
]  # fmt: skip

RULES = [*YAML, *STRUCTURE, *MEANING]
