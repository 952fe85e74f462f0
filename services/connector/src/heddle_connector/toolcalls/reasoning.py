"""The marks around what models say to themselves."""

REASONING = {
    "<think>": "</think>",
    "<seed:think>": "</seed:think>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|content_thinking|>": "<|end_message|>",
    "<|plamo:begin_think:plamo|>": "<|plamo:end_think:plamo|>",
}
"""What begins reasoning, and what ends it."""

FRAMED = ("<|end|>", "<|return|>", "<|eom|>", "<|eot|>")
"""What ends a message to itself that a header began."""

MARKS = (
    *("<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"),
    *("<|content_text|>", "<|content_model_end_sampling|>", "<|inner_suffix|>"),
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>"),
)
"""What stands around content, or at its end, and means nothing by itself."""
