"""Canonical tool names."""

import pytest

from evalbench.names import canonical_tool

CASES = {
    "canonical stays": ("crm__lookup", "crm__lookup"),
    "bare stays": ("Read", "Read"),
    "bare with underscores stays": ("run_shell_command", "run_shell_command"),
    "claude": ("crm__lookup", "mcp__crm__lookup"),
    "claude, server with single underscores": ("cloud_sql__list", "mcp__cloud_sql__list"),
    "claude, tool with a double underscore": ("crm__get__all", "mcp__crm__get__all"),
    "gemini": ("crm__lookup", "mcp_crm_lookup"),
    "gemini, underscores belong to the tool": ("crm__get_user_details", "mcp_crm_get_user_details"),
    "a server called mcp_x is canonical already": ("mcp_x__run", "mcp_x__run"),
    "prefix without server": ("mcp__lookup", "mcp__lookup"),
    "prefix alone": ("mcp__", "mcp__"),
    "gemini prefix without tool": ("mcp_crm", "mcp_crm"),
    "empty": ("", ""),
    "other case is another name": ("MCP_crm_lookup", "MCP_crm_lookup"),
}


@pytest.mark.parametrize(("expected", "raw"), CASES.values(), ids=CASES)
def test_each_spelling_of_a_tool_has_one_name(expected: str, raw: str) -> None:
    """Every harness's spelling becomes `server__tool`; what is no MCP name stays as written."""
    assert expected == canonical_tool(raw)


@pytest.mark.parametrize("raw", [raw for _, raw in CASES.values()], ids=CASES)
def test_a_canonical_name_stays_itself(raw: str) -> None:
    """Canonicalising twice changes nothing."""
    assert canonical_tool(raw) == canonical_tool(canonical_tool(raw))
