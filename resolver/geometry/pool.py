"""The pool: from a setup to every number of it, each with its formula. What is not known of the pool leaves those numbers out."""

from __future__ import annotations

from resolver.geometry.bits import ceil_div, state_bytes, stock_group, token_bytes
from resolver.geometry.shapes import NoGeometry, Setup
from resolver.geometry.sheet import Sheet

ALIGN = 16
"""Tokens that a block is a multiple of. Source: vLLM 0.31, attention backends on CUDA."""
PLAIN_BLOCK = 16
MOST_DRAFTS, LARGEST = 10**6, 10**15
"""Beyond these nothing is counted: they are slips of the keyboard."""
SHORT = 1024
"""Tokens of the short request that the lower count of residents assumes. Source: rule R86."""


def numbers(setup: Setup) -> Sheet:
    """All numbers of a setup. Raises NoGeometry where no formula holds."""
    _check(setup)
    sheet = Sheet()
    _inputs(setup, sheet)
    _block(setup, sheet)
    _groups(setup, sheet)
    _request(setup, sheet)
    if setup.pool_bytes is not None:
        _pool(setup, sheet)
    return sheet


def _check(setup: Setup) -> None:
    """Only what an engine could start with has numbers."""
    shape = setup.shape
    recurrent, drafter = shape.recurrent, shape.drafter
    positive = [setup.max_model_len, setup.tensor_parallel, setup.batched_tokens, setup.state_bytes]
    positive += [1 if setup.block is None else setup.block, shape.attention.kv_heads, shape.attention.head_size]
    positive += [recurrent.conv_channels, recurrent.conv_kernel, recurrent.elements] if recurrent else []
    positive += [drafter.layers, drafter.kv_heads, drafter.head_size] if drafter else []
    layers = shape.attention.layers + (recurrent.layers if recurrent else 0)
    if min(positive) < 1 or layers < 1 or setup.drafts < 0 or setup.drafts > MOST_DRAFTS or max(positive) > LARGEST:
        raise NoGeometry(
            "a length, size or count of it is out of all bounds", "give a number that an engine could start with"
        )


def _inputs(setup: Setup, sheet: Sheet) -> None:
    if setup.drafter == "dflash" and setup.shape.drafter is None:
        raise NoGeometry(
            "the shape of the drafter is not known", "use the drafter that ships, or leave out the pool's numbers"
        )
    if setup.grouping == "packed" and setup.format.tile > 1:
        raise NoGeometry("a packed grouping of a tiled cache was never derived")
    sheet.given("max_model_len", setup.max_model_len, "tokens", "the longest request")
    sheet.given("drafts", setup.drafts, "tokens", "draft tokens a step")
    sheet.given("gpus", setup.tensor_parallel, "GPUs", "GPUs that share each layer")


