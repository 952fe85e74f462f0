"""How each format of the table writes calls: what the tests make messages from."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Arguments = Mapping[str, Any]

FUNCTIONS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        },
    },
    {
        "name": "note.add",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
]


@dataclass(frozen=True)
class Writing:
    """One way of writing calls."""

    id: str
    format: str
    """The name in the table."""
    call: Callable[[str, Arguments], str]
    begin: str = ""
    """What stands before all calls of a message."""
    between: str = "\n"
    end: str = ""
    alone: bool = False
    """Whether calls count only where nothing else is in the message."""

    def message(self, *calls: tuple[str, Arguments]) -> str:
        """Return a message of calls and nothing else."""
        return self.begin + self.between.join(self.call(*call) for call in calls) + self.end


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)


def named(name: str, arguments: Arguments) -> str:
    return compact({"name": name, "arguments": arguments})


def parameters(name: str, arguments: Arguments) -> str:
    return compact({"name": name, "parameters": arguments})


def python(name: str, arguments: Arguments) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def function(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f"<parameter={key}>\n{raw(value)}\n</parameter>\n" for key, value in arguments.items()
    )
    return f"<function={name}>\n{pairs}</function>"


def inline_function(name: str, arguments: Arguments) -> str:
    pairs = (f"<parameter={key}>{raw(value)}</parameter>" for key, value in arguments.items())
    return f"<function={name}>{''.join(pairs)}</function>"


def invoke(prefix: str) -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        pairs = "".join(
            f'<{prefix}parameter name="{key}">{raw(value)}</{prefix}parameter>\n'
            for key, value in arguments.items()
        )
        return f'<{prefix}invoke name="{name}">\n{pairs}</{prefix}invoke>'

    return write


def dsml(prefix: str) -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        pairs = "".join(
            f'<{prefix}parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
            f"{raw(value)}</{prefix}parameter>\n"
            for key, value in arguments.items()
        )
        return f'<{prefix}invoke name="{name}">\n{pairs}</{prefix}invoke>'

    return write


def arg_pairs(begin: str, separator: str, end: str) -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        pairs = "".join(
            f"<arg_key>{key}</arg_key>{separator}<arg_value>{raw(value)}</arg_value>{separator}"
            for key, value in arguments.items()
        )
        return f"{begin.format(name)}{separator}{pairs}{end}"

    return write


def suffixed(suffix: str) -> Callable[[str, Arguments], str]:
    """Write Hunyuan's tags, which all have the suffix."""

    def write(name: str, arguments: Arguments) -> str:
        pairs = "".join(
            f"<arg_key:{suffix}>{key}</arg_key:{suffix}>\n"
            f"<arg_value:{suffix}>{raw(value)}</arg_value:{suffix}>\n"
            for key, value in arguments.items()
        )
        return f"<tool_call:{suffix}>{name}<tool_sep:{suffix}>\n{pairs}</tool_call:{suffix}>"

    return write


def typed_pairs(name: str, arguments: Arguments) -> str:
    kinds = {str: "string", int: "integer"}
    pairs = "".join(
        f"<ifm|arg_key>{key}</ifm|arg_key><ifm|arg_type>{kinds[type(value)]}</ifm|arg_type>"
        f"<ifm|arg_value>{raw(value)}</ifm|arg_value>"
        for key, value in arguments.items()
    )
    return f"<ifm|tool_call>{name}{pairs}</ifm|tool_call>"


def xtml(name: str, arguments: Arguments) -> str:
    kinds = {str: "string", int: "number"}
    pairs = "".join(
        f'<|open|>argument key="{key}" type="{kinds[type(value)]}"<|sep|>'
        f"{raw(value)}<|close|>argument<|sep|>"
        for key, value in arguments.items()
    )
    return f'<|open|>call tool="{name}" index="1"<|sep|>{pairs}<|close|>call<|sep|>'


def elements(name: str, arguments: Arguments) -> str:
    mark = "]<]minimax[>["
    pairs = "".join(
        f"{mark}<{key}>{raw(value)}{mark}</{key}>\n" for key, value in arguments.items()
    )
    return f'{mark}<invoke name="{name}">\n{pairs}{mark}</invoke>'


def params(name: str, arguments: Arguments) -> str:
    pairs = "".join(
        f'<param name="{key}"><![CDATA[{raw(value)}]]></param>' for key, value in arguments.items()
    )
    return f'<function name="{name}">{pairs}</function>'


def fields(begin: str, quote: str, end: str) -> Callable[[str, Arguments], str]:
    def write(name: str, arguments: Arguments) -> str:
        pairs = ",".join(
            f"{key}:{quote}{value}{quote}" if isinstance(value, str) else f"{key}:{value}"
            for key, value in arguments.items()
        )
        return f"{begin}call:{name}{{{pairs}}}{end}"

    return write


