"""A policy on the Hub and back: what is uploaded, and how strangers' repositories are met.

The Hub is a server of this machine that answers as the real one does for one file.
"""

import http.server
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

import recall_rl
from recall_rl.cli.main import main
from recall_rl.collect.policy import Actor, Dense
from recall_rl.errors import UsageError
from recall_rl.runs.policy import About, Policy, encode_policy
from recall_rl.tasks.protocol import protocol

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def policy(method="recall", tasks=("reach-0", "reach-180")):
    """One that stands still."""
    still = Actor((Dense(np.zeros((4, 4), np.float32), np.array([0, 0, -6, -6], np.float32)),), "relu")
    return Policy(About(method, 1, 240, 2, "smoke", protocol("own"), tasks, "relu", 2), (still,) * len(tasks))


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.safetensors"
    path.write_bytes(encode_policy(policy()))
    return path


class Hub(http.server.BaseHTTPRequestHandler):
    """Serves `content` as policy.safetensors of someone/two; `claimed` is the size it says it has."""

    content = b""
    claimed = None
    asked: list[str] = []  # noqa: RUF012

    def do_HEAD(self):
        self._answer(body=False)

    def do_GET(self):
        self._answer(body=True)

    def _answer(self, body):
        if self.path.startswith("/someone/"):  # The library asks the Hub for things of its own too.
            self.asked.append(f"{self.command} {self.path}")
        known = re.fullmatch(r"/someone/two/resolve/[\w.-]+/policy\.safetensors", self.path) is not None
        self.send_response(200 if known else 404)
        self.send_header("ETag", '"0011223344556677001122334455667700112233445566770011223344556677"')
        self.send_header("X-Repo-Commit", COMMIT)
        if not known:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", str(self.claimed or len(self.content)) if known else "0")
        self.end_headers()
        if body and known:
            self.wfile.write(self.content)

    def log_message(self, *words):
        """Say nothing."""


@pytest.fixture
def hub():
    """The server's handler, to be filled, and its address."""
    handler = type("Filled", (Hub,), {"asked": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield handler, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def recall(tmp_path, endpoint, *words):
    """`recall` with its own cache of the Hub, which it believes to be at this address."""
    found = {k: v for k, v in os.environ.items() if not k.startswith("HF_") and "proxy" not in k.lower()}
    own = {"HF_ENDPOINT": endpoint, "HF_HOME": str(tmp_path / "hub"), "HF_TOKEN": "hf_none", "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, "-m", "recall_rl", *map(str, words)],
        env={**found, **own},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_policy_is_fetched_checked_and_played(hub, tmp_path):
    handler, address = hub
    handler.content = encode_policy(policy())
    done = recall(tmp_path, address, "evaluate", "hf:someone/two", "--episodes", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["task"] for line in done.stdout.splitlines()] == ["reach-0", "reach-180"]
    assert {line.split()[1] for line in handler.asked} - {f"/someone/two/resolve/{COMMIT}/policy.safetensors"} == {
        "/someone/two/resolve/main/policy.safetensors"
    }
    # The second time there is no network.
    again = recall(tmp_path, "http://127.0.0.1:9", "export", "hf:someone/two", "--out", tmp_path / "a.safetensors")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "a.safetensors").read_bytes() == handler.content


@pytest.mark.parametrize(
    ("content", "claimed", "sentence"),
    [
        (b"\x80\x04\x95", None, "is not a policy of recall-rl"),
        (encode_policy(policy())[:-1], None, "is not a policy of recall-rl"),
        (b"x", 1 << 40, "larger than 1,073,741,824 bytes"),
        (encode_policy(policy(tasks=("gym:os:Env-v0",))), None, "--trust-code"),
    ],
)
def test_what_a_stranger_put_there_is_met_with_a_sentence(hub, tmp_path, content, claimed, sentence):
    handler, address = hub
    handler.content, handler.claimed = content, claimed
    done = recall(tmp_path, address, "evaluate", "hf:someone/two", "--episodes", 1)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    if claimed:
        assert {line.split()[0] for line in handler.asked} == {"HEAD"}


def test_a_repository_that_is_not_there_gets_a_sentence(hub, tmp_path):
    done = recall(tmp_path, hub[1], "evaluate", "hf:someone/none", "--episodes", 1)
    assert done.returncode == 1
    assert done.stderr.startswith("recall: hf:someone/none cannot be fetched: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["hf:two", "hf:../two", "hf:a/b/c", "hf:a/b@-x", "hf:/etc/passwd", "hf:a/b?c"])
def test_names_that_no_repository_has_are_refused(name):
    with pytest.raises(UsageError, match=r"OWNER/NAME|branch"):
        recall_rl.load(name)


def test_an_upload_that_fails_says_why_in_a_sentence(file, tmp_path):
    done = recall(tmp_path, "http://127.0.0.1:9", "push", file, "someone/two", "--episodes", 0)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("recall: The Hub did not take the upload to someone/two: ")
    assert "hf auth login" in line


def test_a_dry_run_writes_what_would_be_uploaded(file, tmp_path, capsys):
    (tmp_path / "look.gif").write_bytes(b"GIF89a")
    folder = tmp_path / "folder"
    words = ["--episodes", "2", "--dry-run", str(folder), "--video", str(tmp_path / "look.gif"), "--license", "mit"]
    assert main(["push", str(file), "someone/two", *words]) == 0
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "policy.safetensors", "results.json", "video.gif"]
    assert (folder / "policy.safetensors").read_bytes() == file.read_bytes()
    results = json.loads((folder / "results.json").read_text())
    assert [(r["task"], r["episodes"]) for r in results] == [("reach-0", 2), ("reach-180", 2)]
    card = (folder / "README.md").read_text()
    for words in ("reach-180", "240 over all tasks", "smoke", "hf:someone/two", "![the policy at work](video.gif)"):
        assert words in card
    import yaml

    head = yaml.safe_load(card.split("---\n")[1])
    assert (head["library_name"], head["license"]) == ("recall-rl", "mit")
    assert [r["dataset"]["type"] for r in head["model-index"][0]["results"]] == ["reach-0", "reach-180"]


def test_the_card_shows_names_and_not_their_markup():
    from recall_rl.reports.card import card

    text = card(policy(method="<b>|x|</b> [a](http://b)"), "someone/two", [], None, None)
    row = next(line for line in text.splitlines() if line.startswith("| method"))
    assert row == r"| method | &lt;b&gt;\|x\|&lt;/b&gt; \[a\](http://b) |"


def test_wrong_questions_get_a_sentence(file, tmp_path):
    with pytest.raises(UsageError, match="OWNER/NAME"):
        recall_rl.push(file, "two")
    with pytest.raises(UsageError, match="not a video"):
        recall_rl.push(file, "someone/two", video=tmp_path / "none.mp4")
    with pytest.raises(UsageError, match="negative"):
        recall_rl.push(file, "someone/two", episodes=-1)
