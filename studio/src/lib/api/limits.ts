/** Limits of `heddle_runtime.contract.limits`; `tests/runtime/test_limits.py` compares the two. */

export const MAX_TOOL_ROUNDS = 50;
export const MIN_TOOL_SECONDS = 0.001;
export const MAX_TOOL_SECONDS = 86_400;
