"""`scripts/notices.py`: the licences that go into the .deb."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from nats_server import REPOSITORY


def script():
    spec = importlib.util.spec_from_file_location("notices", REPOSITORY / "scripts/notices.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["notices"] = module
    spec.loader.exec_module(module)
    return module


NOTICES = script()


def package(folder: Path, name: str, licence: str = "MIT", **files: str):
    home = folder / name
    for path, text in files.items():
        file = home / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return NOTICES.Package(name, "1.2.3", licence, "Ada", f"https://example.org/{name}", home)


def test_every_text_stands_once_under_the_names_of_those_that_have_it(tmp_path):
    one = package(tmp_path, "one", LICENSE="Be  kind.\n", NOTICE="By Ada.")
    two = package(tmp_path, "two", LICENSE="Be kind.", c_src__engine__COPYING="Of the engine.")
    text = NOTICES.notices([two, one])
    for reported in ("Be  kind.", "By Ada.", "Of the engine."):
        assert text.count(reported) == 1, reported
    names = ["one 1.2.3 (MIT), https://example.org/one", "two 1.2.3 (MIT), https://example.org/two"]
    assert "\n".join(names) in text.split("Be  kind.")[0]


def test_what_is_no_text_of_a_licence_is_left_out(tmp_path):
    one = package(
        tmp_path,
        "one",
        **{
            "LICENSES__MIT.txt": "kept",
            "license.rs": "code",
            "node_modules__two__LICENSE": "of another",
            "README": "x",
        },
    )
    assert list(one.texts()) == ["kept"]


def test_a_package_without_a_text_is_named_with_its_licence_and_one_without_both_is_refused(tmp_path):
    text = NOTICES.notices([package(tmp_path, "one")])
    assert "one 1.2.3 (MIT), https://example.org/one; Ada" in text
    with pytest.raises(NOTICES.NoticeError, match=r"neither a licence nor its text: two 1\.2\.3"):
        NOTICES.notices([package(tmp_path, "one"), package(tmp_path, "two", licence="")])


def test_what_cargo_links_is_read_whatever_stands_behind_it():
    tree = "countersign v0.1.0 (/some/where)\nring v0.17.14\nring v0.17.14 (*)\nzbus v6.2.1+x\n\n[build]\n"
    assert NOTICES.linked(tree) == {("countersign", "0.1.0"), ("ring", "0.17.14"), ("zbus", "6.2.1+x")}


def test_a_nats_server_that_is_built_of_something_else_is_told():
    named = (REPOSITORY / "docs/package-copyright").read_text()
    mod = b"path\tx\nmod\tgithub.com/nats-io/nats-server/v2\tv2.15.1\t\n"
    dep = b"dep\tgolang.org/x/crypto\tv0.57.0\th1:x=\n"
    assert NOTICES.unnamed(b"\0\xff" + mod + dep, named) == []
    assert NOTICES.unnamed(mod + dep.replace(b"crypto", b"text"), named) == ["golang.org/x/text"]
    with pytest.raises(NOTICES.NoticeError):
        NOTICES.unnamed(b"\x7fELF", named)


def test_the_packages_have_the_file_that_the_build_writes():
    for place in ("scripts/dist.sh", "scripts/audit.sh"):
        assert "scripts/notices.py dist/work/THIRD-PARTY-NOTICES" in (REPOSITORY / place).read_text(), place
    assert 'WORK / "THIRD-PARTY-NOTICES"' in (REPOSITORY / "packaging/prefix.py").read_text()
