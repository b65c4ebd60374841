"""Makes what pages need to run and edit Python, and the letters that they are set in, from packages of npm.

    python -m book.vendored

book/_practice/vendor/package-lock.json pins the packages by version and hash. Python 3.11 and NumPy 1.24.1 for
WebAssembly are those of CoWasm (https://github.com/sagemathinc/cowasm); the editor is CodeMirror 6; the letters
are the Latin parts of Source Serif, Source Sans and Source Code as Fontsource cuts them. What is made is
committed, so that nobody needs npm to build the book: book/_vendor/python/, codemirror/ and faces/, each with
its licences, and versions.json with the hash of every file.

Install scripts don't run: those of CoWasm refuse every other tool than pnpm.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "_practice" / "vendor"
VENDOR = HERE / "_vendor"
NUMPY = Path("@cowasm/py-numpy/dist/wasm")
# what the packages take from Node, in a browser
BROWSER = (
    "--alias:path=path-browserify",
    "--alias:stream=stream-browserify",
    "--define:global=self",
    '--define:__dirname="/"',
    "--inject:node_globals.js",
)
# the files of each face, as packages of npm name them
FACES = {
    "source-serif-4": ("latin-400-normal", "latin-400-italic", "latin-600-normal"),
    "source-sans-3": ("latin-wght-normal",),
    "source-code-pro": ("latin-400-normal", "latin-600-normal"),
}
SCRIPTS = ("python/python.js.gz", "codemirror/editor.js.gz")
PACKAGE = re.compile(r"^node_modules/((?:@[^/]+/)?[^/]+)/")
# the earliest time that a zip can hold, so that the same files make the same bytes
EARLIEST = (1980, 1, 1, 0, 0, 0)


def _bundle(folder: Path, script: str, target: Path, *options: str) -> dict[str, Path]:
    """Bundle a script with all that it imports, compressed; returns the packages in it, by name."""
    esbuild = folder / "node_modules/.bin/esbuild"
    usual = ("--bundle", "--minify", "--format=iife", "--log-level=warning")
    found, bundled = folder / "packages.json", folder / "bundled.js"
    wanted = (f"--outfile={bundled}", f"--metafile={found}")
    subprocess.run([esbuild, script, *usual, *options, *wanted], cwd=folder, check=True)
    target.write_bytes(gzip.compress(bundled.read_bytes(), mtime=0))
    inputs = json.loads(found.read_text(encoding="utf-8"))["inputs"]
    names = {match[1] for match in map(PACKAGE.match, inputs) if match}
    return {name: folder / "node_modules" / name for name in sorted(names)}


def _library(modules: Path) -> dict[str, bytes]:
    """The files of Python's archive: path -> content."""
    found = {
        "python.wasm": (modules / "python-wasm/dist/python.wasm").read_bytes(),
        "kernel.wasm": (modules / "@cowasm/kernel/dist/kernel/kernel.wasm").read_bytes(),
    }
    numpy = "site-packages/"
    with zipfile.ZipFile(modules / "python-wasm/dist/python-stdlib.zip") as library:
        for path in (SOURCES / "library.txt").read_text(encoding="utf-8").split():
            if path.startswith(numpy):
                content = (modules / NUMPY / path.removeprefix(numpy)).read_bytes()
            else:
                content = library.read(path)
            found[f"python3.11/{path}"] = content
    return found


def _pack(held: dict[str, bytes], target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in sorted(held.items()):
            entry = zipfile.ZipInfo(path, EARLIEST)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            archive.writestr(entry, content, compresslevel=9)


def _licences(packages: dict[str, Path]) -> str:
    """What packages say of themselves: name, version, licence, and its text where they hold one."""
    parts = []
    for name, folder in packages.items():
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        texts = [
            p.read_text(encoding="utf-8") for p in sorted(folder.glob("[Ll][Ii][Cc][Ee][Nn]*"))
        ]
        licence = about.get("license", "see its licence")
        parts.append("\n".join([f"{name} {about['version']}: {licence}", "", *texts]))
    return f"\n{'-' * 72}\n".join(parts)


def _faces(modules: Path, target: Path) -> dict[str, Path]:
    """Copy the faces; returns their packages by name."""
    packages = {}
    for face, parts in FACES.items():
        name = f"@fontsource{'-variable' if 'wght' in parts[0] else ''}/{face}"
        packages[name] = modules / name
        for part in parts:
            shutil.copy(modules / name / "files" / f"{face}-{part}.woff2", target)
    return packages


def hashes(folder: Path) -> dict[str, str]:
    """The SHA-256 of each vendored file and of what is packed in Python's archive, by path."""
    contents = {name: gzip.decompress((folder / name).read_bytes()) for name in SCRIPTS}
    contents |= {f"faces/{path.name}": path.read_bytes() for path in folder.glob("faces/*.woff2")}
    with zipfile.ZipFile(folder / "python/python.zip") as archive:
        contents |= {name: archive.read(name) for name in archive.namelist()}
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def make(target: Path) -> None:
    """Make the folders python, codemirror and faces in a folder; needs npm and the package index."""
    python, editor, faces = target / "python", target / "codemirror", target / "faces"
    for folder in (python, editor, faces):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        work = Path(made).resolve()
        shutil.copytree(SOURCES, work, dirs_exist_ok=True)
        quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        subprocess.run(["npm", "ci", *quiet], cwd=work, check=True, stdout=subprocess.DEVNULL)
        modules = work / "node_modules"
        runs = _bundle(work, "python.js", python / "python.js.gz", *BROWSER)
        edits = _bundle(work, "editor.js", editor / "editor.js.gz")
        _pack(_library(modules), python / "python.zip")
        runs |= {name: modules / name for name in ("python-wasm", "@cowasm/py-numpy")}
        own = [
            (SOURCES / name).read_text(encoding="utf-8")
            for name in ("LICENSE.python", "LICENSE.numpy")
        ]
        (python / "LICENSE").write_text("\n".join([_licences(runs), *own]), encoding="utf-8")
        (editor / "LICENSE").write_text(_licences(edits), encoding="utf-8")
        (faces / "LICENSE").write_text(_licences(_faces(modules, faces)), encoding="utf-8")
    text = json.dumps(hashes(target), indent=1, sort_keys=True)
    (python / "versions.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(VENDOR)
