"""A stand-in for GitHub and for `gh`: bare repositories in a folder, whose students push as soon as they can.

Run as `gh`; the folder is that of the environment variable GITHUB_STAND_IN. It knows the calls that the page
on GitHub prints, and ends with an error for any other. `students/NAME.ipynb` is what a student pushes, and
`students/NAME.git` what one pushes who attacks.
"""

import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(os.environ.get("GITHUB_STAND_IN", "."))
HOOK = """#!/bin/sh
while read before after ref; do {python} {program} received {name} "$ref" "$after"; done
"""


def git(repository: Path, *words: str, **options) -> str:
    """What git prints in a repository."""
    environment = {**os.environ, "GIT_DIR": str(repository), **options.pop("env", {})}
    command = ["git", *words]
    done = subprocess.run(
        command, env=environment, text=True, stdout=subprocess.PIPE, check=True, **options
    )
    return done.stdout.strip()


def place(name: str) -> Path:
    """Where a repository OWNER/NAME lies."""
    return HOME / "repositories" / f"{name}.git"


def new(name: str) -> Path:
    """An empty repository that records what it receives."""
    repository = place(name)
    repository.parent.mkdir(parents=True, exist_ok=True)
    command = ["git", "init", "--quiet", "--bare", "--initial-branch=main", str(repository)]
    subprocess.run(command, check=True)
    hook = repository / "hooks" / "post-receive"
    hook.write_text(HOOK.format(python=sys.executable, program=__file__, name=name))
    hook.chmod(0o755)
    return repository


def received(name: str, ref: str, commit: str) -> None:
    """Record a push, the newest first."""
    path = place(name).with_suffix(".json")
    before = json.loads(path.read_text()) if path.exists() else []
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    entry = {"ref": ref, "after": commit, "timestamp": now, "activity_type": "push"}
    path.write_text(json.dumps([entry, *before]))


def create(name: str, template: str) -> None:
    """A repository with the files of a template and no history; then its student pushes."""
    source, repository = place(template), new(name)
    assert source.with_suffix(".template").exists(), f"{template} is no template"
    git(repository, "fetch", "--quiet", str(source), "main")
    tree = git(repository, "rev-parse", "FETCH_HEAD^{tree}")
    commit(name, tree)
    student = HOME / "students" / name.removeprefix(f"{template}-")
    if (notebook := student.with_suffix(".ipynb")).exists():
        blob = git(repository, "hash-object", "-w", str(notebook))
        (wanted,) = [
            file for file in git(repository, "ls-tree", "--name-only", tree).split("\n")
            if file.endswith(".ipynb")
        ]  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            git(repository, "read-tree", tree, env=index)
            git(repository, "update-index", "--cacheinfo", f"100644,{blob},{wanted}", env=index)
            changed = git(repository, "write-tree", env=index)
        commit(name, changed, "main")
    if (attack := student.with_suffix(".git")).exists():
        shutil.copytree(attack / "objects", repository / "objects", dirs_exist_ok=True)
        (own,) = (attack / "refs" / "heads" / "main").read_text().split()
        git(repository, "update-ref", "refs/heads/main", own)
        received(name, "refs/heads/main", own)


def commit(name: str, tree: str, *parents: str) -> None:
    """Commit a tree on main."""
    repository = place(name)
    words = [word for parent in parents for word in ("-p", parent)]
    own = git(repository, "commit-tree", tree, *words, "-m", "Exercise")
    git(repository, "update-ref", "refs/heads/main", own)
    received(name, "refs/heads/main", own)


def repository_of(path: str) -> str:
    """OWNER/NAME in an address of the API."""
    api, owner, name, *_ = path.split("/")
    assert api == "repos"
    return f"{owner}/{name}"


def main(words: list[str]) -> None:
    """Do what a call of `gh` does."""
    match words:
        case ["received", name, ref, own]:
            received(name, ref, own)
        case ["repo", "create", name, "--private", "--source", source, "--push"]:
            target = new(name)
            subprocess.run(["git", "push", "--quiet", str(target), "HEAD"], cwd=source, check=True)
        case ["repo", "edit", name, "--template"]:
            place(name).with_suffix(".template").touch()
        case ["repo", "create", name, "--private", "--template", template]:
            create(name, template)
        case ["api", "--silent", "--method", "PUT", path, "-f", "permission=push"]:
            assert place(repository_of(path)).exists() and "/collaborators/" in path
        case ["repo", "clone", name, target, *rest]:
            assert rest[:1] in ([], ["--"])
            subprocess.run(["git", "clone", *rest[1:], str(place(name)), target], check=True)
        case ["api", "--paginate", path]:
            assert path.endswith("/activity?per_page=100")
            # a page for each entry, as gh prints several pages
            for entry in json.loads(place(repository_of(path)).with_suffix(".json").read_text()):
                print(json.dumps([entry]), end="")
        case ["issue", "create", "--repo", name, "--title", title, "--body-file", file]:
            posted = HOME / "issues" / f"{name}.md"
            posted.parent.mkdir(parents=True, exist_ok=True)
            text = Path(file).read_text(encoding="utf-8")
            assert title and len(text) < 65_536
            posted.write_text(text, encoding="utf-8")
        case _:
            sys.exit(f"The stand-in for gh doesn't know this: {words}")


if __name__ == "__main__":
    main(sys.argv[1:])
