"""The delimiters of reasoning."""

REASONING = {
    "<think>": "</think>",
    "<think:opensource>": "</think:opensource>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|content_thinking|>": "<|end_message|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
}
"""Opening and closing delimiters of reasoning."""

FRAMED = ("<|end|>", "<|return|>", "<|eom|>", "<|eot|>")
"""The ends of a reasoning message with a header."""

MARKS = (
    *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    *("<|content_text|>", "<|content_model_end_sampling|>", "<|inner_suffix|>"),
)
"""Delimiters around or after content, without a meaning of their own."""

ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>"),
    *("<eos>", "<|eos|>", "<end_of_turn>", "<turn|>", "<|end_of_turn|>", "<|endofturn|>"),
    *("<|END_OF_TURN_TOKEN|>", "<|role_end|>", "<|user|>", "<|observation|>"),
    *("<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>", "<｜hy_eos｜>", "<｜hy_eos:opensource｜>"),
)
"""Marks of the end of a message: text, unless nothing follows them or a call precedes them."""
