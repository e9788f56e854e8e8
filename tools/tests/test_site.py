"""The hooks and the checks of the documentation site."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def loaded(name: str) -> ModuleType:
    """A module of the folder `tools/site`."""
    spec = importlib.util.spec_from_file_location(f"site_{name}", ROOT / "tools" / "site" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


build = loaded("build")
pytest.importorskip("mkdocs")
hooks = loaded("hooks")


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://example.org/a.js"></script>',
        '<img src="//example.org/a.png">',
        '<link rel="stylesheet" href="http://example.org/a.css">',
        '<style>@import "https://example.org/a.css";</style>',
        "<p style=\"background: url('https://example.org/a.png')\"></p>",
    ],
)
def test_a_file_from_another_host_is_a_problem(text: str, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(text)
    (found,) = build.problems(tmp_path)
    assert found.startswith("index.html: loads ") and "example.org" in found


def test_a_font_in_a_style_sheet_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url(https://example.org/a.woff2) }")
    assert build.problems(tmp_path) == ["a.css: loads https://example.org/a.woff2"]


def test_a_missing_file_is_a_problem_and_links_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.png").touch()
    page = '<a href="https://example.org"></a><link rel="canonical" href="https://example.org"><img src="a.png?1"><img src="b.png">'
    (tmp_path / "index.html").write_text(page)
    assert build.problems(tmp_path) == ["index.html: b.png does not exist"]


def test_the_navigation_lists_the_pages_of_a_folder_in_the_order_of_its_links() -> None:
    pages = hooks.expanded([{"Codes": "crates/solver/pages/"}])[0]["Codes"]
    assert pages[:2] == ["crates/solver/pages/README.md", "crates/solver/pages/element-type-mismatch.md"]
    assert len(pages) == len(list((ROOT / "crates/solver/pages").glob("*.md")))


def test_a_snapshot_is_a_picture_with_its_text_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "crates/solver/pages").mkdir(parents=True)
    (tmp_path / "crates/solver/pages/a-0.svg").touch()
    monkeypatch.setenv("TYPELOOM_PICTURES", str(tmp_path))
    page = '```onnx fails=a\nmodel\n```\n\n```snapshot\nerror: `"<&`\n```\n'
    text = hooks.prepared(page, "crates/solver/pages/a.md")
    assert text.startswith("```text\nmodel\n```\n")
    assert '<img src="../a-0.svg" alt="error: `&quot;&lt;&amp;`"' in text
    assert re.search(r'^    ```text\n    error: `"<&`\n    ```$', text, re.MULTILINE)
    with pytest.raises(hooks.PluginError, match="snapshot 0 has no picture"):
        hooks.prepared(page, "crates/solver/pages/b.md")


def test_fences_in_fences_stay_text() -> None:
    text = hooks.prepared("````markdown\n```snapshot\nx\n```\n````\n", "docs/a.md")
    assert text == "````markdown\n```snapshot\nx\n```\n````\n"


def sections(text: str) -> list[str]:
    """The names with a section in the reference, in order."""
    return re.findall(r"^###+ `([^`]+)` \{#", text, re.MULTILINE)


def test_the_reference_has_one_section_for_each_public_name_and_check_is_first() -> None:
    reference = hooks.python_reference
    text = reference.page()
    found = sections(text)
    assert found[:3] == ["check", "Report", "Report.ok"]
    assert found.index("infer") < found.index("fix") < found.index("Session") < found.index("registry.Registry")
    assert len(set(found)) == len(found)
    submodules = {module.split(".")[1] for module in reference.modules()[1:]}
    names = reference.exported("typeloom")
    assert {name for name in names if name not in found} == submodules & set(names)
    for module in reference.modules()[1:]:
        assert text.count(f"## `{module}`\n") == 1
        prefix = module.removeprefix("typeloom.")
        described = {name for name in reference.exported(module) if f"{prefix}.{name}" in found}
        assert set(reference.exported(module)) - described <= {"C", "DEFAULT_CONTEXT", "LEXICAL_SCOPE_CONTEXT", "MAXIMUM_PROTOBUF"}


def test_the_reference_has_signatures_with_types_and_no_marks_of_docstrings() -> None:
    text = hooks.python_reference.page()
    assert "    assume: Mapping[str, DimLike] | None = None,\n" in text and "Report.diagnostics: list[Diagnostic]\n" in text
    assert "_core." not in text and "_Path" not in text
    assert "- **`assume`**: replacements of symbols" in text and "- [`ModelError`](#ModelError): the model has errors." in text
    assert not re.search(r"^\s*(Args|Returns|Raises|Attributes|Examples?):$|^::$", text, re.MULTILINE)
    # Examples are in fences.
    is_code = False
    for line in text.split("\n"):
        is_code ^= line.startswith("```")
        assert is_code or not line.startswith((">>>", "...")), line


def test_public_functions_document_arguments_results_and_errors_with_an_example() -> None:
    import ast

    reference = hooks.python_reference
    for name in reference.exported("typeloom"):
        found = reference.find("typeloom", name)
        if found is None or not isinstance(found[1], ast.FunctionDef):
            continue
        text = ast.get_docstring(found[1]) or ""
        has_arguments = bool(reference.parameters(found[1].args, bound=False))
        wanted = [">>> "] + (["Args:", "Raises:"] if has_arguments else [])
        assert all(part in text for part in wanted), name


def test_a_link_to_the_sources_of_the_package_leads_to_the_reference() -> None:
    link = hooks.LINK.search("[reference](../../crates/python/python/typeloom/)")
    assert link is not None
    assert hooks.to_source(link, "docs/start/python.md", None, None) == "[reference](../python/reference.md)"
    assert "docs/python/reference.md" in list(hooks.linked("docs/python/README.md"))
