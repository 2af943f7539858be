"""Sphinx: the documentation in both languages as one site (`make docs`)."""

import gettext
import re
from pathlib import Path
from typing import Any

import sphinx
from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.en import SearchEnglish

project = "loadcell"
author = "the loadcell authors"
project_copyright = author
extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4

#: Notebooks are executed by each build, in a directory for scratch files.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 300
#: Backticks in docstrings.
default_role = "code"
autodoc_typehints_format = "short"

html_theme = "furo"
html_title = "loadcell"
html_search_language = "english-chinese"
html_copy_source = False
html_show_sphinx = False
#: Sample reports, which `scripts/sample-reports` measures and writes.
html_extra_path = ["_build/extra"]

_CHINESE = r"[\u3400-\u9fff]"


class SearchBothLanguages(SearchEnglish):
    """English words, and each two neighbouring Chinese characters as one word.

    Chinese has no spaces between words. With pairs of characters any part of a sentence is found, without a
    dictionary.
    """

    js_splitter_code = r"""
    function splitQuery(query) {
      const words = [];
      for (const word of query.split(/[^\p{Letter}\p{Number}_]+/gu)) {
        for (const part of word.match(/[\u3400-\u9fff]+|[^\u3400-\u9fff]+/gu) || []) {
          if (!/[\u3400-\u9fff]/.test(part) || part.length === 1) words.push(part);
          else for (let at = 0; at + 1 < part.length; at++) words.push(part.slice(at, at + 2));
        }
      }
      return words;
    }
    """

    def split(self, input: str) -> list[str]:  # noqa: A002  (Sphinx's name)
        words = []
        for part in re.findall(rf"{_CHINESE}+|(?:(?!{_CHINESE})\w)+", input):
            if not re.match(_CHINESE, part) or len(part) == 1:
                words.append(part)
            else:
                words += [part[at : at + 2] for at in range(len(part) - 1)]
        return words


languages[html_search_language] = SearchBothLanguages


_SPHINX = gettext.translation("sphinx", Path(sphinx.__file__).parent / "locale", ["zh_CN"])
#: Words of the theme that Sphinx does not translate.
_THEME = {
    "On this page": "本页内容",
    "Back to top": "回到顶部",
    "Next": "下一页",
    "Previous": "上一页",
    "Home": "首页",
}


def in_chinese(text: str) -> str:
    """A word of the theme in Chinese."""
    return _THEME.get(text) or _SPHINX.gettext(text)


def one_language(_app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object) -> None:
    """Declare the language of a page, translate the theme's words, and leave the pages of the other language
    out of the navigation.
    """
    chinese = page.endswith(".zh-CN")
    context["language"] = "zh-CN" if chinese else "en"
    if chinese:
        context["_"] = context["gettext"] = in_chinese
    tree = context.get("furo_navigation_tree")
    if tree:
        sections = re.split(r'(?=<p class="caption")', tree)
        head, captioned = sections[0], sections[1:]
        shown = [
            section
            for section in captioned
            if bool(re.search(_CHINESE, section.partition("</p>")[0])) == chinese
        ]
        context["furo_navigation_tree"] = head + "".join(shown)


def setup(app: Sphinx) -> None:
    # After the theme, which makes the navigation at priority 500.
    app.connect("html-page-context", one_language, priority=900)
