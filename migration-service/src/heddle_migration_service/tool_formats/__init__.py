"""Files with tools for LAMB, which the tools service loads."""

from heddle_tools_service.adapters.formats import ToolFormat

from heddle_migration_service.tool_formats import processors, tool_classes

FORMAT = ToolFormat(
    readers=(tool_classes.read, processors.read_tool_processor, processors.read_rag_processor),
    modules={"lamb.completions.tools.base": tool_classes, "lamb.lamb_classes": tool_classes},
)