def _block(setup: Setup, sheet: Sheet) -> None:
    shape, tp = setup.shape, setup.tensor_parallel
    form = setup.format
    target = sheet.given(
        "target_bytes", token_bytes(form, shape.attention, tp), "bytes", f"one token of one layer, {form.name}"
    )
    drafter = target
    if setup.drafter == "dflash" and shape.drafter is not None and form.drafter_block is None:
        drafter = token_bytes(form, shape.drafter, tp)
    sheet.given("drafter_bytes", drafter, "bytes", "one token of one layer of the drafter, or as the target's")
    align = sheet.given("align", max(ALIGN, form.tile, setup.block or 0), "tokens", "a block is a multiple of this")
    if shape.recurrent is None:
        sheet.given("block", setup.block or PLAIN_BLOCK, "tokens", "the engine's default, or --block-size")
        return
    r = shape.recurrent
    sheet.given("conv_channels", r.conv_channels // tp, "channels", "channels of the convolution on one GPU")
    sheet.given("conv_kernel", r.conv_kernel, "tokens", "width of the convolution")
    sheet.given("state_elements", r.elements // tp, "elements", "recurrent state of one layer on one GPU")
    sheet.given("element_bytes", setup.state_bytes, "bytes", "one element of the state")
    state = sheet.put(
        "state_bytes",
        state_bytes(r, setup.drafts, setup.state_bytes, tp),
        "bytes",
        "conv_channels * 2 * (conv_kernel - 1 + drafts) + state_elements * element_bytes",
        "one layer and request",
    )
    sheet.put(
        "block",
        align * ceil_div(state, align * target),
        "tokens",
        "align * ceil_div(state_bytes, align * target_bytes)",
        "raised until a state fits into a block of one layer",
    )


def _groups(setup: Setup, sheet: Sheet) -> None:
    shape = setup.shape
    mtp = shape.mtp_layers if setup.drafter == "mtp" else 0
    layers = sheet.given(
        "attention_layers", shape.attention.layers + mtp, "layers", "with the MTP module's, if it drafts"
    )
    states = sheet.given("state_layers", shape.recurrent.layers if shape.recurrent else 0, "layers", "")
    drafting = shape.drafter.layers if setup.drafter == "dflash" and shape.drafter else 0
    sheet.given("drafter_layers", drafting, "layers", "")
    kinds = [n for n in (layers, states, drafting) if n]
    if setup.grouping == "packed":
        group, why = max(layers, drafting), "block-outermost layout: derived from code, not booted"
    elif setup.grouping == "patched" and drafting and shape.patched_group:
        group, why = shape.patched_group, "the patched engine pads the drafter's group"
    else:
        group = kinds[0] if len(kinds) == 1 else stock_group(kinds)
        why = "the smallest kind of layers; the largest where it is less than half as many again"
    sheet.given("group", group, "layers", why)
    sheet.put("attention_groups", ceil_div(layers, group), "groups", "ceil_div(attention_layers, group)")
    sheet.put("state_groups", ceil_div(states, group), "groups", "ceil_div(state_layers, group)")
    sheet.put("drafter_groups", ceil_div(drafting, group), "groups", "ceil_div(drafter_layers, group)")
    packed = setup.grouping == "packed"
    sheet.put(
        "page_bytes",
        group
        * sheet["block"]
        * (sheet["target_bytes"] if packed else max(sheet["target_bytes"], sheet["drafter_bytes"])),
        "bytes",
        "group * block * target_bytes" if packed else "group * block * max(target_bytes, drafter_bytes)",
    )


def _request(setup: Setup, sheet: Sheet) -> None:
    length, block = setup.max_model_len, sheet["block"]
    sheet.put(
        "context_pages",
        sheet["attention_groups"] * ceil_div(length, block),
        "pages",
        "attention_groups * ceil_div(max_model_len, block)",
        "the context of one request at full length",
    )
    spare = sheet.given(
        "spare_states", 2 if setup.caches_prefixes else 1, "states", "2 with prefix caching (align), 1 without"
    )
    sheet.put(
        "state_pages",
        sheet["state_groups"] * (spare + setup.drafts),
        "pages",
        "state_groups * (spare_states + drafts)",
        "one request, at any length",
    )
    drafter = 0
    if sheet["drafter_groups"] and setup.shape.drafter:
        window = setup.shape.drafter.window
        own = sheet.given("drafter_block", setup.format.drafter_block or block, "tokens", "a block of the drafter")
        if window is None:
            drafter = sheet.put(
                "drafter_pages",
                sheet["drafter_groups"] * ceil_div(length, own),
                "pages",
                "drafter_groups * ceil_div(max_model_len, drafter_block)",
            )
        else:
            sheet.given("window", window, "tokens", "what the drafter attends to")
            sheet.given("batched_tokens", setup.batched_tokens, "tokens", "prompt tokens of a step")
            sheet.given(
                "steps_in_flight", 2 if setup.async_scheduling else 1, "steps", "2 with async scheduling, else 1"
            )
            flight = setup.batched_tokens * (2 if setup.async_scheduling else 1)
            drafter = sheet.put(
                "drafter_pages",
                sheet["drafter_groups"] * (ceil_div(min(window - 1 + flight, length), own) + 1),
                "pages",
                "drafter_groups * (ceil_div(min(window - 1 + batched_tokens * steps_in_flight, max_model_len), drafter_block) + 1)",
                "the drafter's window and what is in flight",
            )
    request = sheet["context_pages"] + sheet["state_pages"] + drafter
    terms = "context_pages + state_pages" + (" + drafter_pages" if "drafter_pages" in sheet else "")
    sheet.put("request_pages", request, "pages", terms, "one request at full length")
    sheet.put("request_bytes", request * sheet["page_bytes"], "bytes", "request_pages * page_bytes")


def _pool(setup: Setup, sheet: Sheet) -> None:
    assert setup.pool_bytes is not None
    sheet.given("pool_bytes", setup.pool_bytes, "bytes", "the pool of one GPU")
    pages = sheet.put("pool_pages", setup.pool_bytes // sheet["page_bytes"], "pages", "pool_bytes // page_bytes")
    request = sheet["request_pages"]
    sheet.put(
        "printed_tokens",
        int(pages / request * setup.max_model_len),
        "tokens",
        "int(pool_pages / request_pages * max_model_len)",
        "what the engine prints as its KV cache size",
    )
    usable, state = max(0, pages - 1), sheet["state_pages"]
    short = state + sheet["attention_groups"] * ceil_div(SHORT, sheet["block"])
    if state:
        sheet.put(
            "residents_high", usable // state, "requests", "max(0, pool_pages - 1) // state_pages", "before any context"
        )
    sheet.given("short", SHORT, "tokens", "a short request")
    sheet.put(
        "residents_low",
        usable // short,
        "requests",
        "max(0, pool_pages - 1) // (state_pages + attention_groups * ceil_div(short, block))",
        "with about 1,000 tokens each",
    )
    sheet.put(
        "residents_at_max_len",
        usable // (state + sheet["context_pages"]),
        "requests",
        "max(0, pool_pages - 1) // (state_pages + context_pages)",
        "at full length; the drafter's pages are left out, as in rule R86",
    )
