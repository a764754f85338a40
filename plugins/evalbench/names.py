"""Tool names, made comparable across harnesses.

Canonical is `server__tool` for a tool of an MCP server and the bare name for a tool built into the agent. What
harnesses write becomes that by three rules, the first that fits:

1. `mcp__server__tool` (Claude Code): split at the first `__` after the prefix, so the tool may hold `__` itself.
2. any other name with `__` between two parts is canonical already: `server__tool`, even when the server is `mcp_x`.
3. `mcp_server_tool` (Gemini CLI): split at the first `_` after the prefix. Gemini CLI forbids `_` in a server's
   name, so the split is exact there; for another harness with such a server the name is split too early.

Everything else is a bare name and stays as written. A bare name never equals a qualified one: which server a bare
name meant is not recorded, and guessing it could turn a wrong call into an expected one. The rules look at the name
alone, so one name means the same in every run and in a policy's patterns.
"""

import re

SEPARATOR = "__"
_CLAUDE = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)", re.DOTALL)
_QUALIFIED = re.compile(r"(?!mcp__).+?__.+", re.DOTALL)
_GEMINI = re.compile(r"mcp_(?P<server>[^_]+)_(?P<tool>.+)", re.DOTALL)


def canonical_tool(raw: str) -> str:
    """The canonical name of a tool as some harness wrote it. Never fails; an unknown shape comes back unchanged."""
    if found := _CLAUDE.fullmatch(raw):
        return f"{found['server']}{SEPARATOR}{found['tool']}"
    if _QUALIFIED.fullmatch(raw):
        return raw
    if found := _GEMINI.fullmatch(raw):
        return f"{found['server']}{SEPARATOR}{found['tool']}"
    return raw
