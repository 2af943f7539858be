"""Loads the programs of scripts/, which have no suffix, as modules."""

from __future__ import annotations

import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


def load_script(name: str) -> ModuleType:
    """Import scripts/NAME, with the modules beside it, and without writing byte code there."""
    module_name = name.replace("-", "_")
    spec = spec_from_loader(module_name, SourceFileLoader(module_name, str(SCRIPTS / name)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(SCRIPTS))
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setitem(sys.modules, module_name, module)
        spec.loader.exec_module(module)
    return module
