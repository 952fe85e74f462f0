"""The formats in which models write calls, as a table that `table_parser` reads.

The head of a format is the text that the model writes, with placeholders. White space is allowed
on both sides of a placeholder; `{}` stands for white space only. The others:

- `{name}`: the name of the function; `{id}`: a short id, ignored.
- `{attributes}`: `name="f"`, with other attributes or without.
- `{arguments}`: a JSON object.
- `{calls}`: objects with names and arguments, alone, in an array or one after another;
  `{keyed}`: the same, where `{"f": {"a": 1}}` is a call as well;
  `{python}`: the same, or `f(a=1)`.
- `{fields}`: `{a:<|"|>x<|"|>}`. `{elements}`: an XML-like element for each argument.
- `{channel}`, `{role}`, `{recipient}`: a part of a message header that may name a function, the
  rest of the header, and the message.
- `{suffixed_section}`, `{suffixed_call}`: Hunyuan's calls with tags such as `<tool_sep:SUFFIX>`.
- `{tool_code}`: a fence of code that is calls, as Python writes them.
- `{wrapped}`: nothing; the head is a delimiter only if a call of another format follows.

`undelimited` finds calls of formats whose head begins with a placeholder. If a head has none of
`arguments` to `wrapped`, the arguments have `tags`, up to one of `ends`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArgumentTags:
    """The tags of arguments in formats with a tag for each argument."""

    open: str
    """Begins an argument. The key follows, as text or as the attribute `name` or `key`."""
    key_end: str
    end: str
    """Ends the value."""
    value: str = ""
    """Separates the key and the value, if anything does."""
    type: tuple[str, str] = ("", "")
    """Surrounds the type of the value, if the format has one."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of calls."""

    name: str
    head: str
    tags: ArgumentTags | None = None
    ends: tuple[str, ...] = ()
    """Ends a call with tagged arguments. A call without one of these is cut off."""
    delimiters: tuple[str, ...] = ()
    """Delimiters around calls, without a meaning of their own; elsewhere they are text."""
    closers: tuple[str, ...] = ()
    """Delimiters that are only read directly after a call."""
    frames: tuple[str, ...] = ()
    """Delimiters around messages and their parts. Never shown, unless a sentence mentions them."""
    trim: bool = False
    """Whether the format puts a line end on each side of a value."""
    decode: bool = False
    """Whether values without a known type are JSON if they can be."""
    ids: bool = False
    """Whether names may be written as `functions.NAME:0`."""


def suffixed(suffix: str) -> Format:
    """Return Hunyuan's format whose tags all end with a suffix."""
    pair = ArgumentTags(
        f"<arg_key:{suffix}>",
        f"</arg_key:{suffix}>",
        f"</arg_value:{suffix}>",
        f"<arg_value:{suffix}>",
    )
    ends = (f"</tool_call:{suffix}>", f"<end_of_tool_call:{suffix}>")
    closers = (f"</tool_calls:{suffix}>",)
    return Format(
        "hunyuan_v3",
        f"<tool_call:{suffix}>{{name}}<tool_sep:{suffix}>",
        pair,
        ends,
        closers=closers,
    )


_FUNCTION = ArgumentTags("<parameter=", ">", "</parameter>")
_ARG = ArgumentTags("<arg_key>", "</arg_key>", "</arg_value>", value="<arg_value>")
_CLOSE = ("</tool_call>",)


def _invoke(
    name: str, prefix: str, *delimiters: str, trim: bool = True, decode: bool = False
) -> Format:
    """Return a format of `<invoke name="f"><parameter name="a">1</parameter></invoke>`."""
    return Format(
        name,
        f"<{prefix}invoke{{attributes}}>",
        ArgumentTags(f"<{prefix}parameter", ">", f"</{prefix}parameter>"),
        (f"</{prefix}invoke>",),
        delimiters,
        trim=trim,
        decode=decode,
    )


