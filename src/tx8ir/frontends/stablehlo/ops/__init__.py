"""Converters, by what operations do. Importing this package fills the registry."""

from __future__ import annotations

from . import arithmetic as arithmetic
from . import bits as bits
from . import calls as calls
from . import collectives as collectives
from . import convolution as convolution
from . import functions as functions
from . import indexing as indexing
from . import linear as linear
from . import movement as movement
from . import normalization as normalization
from . import reduction as reduction
from . import search as search
from . import windows as windows
