# The only commands to remember. Everything goes into .venv and engine/target.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp

.PHONY: setup engine demo test lint bench docs clean

setup: $(STAMP) engine

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip maturin
	touch $(STAMP)

engine: $(STAMP)
	$(BIN)/maturin develop --release --quiet
