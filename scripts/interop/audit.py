"""Compares what a producer was told with what is in the log and what a reader saw.

usage: audit.py ACKED ALL LIVE
  ACKED  output of Kafka's verifiable producer
  ALL    "samsa consume --json" of the whole topic at the end
  LIVE   the same from a reader that was connected all the time
"""
import json
import sys


def records(name):
    with open(name, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main(acked_file, all_file, live_file):
    problems = []
    log, values = {}, {}
    for r in records(all_file):
        log[(r["partition"], r["offset"])] = r["value"]
        values.setdefault(r["value"], []).append((r["partition"], r["offset"]))
    acked = {}
    with open(acked_file, encoding="utf-8") as lines:
        for line in lines:
            if '"producer_send_success"' in line:
                e = json.loads(line)
                acked[(e["partition"], e["offset"])] = e["value"]
    for place, value in acked.items():
        if log.get(place) != value:
            problems.append(f"acknowledged {value} at {place}, the log has {log.get(place)}")
    for value, places in values.items():
        if len(places) > 1:
            problems.append(f"{value} stands {len(places)} times: {places}")
    last = {}
    for r in records(live_file):
        place = (r["partition"], r["offset"])
        if r["offset"] <= last.get(r["partition"], -1):
            problems.append(f"the reader went back to {place} after {last[r['partition']]}")
        last[r["partition"]] = r["offset"]
        if log.get(place) != r["value"]:
            problems.append(f"the reader saw {r['value']} at {place}, the log has {log.get(place)}")
    print(f"{len(acked)} acknowledged, {len(log)} in the log, {len(problems)} problems")
    for p in problems[:20]:
        print(p)
    return 1 if problems or not acked or not last else 0


sys.exit(main(*sys.argv[1:]))
