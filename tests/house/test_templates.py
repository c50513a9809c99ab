"""Every icon that a page shows is in the icon font; a missing one would appear as a word."""

import re
from importlib.util import find_spec
from pathlib import Path

from conversations.admin.menu import MENU
from tests.house.source import ROOT

NAMES = ROOT / "config" / "static" / "icons" / "names.txt"
ICON = re.compile(r"material-symbols-outlined[^>]*>\s*([a-z_]+)\s*<")
# Icons of the theme's file field and JSON editor, which no form uses
NOT_SHOWN = {"file_upload", "compress", "expand", "handyman", "toolbar", "transform"}
NOT_SHOWN |= {"format_align_left", "format_align_right"}
# Maps icon names in the theme's styles to the names of the same icons in the font
ALIASES = {"navigate_before": "chevron_left", "navigate_next": "chevron_right"}
STYLE_ICON = re.compile(r'content:"([a-z_]{3,})"')


def test_every_icon_is_in_the_font() -> None:
    """To add a missing icon, follow the instructions in the font's stylesheet."""
    found = find_spec("unfold")
    assert found
    assert found.origin
    theme = Path(found.origin).parent
    texts = [
        path.read_text()
        for root in (ROOT / "templates", theme / "templates")
        for path in root.rglob("*.html")
    ]
    shown = {name for text in texts for name in ICON.findall(text)}
    styles = (theme / "static/unfold/css/styles.css").read_text()
    shown |= {ALIASES.get(name, name) for name in STYLE_ICON.findall(styles)}
    assert len(shown) > 20
    menu = {entry.icon for entries in MENU.values() for entry in entries}
    assert (shown | menu) - NOT_SHOWN <= set(NAMES.read_text().split())
