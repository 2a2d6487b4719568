import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
project = "recall-rl"
author = "the recall-rl developers"
copyright = "2026, the recall-rl developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "recall-rl"
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_typehints = "description"
nitpicky = False
