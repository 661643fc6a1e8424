"""Turns the JSON of "samsa consume --json" into the lines of the matrix."""
import json
import sys

for line in sys.stdin:
    record = json.loads(line)
    text = lambda s: "\\N" if s is None else s
    headers = ",".join(f"{h['key']}={h['value']}" for h in record.get("headers", []))
    print(f"{text(record['key'])}\t{text(record['value'])}\t{headers}")