def _both(*delimiters: str) -> tuple[str, ...]:
    """Return each delimiter as an opening and as a closing tag."""
    return tuple(f"<{slash}{delimiter}>" for delimiter in delimiters for slash in ("", "/"))


_FRAMES = (
    *("<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>"),
    *("<|constrain|>", "<|message|>"),
)
_KIMI = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_end|>")
_DEEPSEEK = ("<｜tool▁calls▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")
_STEP3 = (
    *("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>function<｜tool_sep｜>"),
    *("<｜tool_call_end｜>", "<｜tool_calls_end｜>"),
)
_K2 = ("<ifm|tool_calls>", "</ifm|tool_calls>")
_M3 = ("]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>")
_XTML = ("<|open|>tools<|sep|>", "<|close|>tools<|sep|>")
_XTML_FRAMES = tuple(
    f"<|{verb}|>{noun}<|sep|>" for noun in ("response", "message") for verb in ("open", "close")
)
_PLAMO = tuple(
    f"<|plamo:{part}:plamo|>"
    for part in (
        *("begin_tool_requests", "end_tool_requests", "end_tool_request"),
        "end_tool_arguments",
    )
)
_PLAMO_HEAD = (
    "<|plamo:begin_tool_request:plamo|>{}<|plamo:begin_tool_name:plamo|>{name}"
    "<|plamo:end_tool_name:plamo|>{}<|plamo:begin_tool_arguments:plamo|>{}"
    "<|plamo:constrain|>json{}<|plamo:msg|>{arguments}"
)

