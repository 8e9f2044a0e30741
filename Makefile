# The one door to everything. `make run` and `make test` set up what they need by themselves.
.PHONY: run demo test check bench format setup setup-test sanitizers clean

SHELL = /bin/bash

run: setup
	@scripts/run

demo: setup-test
	@scripts/demo

test: setup-test
	@scripts/test

check: setup
	@scripts/check

bench: setup-test
	@scripts/bench

format:
	@swift format --configuration .swift-format -i -r Sources Tests Package.swift

sanitizers: setup-test
	@scripts/sanitizers

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

clean:
	@rm -rf .build .build-thread .build-address artefacts
