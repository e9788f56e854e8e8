"""A newcomer finds the causes of planted errors with the page only.

The test does what the page offers to a user without knowledge of the tool: it opens the list of problems, reads the report of each one, follows
the references in it, and at each value the causes. The planted node and its line have to appear in these texts.
"""

from __future__ import annotations

import pytest
from models import planted
from playwright.sync_api import expect

MODEL, CAUSES = planted()

# References that are followed for a problem.
MAX_STEPS = 12


@pytest.mark.parametrize(("node", "line"), CAUSES, ids=[node for node, _ in CAUSES])
def test_the_cause_of_a_planted_error_is_found(node: str, line: int, view) -> None:
    page = view(MODEL)
    problems = page.problems_pane.locator("li.problem > button")
    expect(problems).to_have_count(3)
    found = []
    for at in range(3):
        page.tab("Problems (3)").click()
        problems.nth(at).click()
        read = page.open_problem.inner_text()
        references = page.open_problem.locator("button.reference")
        for way in range(min(references.count(), MAX_STEPS)):
            page.tab("Problems (3)").click()
            problems.nth(at).click()
            references.nth(way).click()
            read += page.details.inner_text()
        if node in read and f"network.py:{line}" in read:
            found.append(at)
    assert len(found) == 1, f"{node} is in the texts of the problems {found}"