FORMATS: tuple[Format, ...] = (
    Format(
        "qwen3_coder", "<function={name}>", _FUNCTION, ("</function>", *_CLOSE), trim=True,
        closers=_CLOSE,
    ),
    Format("qwen3_coder", "<tool_call>{wrapped}"),
    Format("hermes", "<tool_call>{calls}", closers=_CLOSE),
    Format("xlam", "{calls}"),
    Format(
        "seed_oss", "<function={name}>", _FUNCTION, ("</function>", *_CLOSE), trim=True,
        delimiters=_both("seed:tool_call"),
    ),
    Format("functionary_v3.1", "<function={name}>{arguments}", closers=("</function>",)),
    Format("functionary_v3.2", "{name}{arguments}"),
    Format("functionary_v3.2", ">>>{name}{arguments}"),
    Format("granite", "<|tool_call|>{calls}"),
    Format("granite_20b_fc", "<function_call>{calls}", closers=("</function_call>",)),
    Format("jamba", "<tool_calls>{calls}", closers=("</tool_calls>",)),
    Format("phi4_mini", "functools{calls}"),
    Format("nemotron_v2", "<TOOLCALL>{calls}", closers=("</TOOLCALL>",)),
    Format(
        "internlm", "<|action_start|>{}<|plugin|>{calls}",
        delimiters=("<|action_end|>",),
    ),
    Format("longcat", "<longcat_tool_call>{calls}", delimiters=("</longcat_tool_call>",)),
    Format("iquest_q1", "<iquest_tool_call>{calls}", delimiters=("</iquest_tool_call>",)),
    Format("llama_json", "{calls}"),
    Format("llama_json", "<|python_tag|>{calls}"),
    Format("llama_pythonic", "{python}"),
    Format("llama_pythonic", "<|python_start|>{python}", delimiters=("<|python_end|>",)),
    Format("olmo3", "<function_calls>{python}", closers=("</function_calls>",)),
    Format("lfm2", "<|tool_call_start|>{python}", delimiters=("<|tool_call_end|>",)),
    Format("mistral", "[TOOL_CALLS]{calls}"),
    Format("mistral_v11", "[TOOL_CALLS]{name}[ARGS]{arguments}"),
    Format("mistral_v11", "[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{arguments}"),
    Format(
        "deepseek_v3",
        "<｜tool▁call▁begin｜>{}function<｜tool▁sep｜>{name}```json{arguments}```",
        delimiters=_DEEPSEEK,
    ),
    Format(
        "deepseek_v31", "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}",
        delimiters=_DEEPSEEK,
    ),
    _invoke(
        "deepseek_dsml", "｜DSML｜",
        *_both("｜DSML｜tool_calls", "｜DSML｜function_calls"),
        trim=False,
    ),
    _invoke("deepseek_dsml", "｜DSML｜ ", "<｜DSML｜ calls>", "</｜DSML｜ calls>", trim=False),
    Format("glm", "<tool_call>{name}", _ARG, _CLOSE, closers=_CLOSE),
    Format("hunyuan_v3", "<tool_calls>{wrapped}", closers=("</tool_calls>",)),
    Format("hunyuan_v3", "<tool_call>{name}<tool_sep>", _ARG, _CLOSE),
    Format("hunyuan_v3", "<tool_calls:{suffixed_section}"),
    Format("hunyuan_v3", "<tool_call:{suffixed_call}"),
    Format(
        "k2_horizon", "<ifm|tool_call>{name}",
        ArgumentTags(
            "<ifm|arg_key>", "</ifm|arg_key>", "</ifm|arg_value>", "<ifm|arg_value>",
            ("<ifm|arg_type>", "</ifm|arg_type>"),
        ),
        ("</ifm|tool_call>",),
        _K2,
    ),
    Format("k2_horizon", "<ifm|tool_call>{calls}", delimiters=(*_K2, "</ifm|tool_call>")),
    Format(
        "kimi_k2", "<|tool_call_begin|>{name}<|tool_call_argument_begin|>{arguments}",
        delimiters=_KIMI, ids=True,
    ),
    Format(
        "kimi_k3", "<|open|>call{attributes}<|sep|>",
        ArgumentTags("<|open|>argument", "<|sep|>", "<|close|>argument<|sep|>"),
        ("<|close|>call<|sep|>",),
        _XTML,
        frames=_XTML_FRAMES,
    ),
    _invoke("minimax_m2", "", *_both("minimax:tool_call")),
    Format("minimax_m3", "]<]minimax[>[<invoke{attributes}>{elements}", delimiters=_M3),
    _invoke("dots", "", *_both("dots_function_call")),
    _invoke("step3", "steptml:", *_STEP3),
    Format(
        "minicpm5", "<function name={name}>", ArgumentTags("<param", ">", "</param>"),
        ("</function>",), trim=True,
    ),
    Format(
        "functiongemma", "<start_function_call>{}call:{name}{fields}",
        delimiters=("<end_function_call>",),
    ),
    Format("gemma3", "{tool_code}"),
    Format("gemma4", "<|tool_call>{}call:{name}{fields}", delimiters=("<tool_call|>",)),
    Format("apertus", "<|tools_prefix|>{keyed}", delimiters=("<|tools_suffix|>",)),
    Format("gigachat3", "function call<|role_sep|>{calls}"),
    Format("gigachat3", "<|function_call|>{calls}"),
    _invoke("gigachat3", "｜GCML｜", *_both("｜GCML｜tool_calls"), trim=False),
    Format("cohere", "<|START_ACTION|>{calls}", delimiters=("<|END_ACTION|>",)),
    Format("gpt_oss", "<|channel|>{channel}", frames=_FRAMES),
    Format("gpt_oss", "<|start|>{role}"),
    Format("gpt_oss", " to={recipient}"),
    Format(
        "inkling", "<|content_invoke_tool_json|>{calls}",
        frames=("<|message_model|>", "<|end_message|>"),
    ),
    Format("muse", "<|start|>{role}", frames=_FRAMES),
    Format("muse", " to={recipient}"),
    _invoke("muse", "atem:", *_both("atem:function_calls"), decode=True),
    Format("plamo3", _PLAMO_HEAD, delimiters=_PLAMO),
)  # fmt: skip
