"""The pictures of the documentation are those that its script draws, and they are well formed."""

import sys
from xml.etree import ElementTree

from blocks import ROOT

sys.path.insert(0, str(ROOT / "docs"))


def test_pictures_are_as_the_script_draws_them():
    from pictures import drawn

    for name, svg in drawn().items():
        assert (ROOT / "docs" / "_static" / name).read_text() == svg, f"{name}: run python docs/pictures.py"
        assert ElementTree.fromstring(svg).get("aria-label"), name
        assert name in (ROOT / "docs" / "concepts.md").read_text()
