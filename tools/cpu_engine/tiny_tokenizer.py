"""What tokenizer does the tiny model use? One token a byte, plus the special tokens that Qwen's parsers look up."""

from __future__ import annotations

import json

ENDOFTEXT, IM_START, IM_END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
# The reasoning parser looks for the think tags and the tool parser for the tool tags: without them the engine does
# not start with `--reasoning-parser qwen3` or `--tool-call-parser qwen3_coder`.
SPECIAL = (ENDOFTEXT, IM_START, IM_END)
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")

# Roles, tools, earlier tool calls and their answers, written the way the Qwen coder models write them.
CHAT_TEMPLATE = """\
{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n<tools>' }}
{%- for tool in tools %}{{- '\\n' + (tool | tojson) }}{%- endfor %}
{{- '\\n</tools>\\nCall one like this:\\n<tool_call>\\n<function=NAME>\\n<parameter=KEY>\\nVALUE\\n</parameter>\\n' }}
{{- '</function>\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'system' and tools and loop.first %}
{%- elif message.role == 'tool' %}
{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
{%- elif message.role == 'assistant' and message.tool_calls %}
{{- '<|im_start|>assistant\\n' + (message.content or '') }}
{%- for call in message.tool_calls %}
{%- set function = call.function or call %}
{{- '<tool_call>\\n<function=' + function.name + '>\\n' }}
{%- if function.arguments is mapping %}
{%- for key, value in function.arguments.items() %}
{{- '<parameter=' + key + '>\\n' + (value if value is string else value | tojson) + '\\n</parameter>\\n' }}
{%- endfor %}
{%- else %}{{- function.arguments }}{%- endif %}
{{- '</function>\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}
"""


def byte_alphabet() -> list[str]:
    """Return the 256 characters that stand for the 256 bytes, in byte order (GPT-2's printable mapping)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters: list[str] = []
    shifted = 0
    for byte in range(256):
        if byte in printable:
            letters.append(chr(byte))
        else:
            letters.append(chr(256 + shifted))
            shifted += 1
    return letters


def vocabulary_size() -> int:
    """Return the number of tokens: 256 bytes and the special ones."""
    return 256 + len(SPECIAL) + len(TAGS)


def token_id(token: str) -> int:
    """Return the id of a special token.

    Raises:
        ValueError: it is not one of the special tokens.
    """
    return 256 + (SPECIAL + TAGS).index(token)


def files() -> dict[str, str]:
    """Return file name -> text of the tokenizer's files."""
    added = [
        {
            "id": 256 + place,
            "content": token,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": token in SPECIAL,
        }
        for place, token in enumerate(SPECIAL + TAGS)
    ]
    tokenizer: dict[str, object] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {letter: byte for byte, letter in enumerate(byte_alphabet())},
            "merges": [],
        },
    }
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1_000_000,
        "eos_token": IM_END,
        "pad_token": ENDOFTEXT,
        "added_tokens_decoder": {
            str(entry["id"]): {key: value for key, value in entry.items() if key != "id"} for entry in added
        },
    }
    return {
        "tokenizer.json": json.dumps(tokenizer, indent=1, ensure_ascii=True) + "\n",
        "tokenizer_config.json": json.dumps(settings, indent=1, ensure_ascii=True) + "\n",
        "chat_template.jinja": CHAT_TEMPLATE,
    }
