"""The fixtures of suites about passes."""

from __future__ import annotations

from support.pass_fixtures import assert_same as assert_same
from support.pass_fixtures import build as build
from support.pass_fixtures import cycles as cycles
from support.pass_fixtures import names as names
from support.pass_fixtures import run as run
from support.pass_fixtures import twice as twice
