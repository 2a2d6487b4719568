"""Every block of the documentation does what the page says, or says why it is not tried."""

import os

import pytest
from blocks import ROOT, Reader, blocks, complaint, pages, shell


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """That of a reader, who compiles each program once for all pages."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled"))}
    return {**os.environ, **cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.05"}


@pytest.mark.parametrize("page", pages())
def test_a_page_does_what_it_says(page, tmp_path, environment):
    reader = Reader(tmp_path, environment)
    for block in blocks((ROOT / page).read_text()):
        wrong = complaint(block)
        if wrong is None and block.not_run is None:
            wrong = reader.follow(block)
        assert wrong is None, f"{page}, line {block.line}: {wrong}"


PAGE = """
<!-- not run: it would take a week -->
```sh
sleep 604800
```

<!-- in CI: short -->
<!-- in CI: evaluate --episodes 2 -->
```sh
pip install "recall-rl[report]"   # there already
recall train --sequence probe \\
    --budget smoke                # learn
recall evaluate runs/a
recall list
```

```toml
# a.toml
seeds = [1]
```

```python
from pathlib import Path
assert Path("a.toml").read_text().endswith("seeds = [1]\\n")
```

```sh
exit 3
```

```ruby
puts 1
```

```{note}
A directive is not a block.
```
"""


def test_blocks_are_read_marked_and_run(tmp_path):
    week, learn, toml, python, leave, ruby = blocks(PAGE)
    assert toml.in_ci == python.in_ci == ()
    assert learn.in_ci == ("short", "evaluate --episodes 2")
    assert learn.not_run is None
    assert week.not_run == "it would take a week"
    assert complaint(week) is None
    assert "ruby" in complaint(ruby)
    lines = shell(learn).splitlines()
    assert lines[1].startswith("recall train --sequence probe --budget smoke --set training.steps=")
    assert lines[1].endswith("# learn")
    assert lines[2:] == ["recall evaluate runs/a --episodes 2", "recall list"]
    reader = Reader(tmp_path, dict(os.environ))
    assert reader.follow(python) is not None, "the file is not written yet"
    assert reader.follow(toml) is None
    assert reader.follow(python) is None
    assert "code 3" in reader.follow(leave)


def test_what_cannot_be_meant_is_noticed():
    (unused,) = blocks("<!-- in CI: short -->\n```sh\nrecall list\n```\n")
    with pytest.raises(AssertionError, match="nothing to shorten"):
        shell(unused)
    (extra,) = blocks('```sh\npip install "recall-rl[vidoe]"\n```\n')
    with pytest.raises(AssertionError, match="vidoe"):
        shell(extra)
    (silent,) = blocks("<!-- not run: -->\n```sh\nrecall list\n```\n")
    assert "without a reason" in complaint(silent)
