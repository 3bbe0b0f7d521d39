"""The tarball: installed, moved, updated, refused and removed."""

from __future__ import annotations

from pathlib import Path

from newer import make_newer
from roots import DIST, HOME, Fresh, note, see

PLACE = "/opt/files"
ROUND = "PATH=$HOME/.local/bin:$PATH sh /opt/round.sh tarball headless"


def archive() -> Path:
    (found,) = DIST.glob("countersign-*-linux-x86_64.tar.gz")
    return found


def trial(debian: str) -> None:
    packed = archive()
    name = packed.name.removesuffix(".tar.gz")
    with Fresh(debian) as system:
        system.put(packed, f"{PLACE}/{packed.name}")
        system.put(Path(__file__).with_name("round.sh"), "/opt/round.sh")
        said = system.run(f"cd && tar xzf {PLACE}/{packed.name} && {name}/install.sh --unit")
        see("not on PATH yet" in said, f"install.sh does not say that bin is not on PATH: {said}")
        note(system.run(ROUND).strip())
        connect(system, name)
        update(system, name)
        moved(system, name)
        newer(system)
        refused(system, name)
        removed(system, name)


def connect(system: Fresh, name: str) -> None:
    """A tool that is connected keeps the program there."""
    both = "PATH=$HOME/.local/bin:$PATH; "
    system.run(both + "countersign connect claude-code")
    said = system.run(f"{both} $HOME/{name}/install.sh --uninstall", code=1)
    see("disconnect --all" in said, f"uninstall does not name disconnect: {said}")
    system.run(both + 'countersign disconnect --all && [ -z "$(countersign disconnect --all --dry-run)" ]')
    see("countersign" not in read(system, ".claude/settings.json"), "an entry of the hook was left")


def update(system: Fresh, name: str) -> None:
    """Over a console that runs, which goes on; the new one has the history."""
    system.run(
        f"""PATH=$HOME/.local/bin:$PATH
        countersign serve >/tmp/ready 2>/tmp/log & console=$!
        until countersign status --ready; do sleep 0.2; done 2>/dev/null
        $HOME/{name}/install.sh --unit
        countersign status --ready && kill $console && wait $console
        countersign history | grep -q deploy"""
    )


def moved(system: Fresh, name: str) -> None:
    system.run(
        f"""$HOME/{name}/install.sh --prefix $HOME/first && mv $HOME/first $HOME/second
        COUNTERSIGN_DATA_DIR=/tmp/moved PATH=$HOME/second/bin:$PATH
        export COUNTERSIGN_DATA_DIR
        countersign serve >/tmp/ready 2>/tmp/log & console=$!
        until countersign status --ready; do sleep 0.2; done 2>/dev/null
        kill $console; wait $console
        $HOME/{name}/install.sh --prefix $HOME/second --uninstall
        rm -rf /tmp/moved; [ -z "$(find $HOME/second)" ] || rmdir $HOME/second"""
    )


def newer(system: Fresh) -> None:
    """A store that a newer version wrote is read, and refused before anything is written."""
    data = next((system.path / HOME.lstrip("/") / ".local/share").glob("*countersign*"))
    system.run(f"cp -r $HOME/.local/share/{data.name} /tmp/newer")
    make_newer(system.path / "tmp/newer", "9.3.0")
    start = "PATH=$HOME/.local/bin:$PATH COUNTERSIGN_DATA_DIR=/tmp/newer; export COUNTERSIGN_DATA_DIR;"
    said = system.run(f"{start} countersign serve", code=8)
    see("last written by Countersign 9.3.0" in said, f"a newer store is not refused with words: {said}")
    see("migration" not in said, f"the words are of the inside: {said}")
    system.run(f"{start} countersign inbox && countersign status && rm -rf /tmp/newer")


def refused(system: Fresh, name: str) -> None:
    """A file that was changed stops the installation before it writes."""
    said = system.run(
        f"""cp -r $HOME/{name} /tmp/changed; printf x >>/tmp/changed/root/bin/countersign
        code=0
        /tmp/changed/install.sh --prefix /tmp/nowhere || code=$?; [ ! -e /tmp/nowhere ] || exit 9; exit $code""",
        code=1,
    )
    see("nothing was changed" in said, f"a changed file is not named: {said}")


def removed(system: Fresh, name: str) -> None:
    system.run(f"$HOME/{name}/install.sh --uninstall && rm -rf $HOME/{name} /tmp/changed /tmp/ready /tmp/log")
    left = system.run("find $HOME -name '*countersign*' -not -path '*/.local/share/*' | grep -v '\\.bak$' || :")
    see(left.strip() in ("", "/home/ada/.cache/countersign"), f"left behind: {left}")
    see(bool(system.run("ls -d $HOME/.local/share/*countersign*")), "the data folder is gone")


def read(system: Fresh, path: str) -> str:
    file = system.path / HOME.lstrip("/") / path
    return file.read_text() if file.is_file() else ""
