# The one door to everything. `make run` and `make test` set up what they need by themselves.
.PHONY: run demo test test-all test-beyond test-exhaustive test-ble image bundle test-image bench bench-ble fuzz mutants sanitizers check format setup setup-test setup-image clean

SHELL = /bin/bash

run: setup
	@scripts/run

demo: setup-test
	@scripts/demo

# make test ONLY=Payments,Journal: these parts; CHANGED=1: what can see a change; SEED=…: another commit's samples.
export ONLY CHANGED SEED LANES

test: setup-test
	@scripts/test

test-all: setup-test
	@scripts/test all

# What test-all plays and test does not.
test-beyond: setup-test
	@scripts/test beyond

test-exhaustive: setup-test
	@scripts/test exhaustive

test-ble: setup-test
	@scripts/rig

image: setup-image
	@scripts/image

# make bundle KEY=signer.key CERT=signer.pem: what a terminal installs as an update.
bundle: setup-image
	@image/bundle .build/image/out "$(KEY)" "$(CERT)" .build/image/out/till.raucb

test-image: setup-image setup-test
	@scripts/test-image

bench: setup-test
	@scripts/bench

bench-ble: setup-test
	@scripts/bench-ble

sanitizers: setup-test
	@scripts/sanitizers

fuzz: setup
	@scripts/fuzz

# make mutants ONLY=voucher,refund: the faults with such a word in their names.
mutants: setup-test
	@scripts/mutants

check: setup
	@scripts/check

format:
	@swift format --configuration .swift-format -i -r Sources Tests Package.swift

setup:
	@scripts/setup

setup-test:
	@scripts/setup test

setup-image:
	@scripts/setup image

clean:
	@rm -rf .build artefacts
