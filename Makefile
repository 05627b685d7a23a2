# The project's commands. `make` alone lists them.
#
# Only `dev` writes to standard output: its first line is the URL of the control plane once it answers. What building has
# to say goes to standard error.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help dev test test-fast test-real test-portal check fmt bench soak

export PATH := $(CURDIR)/target/tools/bin:$(HOME)/.cargo/bin:$(PATH)

# The dev profile: dependencies are optimised in it already, and `make test` uses the same build. `make dev PROFILE=release`
# for everything optimised.
PROFILE ?= dev
profile_dir := $(if $(filter dev,$(PROFILE)),debug,$(PROFILE))

help: ## List these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'

dev: ## Build and run a control plane with a simulated fleet; state stays in .dev/, RESET=1 starts over
	@scripts/install-build-tools
	@scripts/portal build
	@cargo build --locked --profile $(PROFILE) --package cli --bin gpuaas 1>&2
	@exec target/$(profile_dir)/gpuaas dev --data-dir .dev $(if $(filter-out 0,$(RESET)),--reset)

test: ## Install what is missing, then check and test everything
	@scripts/test

test-fast: ## Format, rules, and the crates that need no database: under a minute once built
	@scripts/install-build-tools
	@cargo fmt --all --check
	@cargo xtask check
	@cargo test --locked --quiet --package model --package topology --package engine --package lifecycle --package api \
		--package xtask

test-real: ## The tests on QEMU, libvirt, Open vSwitch and NVMe, with what they need; as root
	@scripts/install-build-tools
	@scripts/test-real

test-portal: ## Whole journeys through the portal and every page of it, in Chromium
	@scripts/install-build-tools
	@scripts/portal build
	@cargo build --locked --package cli --bin gpuaas
	@scripts/portal browser-test

check: ## Everything of `make test` that needs no test to run: format, rules, lints, licences
	@scripts/install-test-tools
	@scripts/check

fmt: ## Format the sources
	@cargo fmt --all

bench: ## Measure, against limits measured in the same run: BENCH name value unit limit ratio; JSON in target/bench/
	@scripts/install-test-tools
	@if [ "$$(id -u)" = 0 ]; then scripts/install-real-tools && scripts/real/build-tiny-image target/real/tiny.raw; fi
	@scripts/portal build
	@cargo build --locked --quiet --release --package cli --package agent --package hostd --bins
	@cargo run --locked --quiet --release --package xtask --features bench --bin bench
	@scripts/portal bench

soak: ## The long campaigns at full count: seeds, kills, fuzzing
	@scripts/install-test-tools
	@GPUAAS_SOAK=1 cargo test --locked --workspace --release -- --nocapture
	@GPUAAS_SOAK=1 scripts/schemathesis
