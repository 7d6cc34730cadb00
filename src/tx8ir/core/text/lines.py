"""What lines and names of the printed form look like."""

from __future__ import annotations

import re
from typing import Final

_BRACES: Final = r"\{(?:[^{}\"\n]++|\"[^\"\\\n]*+\")*+\}"
# One operation without regions and successors on one line, as the printer writes it (group 2: number of results).
# Possessive throughout: no line, however odd, is looked at twice. What it does not take, the slow way reads.
LINE: Final = re.compile(
    r"[ \t\n]*+(?:%([A-Za-z0-9_$.-]++)(?::([0-9]{1,9}+))? = )?\"([A-Za-z_][A-Za-z0-9_$.-]*+)\""
    r"\(((?:%[A-Za-z0-9_$.#-]++(?:, %[A-Za-z0-9_$.#-]++)*+)?+)\)"
    rf"( (?:<{_BRACES}>(?: {_BRACES})?+|{_BRACES}))?+ : (\([^\n/\"]*+)(?=\n|\Z)"
)
GIVEN_OUT: Final = re.compile(r"(?:[0-9].*|(?:arg|outer)[0-9]+)")
"""Value names that a printer makes, which say nothing; a name from elsewhere that looks like one gets a `_` before."""
ALIAS_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_$-]*|[0-9]+")
RESULT_NUMBER: Final = re.compile(r"#([0-9]+)")
