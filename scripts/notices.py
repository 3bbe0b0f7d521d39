"""Writes the licences of everything that is built into the program: notices.py FILE

Rust crates with the feature `gui` and npm packages of the page, as they are installed. Refuses a package of which
neither a licence text nor the name of a licence is there, and a nats-server whose parts `docs/package-copyright` does
not name.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXT = re.compile(r"(un)?licen[sc]e|copying|copyright|notice", re.IGNORECASE)
NO_TEXT = frozenset({".rs", ".js", ".mjs", ".cjs", ".ts", ".py", ".c", ".h", ".json", ".toml", ".html", ".pl", ".go"})
MODULE = re.compile(rb"^(?:mod|dep)\t(\S+)\tv\S+\t", re.MULTILINE)


class NoticeError(Exception):
    """What may not be passed on as it is."""


@dataclass(frozen=True, slots=True)
class Package:
    """What is built in. `licence` is an SPDX expression, or what the package writes in its place."""

    name: str
    version: str
    licence: str
    authors: str
    page: str
    folder: Path

    def texts(self) -> Iterator[str]:
        """Its licence texts, those of what it has in it too."""
        for file in sorted(self.folder.rglob("*")):
            inside = file.relative_to(self.folder)
            named = TEXT.match(inside.name) or (len(inside.parts) > 1 and TEXT.match(inside.parts[-2]))
            # What a package of npm's brings along in its own folder is listed by itself.
            if named and file.suffix.lower() not in NO_TEXT and "node_modules" not in inside.parts and file.is_file():
                yield file.read_text(encoding="utf-8", errors="replace").strip()


def linked(tree: str) -> set[tuple[str, str]]:
    """Names and versions in the answer of `cargo tree --prefix none`."""
    return set(re.findall(r"^(\S+) v(\S+)", tree, re.MULTILINE))


def crates() -> Iterator[Package]:
    # Neither what only builds the program nor what only tests it, with the features that it then has.
    edges = ["--edges", "normal,no-proc-macro", "--prefix", "none"]
    built_in = linked(output("cargo", "tree", "--locked", "--package", "countersign", "--features", "gui", *edges))
    metadata = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1", "--features", "gui"))
    for crate in metadata["packages"]:
        name, version = crate["name"], crate["version"]
        if (name, version) not in built_in or crate["source"] is None:
            continue
        licence, authors = crate["license"] or "", ", ".join(crate["authors"])
        page = f"https://crates.io/crates/{name}/{version}"
        yield Package(name, version, licence, authors, page, Path(crate["manifest_path"]).parent)


def modules() -> Iterator[Package]:
    for package in json.loads(output("npm", "query", ".prod", folder="ui")):
        if package["location"] == "":
            continue
        name, version, author = package["name"], package["version"], package.get("author") or ""
        author = author if isinstance(author, str) else author.get("name", "")
        page = f"https://www.npmjs.com/package/{name}/v/{version}"
        yield Package(name, version, str(package.get("license") or ""), author, page, Path(package["path"]))


def output(*command: str, folder: str = ".") -> str:
    done = subprocess.run(command, cwd=ROOT / folder, check=True, capture_output=True, text=True)  # noqa: S603
    return done.stdout


def notices(packages: Iterable[Package]) -> str:
    """Each text once, under the names of those that have it; last those that bring none."""
    by_text: dict[str, tuple[str, list[Package]]] = {}
    without: list[Package] = []
    for package in sorted(set(packages), key=lambda one: (one.name, one.version)):
        texts = {" ".join(text.split()): text for text in package.texts()}
        for spaced, text in texts.items():
            by_text.setdefault(spaced, (text, []))[1].append(package)
        if not texts:
            without.append(package)
    nameless = [f"{one.name} {one.version}" for one in without if not one.licence]
    if nameless:
        raise NoticeError(f"neither a licence nor its text: {', '.join(nameless)}")
    parts = [
        "What is built into Countersign, with its licences. The source of each is at its address.\n",
        "Beside them: Rust's standard library, MIT OR Apache-2.0, The Rust Project Developers, https://www.rust-lang.org",
    ]
    for text, having in by_text.values():
        parts += ["", "=" * 80, *map(line, having), "=" * 80, "", text]
    if without:
        parts += ["", "=" * 80, "These name their licence and bring no text along.", "=" * 80, ""]
        parts += [f"{line(package)}; {package.authors or 'its contributors'}" for package in without]
    return "\n".join(parts) + "\n"


def line(package: Package) -> str:
    return f"{package.name} {package.version} ({package.licence or 'see below'}), {package.page}"


def unnamed(server: bytes, copyright_file: str) -> list[str]:
    """The Go modules that a nats-server says are in it and this file does not name."""
    found = {name.decode() for name in MODULE.findall(server)}
    if not found:
        raise NoticeError("nats-server does not say of which modules it is built")
    return sorted(name for name in found if name not in copyright_file.split())


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: notices.py FILE")
    try:
        text = notices([*crates(), *modules()])
        server = (ROOT / ".setup/bin/nats-server").read_bytes()
        missing = unnamed(server, (ROOT / "docs/package-copyright").read_text())
        if missing:
            raise NoticeError(
                f"docs/package-copyright does not name what nats-server is built of: {', '.join(missing)}"
            )
    except NoticeError as why:
        print(f"notices: {why}", file=sys.stderr)
        return 1
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    print(f"licences of what is built in: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
