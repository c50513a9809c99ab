"""If the theme changes a template that we have replaced, our version must be adapted."""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path

from conversations.admin.menu import MENU
from tests.house.source import ROOT, files

TEMPLATES = ROOT / "templates"
# Digests of the theme's templates that ours are based on. If a theme update changes a template,
# apply the change to our version as needed, and enter the new digest here.
ADAPTED_FROM = {
    "admin/base.html": "2ce9250b3c649e3a",
    "admin/filter.html": "0c4cab2e0096ba77",
    "admin/index.html": "9fdb849b7da18ccd",
    "registration/logged_out.html": "cad8c8cf769b9e91",
    "unfold/filters/filters_datetime_range.html": "ba811cf72b4da187",
    "unfold/filters/filters_field.html": "513952665a60fa00",
    "unfold/helpers/app_list_badge.html": "bc002ff5a001fd04",
    "unfold/helpers/command.html": "ae6ce324d8536613",
    "unfold/helpers/command_results.html": "5a2616efccaa8b4e",
    "unfold/helpers/edit_inline/inline_add.html": "e8bc669caf9a426b",
    "unfold/helpers/edit_inline/tabular_field.html": "ab1aab4fedf9f270",
    "unfold/helpers/edit_inline/tabular_heading.html": "eef46d03bc1655ad",
    "unfold/helpers/edit_inline/tabular_table.html": "57d22471b10cefc8",
    "unfold/helpers/empty_results.html": "5f4727a37a99da76",
    "unfold/helpers/header_title.html": "b126ed2ab9ca1680",
    "unfold/helpers/pagination_inline.html": "22f9fcaf5b00be94",
    "unfold/helpers/search.html": "91996c27181d14ad",
    "unfold/helpers/tab_error_count.html": "2f3c67b00851c60d",
    "unfold/helpers/welcomemsg.html": "e8eab02522ba2319",
    "unfold/layouts/skeleton.html": "66af9f0bb45f98ba",
    "unfold/layouts/unauthenticated.html": "768501529f1a8dae",
    "unfold/templatetags/preserve_changelist_filters.html": "b31da3521a20358e",
}
NAMES = ROOT / "config" / "static" / "icons" / "names.txt"
ICON = re.compile(r"material-symbols-outlined[^>]*>\s*([a-z_]+)\s*<")
# Icons of the theme's file field and JSON editor, which no form uses
NOT_SHOWN = {"file_upload", "compress", "expand", "handyman", "toolbar", "transform"}
NOT_SHOWN |= {"format_align_left", "format_align_right"}
# Maps icon names in the theme's styles to the names of the same icons in the font
ALIASES = {"navigate_before": "chevron_left", "navigate_next": "chevron_right"}
STYLE_ICON = re.compile(r'content:"([a-z_]{3,})"')


def theme() -> Path:
    """Return the folder that contains the theme's templates."""
    found = find_spec("unfold")
    assert found
    assert found.origin
    return Path(found.origin).parent / "templates"


def test_no_template_of_the_theme_has_changed_since_ours_was_adapted_from_it() -> None:
    ours = {str(path.relative_to(TEMPLATES)) for path in files(TEMPLATES)}
    folders = (theme(), theme().parent / "contrib" / "filters" / "templates")
    replaced = {
        name: folder / name for name in ours for folder in folders if (folder / name).is_file()
    }
    digests = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for name, path in replaced.items()
    }
    assert digests == ADAPTED_FROM


def test_the_replaced_page_frame_loads_the_themes_scripts_and_styles() -> None:
    """Our page frame loads all of the theme's files except those that we replace with our own."""
    frame = "unfold/layouts/skeleton.html"
    loaded = [
        {part for part in text.replace('"', "'").split("'") if part.startswith("unfold/")}
        for text in ((theme() / frame).read_text(), (TEMPLATES / frame).read_text())
    ]
    assert loaded[0] - loaded[1] == {
        "unfold/js/alpine/alpine.js",  # replaced by alpine/csp.js
        "unfold/fonts/inter/styles.css",  # replaced by inter/styles.css
        "unfold/fonts/material-symbols/styles.css",  # replaced by icons/styles.css
    }


def test_every_icon_is_in_the_font() -> None:
    """To add a missing icon, follow the instructions in the font's stylesheet."""
    texts = [path.read_text() for root in (TEMPLATES, theme()) for path in root.rglob("*.html")]
    shown = {name for text in texts for name in ICON.findall(text)}
    menu = {entry.icon for entries in MENU.values() for entry in entries}
    styles = (theme().parent / "static/unfold/css/styles.css").read_text()
    styled = {ALIASES.get(name, name) for name in STYLE_ICON.findall(styles)}
    assert "calendar_today" in styled
    shown |= styled
    assert len(shown) > 20
    assert (shown | menu) - NOT_SHOWN <= set(NAMES.read_text().split())