def around(before: str, after: str) -> Callable[[str, Arguments], str]:
    """Write a name, something, and the arguments as JSON."""
    return lambda name, arguments: before.format(name) + compact(arguments) + after


_DSML = "｜DSML｜"
_PLAMO = "<|plamo:{}:plamo|>"

WRITINGS = (
    Writing("qwen3_coder", "qwen3_coder", lambda *call: f"<tool_call>\n{function(*call)}\n</tool_call>"),
    Writing("qwen3_coder inline", "qwen3_coder", inline_function),
    Writing("qwen3_coder without opener", "qwen3_coder", lambda *call: f"{function(*call)}\n</tool_call>"),
    Writing("seed_oss", "seed_oss", function, "<seed:tool_call>\n", end="\n</seed:tool_call>"),
    Writing("functionary_v3.1", "functionary_v3.1", around("<function={}>", "</function>")),
    Writing("functionary_v3.2", "functionary_v3.2", around("{}\n", ""), between=">>>"),
    Writing("hermes", "hermes", lambda *call: f"<tool_call>\n{named(*call)}\n</tool_call>"),
    Writing("hermes, arguments as text", "hermes", lambda name, arguments: "<tool_call>" + named(name, compact(arguments)) + "</tool_call>"),  # type: ignore[arg-type] # the text of an object
    Writing("hermes, several in one", "hermes", named, "<tool_call>\n", end="\n</tool_call>"),
    Writing("hermes, list", "hermes", named, "<tool_call>[", ", ", "]</tool_call>"),
    Writing("xlam", "xlam", named, "[", ", ", "]"),
    Writing("xlam, objects", "xlam", named),
    Writing("xlam, fenced", "xlam", named, "```json\n[", ",\n", "]\n```", alone=True),
    Writing("qwen2.5_coder, fenced objects", "xlam", lambda *call: f"```json\n{named(*call)}\n```", alone=True),
    Writing("granite", "granite", named, "<|tool_call|> [", ", ", "]"),
    Writing("granite 3.1", "hermes", named, "<tool_call> [", ", ", "]"),
    Writing("granite_20b_fc", "granite_20b_fc", lambda *call: f"<function_call> {named(*call)}"),
    Writing("jamba", "jamba", named, "<tool_calls>[", ", ", "]</tool_calls>"),
    Writing("phi4_mini", "phi4_mini", named, "functools[", ", ", "]"),
    Writing("nemotron_v2", "nemotron_v2", named, "<TOOLCALL>[", ", ", "]</TOOLCALL>"),
    Writing("internlm", "internlm", lambda *call: f"<|action_start|><|plugin|>\n{parameters(*call)}<|action_end|>"),
    Writing("longcat", "longcat", lambda *call: f"<longcat_tool_call>{named(*call)}</longcat_tool_call>"),
    Writing("iquest_q1", "iquest_q1", lambda *call: f"<iquest_tool_call>{named(*call)}</iquest_tool_call>"),
    Writing("llama_json", "llama_json", parameters, "<|python_tag|>", ";"),
    Writing("llama_json without tag", "llama_json", parameters, between="; "),
    Writing("llama_pythonic", "llama_pythonic", python, "[", ", ", "]"),
    Writing("llama_pythonic, marked", "llama_pythonic", python, "<|python_start|>[", ", ", "]<|python_end|>"),
    Writing("olmo3", "olmo3", python, "<function_calls>", end="</function_calls>"),
    Writing("lfm2", "lfm2", python, "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
    Writing("lfm2, JSON", "lfm2", named, "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
    Writing("mistral", "mistral", named, "[TOOL_CALLS] [", ", ", "]"),
    Writing("mistral_v11", "mistral_v11", around("[TOOL_CALLS]{}[ARGS]", ""), between=""),
    Writing("mistral_v11 with ids", "mistral_v11", around("[TOOL_CALLS]{}[CALL_ID]000000001[ARGS]", ""), between=""),
    Writing("deepseek_v3", "deepseek_v3", around("<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n", "\n```<｜tool▁call▁end｜>"), "<｜tool▁calls▁begin｜>", end="<｜tool▁calls▁end｜>"),
    Writing("deepseek_v31", "deepseek_v31", around("<｜tool▁call▁begin｜>{}<｜tool▁sep｜>", "<｜tool▁call▁end｜>"), "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"),
    Writing("deepseek_v32", "deepseek_dsml", dsml(_DSML), f"<{_DSML}function_calls>\n", end=f"\n</{_DSML}function_calls>"),
    Writing("deepseek_v4", "deepseek_dsml", dsml(_DSML), f"<{_DSML}tool_calls>\n", end=f"\n</{_DSML}tool_calls>"),
    Writing("deepseek_v41", "deepseek_dsml", dsml(f"{_DSML} "), f"<{_DSML} calls>\n", end=f"\n</{_DSML} calls>"),
    Writing("glm45", "glm", arg_pairs("<tool_call>{}", "\n", "</tool_call>")),
    Writing("glm47", "glm", arg_pairs("<tool_call>{}", "", "</tool_call>"), between=""),
    Writing("hunyuan_v3", "hunyuan_v3", arg_pairs("<tool_call>{}<tool_sep>", "", "</tool_call>"), "<tool_calls>", end="</tool_calls>"),
    Writing("hunyuan_v3, suffix", "hunyuan_v3", suffixed("opensource"), "<tool_calls:opensource>\n", end="\n</tool_calls:opensource>"),
    Writing("hunyuan_v3, other suffix", "hunyuan_v3", suffixed("6124c78e"), "<tool_calls:6124c78e>", "", "</tool_calls:6124c78e>"),
    Writing("hunyuan_v3, suffix alone", "hunyuan_v3", suffixed("opensource")),
    Writing("k2_horizon", "k2_horizon", typed_pairs, "<ifm|tool_calls>", "", "</ifm|tool_calls>"),
    Writing("k2_horizon, JSON", "k2_horizon", lambda *call: f"<ifm|tool_call>{named(*call)}</ifm|tool_call>", "<ifm|tool_calls>", "", "</ifm|tool_calls>"),
    Writing("kimi_k2", "kimi_k2", around("<|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>", "<|tool_call_end|>"), "<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"),
    Writing("kimi_k3", "kimi_k3", xtml, "<|open|>tools<|sep|>", "", "<|close|>tools<|sep|>"),
    Writing("minimax_m2", "minimax_m2", invoke(""), "<minimax:tool_call>\n", end="\n</minimax:tool_call>"),
    Writing("minimax_m3", "minimax_m3", elements, "]<]minimax[>[<tool_call>\n", end="\n]<]minimax[>[</tool_call>"),
    Writing("dots", "dots", invoke(""), "<dots_function_call>\n", end="\n</dots_function_call>"),
    Writing("step3", "step3", lambda *call: f"<｜tool_call_begin｜>function<｜tool_sep｜>{invoke('steptml:')(*call)}<｜tool_call_end｜>", "<｜tool_calls_begin｜>", "", "<｜tool_calls_end｜>"),
    Writing("minicpm5", "minicpm5", params),
    Writing("functiongemma", "functiongemma", fields("<start_function_call>", "<escape>", "<end_function_call>"), between=""),
    Writing("gemma3", "gemma3", python, "```tool_code\n", end="\n```"),
    Writing("gemma3, printed", "gemma3", lambda *call: f"print(default_api.{python(*call)})", "```tool_code\n", end="\n```"),
    Writing("gemma3, list", "gemma3", python, "```tool_code\n[", ", ", "]\n```"),
    Writing("gemma4", "gemma4", fields("<|tool_call>", '<|"|>', "<tool_call|>"), between=""),
    Writing("apertus", "apertus", lambda name, arguments: compact({name: arguments}), "<|tools_prefix|>[", ", ", "]<|tools_suffix|>"),
    Writing("gigachat3", "gigachat3", lambda *call: f"function call<|role_sep|>\n{named(*call)}"),
    Writing("gigachat3.1", "gigachat3", lambda *call: f"<|function_call|>{named(*call)}"),
    Writing("gigachat3.5", "gigachat3", dsml("｜GCML｜"), "<｜GCML｜tool_calls>", end="</｜GCML｜tool_calls>"),
    Writing("cohere", "cohere", lambda name, arguments: compact({"tool_call_id": "0", "tool_name": name, "parameters": arguments}), "<|START_ACTION|>[", ", ", "]<|END_ACTION|>"),
    Writing("gpt_oss, recipient in channel", "gpt_oss", around("<|channel|>commentary to=functions.{} <|constrain|>json<|message|>", "<|call|>"), between="<|start|>assistant"),
    Writing("gpt_oss, recipient in role", "gpt_oss", around("<|start|>assistant to=functions.{}<|channel|>commentary json<|message|>", "<|call|>"), between=""),
    Writing("inkling", "inkling", lambda name, arguments: f"<|message_model|><|content_invoke_tool_json|>{compact({'name': name, 'args': arguments})}<|end_message|>", between=""),
    Writing("muse", "muse", lambda name, arguments: f" to={name}<|message|><atem:function_calls>\n{invoke('atem:')(name, arguments)}\n</atem:function_calls><|eom|>", between="<|start|>assistant"),
    Writing("plamo3", "plamo3", lambda name, arguments: "".join((_PLAMO.format("begin_tool_request"), _PLAMO.format("begin_tool_name"), name, _PLAMO.format("end_tool_name"), _PLAMO.format("begin_tool_arguments"), "<|plamo:constrain|>json<|plamo:msg|>", compact(arguments), _PLAMO.format("end_tool_arguments"), _PLAMO.format("end_tool_request"))), _PLAMO.format("begin_tool_requests"), "", _PLAMO.format("end_tool_requests")),
)  # fmt: skip
"""The literal shapes are those of the engines' own tests and documents."""
