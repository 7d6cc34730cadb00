"""Reports as text and HTML, and pictures of programs and runs."""

from __future__ import annotations

from tx8ir.viz.dataflow import DataflowGraph, dot, svg
from tx8ir.viz.report import CompileReport, Report, RunReport, Stage, Table, format_bytes

__all__ = ["CompileReport", "DataflowGraph", "Report", "RunReport", "Stage", "Table", "dot", "format_bytes", "svg"]
