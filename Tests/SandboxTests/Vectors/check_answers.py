"""Holds answers against an OpenAPI document: one JSON object a line on standard input, with method, path (the
document's template), status and body. Prints each disagreement; the exit code is their number, at most 100."""

import json
import sys

from jsonschema import Draft202012Validator

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
faults = 0
for line in sys.stdin:
    answer = json.loads(line)
    where = f"{answer['method']} {answer['path']} {answer['status']}"
    operation = document["paths"][answer["path"]][answer["method"].lower()]
    documented = operation["responses"].get(str(answer["status"]))
    if documented is None:
        print(f"{where}: this status is not documented: {json.dumps(answer['body'])}")
        faults += 1
        continue
    schema = dict(documented["content"]["application/json"]["schema"], components=document["components"])
    for error in Draft202012Validator(schema).iter_errors(answer["body"]):
        print(f"{where}: {error.json_path}: {error.message[:300]}")
        faults += 1
sys.exit(min(faults, 100))
