# The one door to everything. `make run` and `make test` set up what they need by themselves.
.PHONY: run demo test test-ble bench bench-ble fuzz sanitizers check format setup setup-test clean

SHELL = /bin/bash

run: setup
	@scripts/run

demo: setup-test
	@scripts/demo

test: setup-test
	@scripts/test

test-ble: setup-test
	@scripts/rig

bench: setup-test
	@scripts/bench

bench-ble: setup-test
	@scripts/bench-ble

sanitizers: setup-test
	@scripts/sanitizers

fuzz: setup
	@scripts/fuzz

check: setup
	@scripts/check

format:
	@swift format --configuration .swift-format -i -r Sources Tests Package.swift

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

clean:
	@rm -rf .build artefacts
