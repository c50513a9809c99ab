"""Published files mention no package registry, and no folder that exists on only one machine."""

import re

from tests.house.source import files, place

# The names are assembled from parts, because the rule also applies to this file.
HOSTS = ("pypi" + ".org", "python" + "hosted.org", "npmjs" + ".org", "deb.debian" + ".org")
FOLDERS = ("work", "root")
FORBIDDEN = re.compile(
    "|".join([*map(re.escape, HOSTS), *(rf"(?<![\w.)}}-])/{name}(?![\w-])" for name in FOLDERS)])
)


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    texts = {place(path): path.read_bytes().decode(errors="ignore") for path in files()}
    assert not {name: found[0] for name, text in texts.items() if (found := FORBIDDEN.search(text))}


def test_the_rule_finds_registries_and_folders() -> None:
    for text in (f"https://{HOSTS[0]}/simple", "cd /" + "work/main", '"/' + 'root"'):
        assert FORBIDDEN.search(text)
    for text in ("docs/work/plan", "the network/root cause", "{folder}/root", "/workers"):
        assert not FORBIDDEN.search(text)
