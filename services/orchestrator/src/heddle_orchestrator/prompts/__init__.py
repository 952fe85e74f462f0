"""Prompt processors, by name. `SimpleAugment` is the base class of all."""

from heddle_orchestrator.prompts.kvcache_augment import KvcacheAugment
from heddle_orchestrator.prompts.moodle_augment import MoodleAugment
from heddle_orchestrator.prompts.simple_augment import SimpleAugment

DEFAULT = SimpleAugment.name
PROMPT_PROCESSORS = {
    each.name: each for each in (SimpleAugment(), MoodleAugment(), KvcacheAugment())
}
