"""Checks assistants against what is installed, before they are stored.

`validator` asks the other services. `faults` finds the faults in their answers, and compares them
with those of the assistant before an edit. `template_findings` checks templates.
"""

from heddle_orchestrator.validation.template_findings import TemplateChecker
from heddle_orchestrator.validation.validator import Validator

__all__ = ["TemplateChecker", "Validator"]
