#!/usr/bin/python3
"""Accounts for a run of Kafka's verifiable producer and consumers whose members came and went.

    verifiable.py PRODUCER CONSUMER…     the files hold what each printed, one JSON object a line

Nothing acknowledged may be missing. A record may be consumed twice, by the protocol's rules, only while no commit covers it: the
member that had it went away, or lost its partition, before it committed. So no record below an offset whose commit was confirmed
may be consumed later than that confirmation. Times are those of one machine's clock, in ms.
"""
import json
import sys


def events(path):
    for line in open(path, errors="replace"):
        try:
            event = json.loads(line)
        except ValueError:
            continue  # a line that a killed process left torn, or a log line
        if isinstance(event, dict):
            yield event


def main():
    producer, consumers = sys.argv[1], sys.argv[2:]
    acked = {(e["partition"], e["offset"]): e["value"] for e in events(producer) if e.get("name") == "producer_send_success"}
    seen, commits, wrong = {}, [], 0
    for path in consumers:
        for e in events(path):
            if e.get("name") == "record_data":
                at = (e["partition"], e["offset"])
                seen.setdefault(at, []).append(e["timestamp"])
                wrong += at in acked and str(acked[at]) != str(e["value"])
            elif e.get("name") == "offsets_committed" and e.get("success"):
                commits += [(e["timestamp"], o["partition"], o["offset"]) for o in e["offsets"]]
    covered = {}  # when the commit of an offset above this record was first confirmed
    for when, partition, offset in sorted(commits):
        o = offset - 1
        while (partition, o) in seen and (partition, o) not in covered:
            covered[(partition, o)] = when
            o -= 1
    missing = [at for at in acked if at not in seen]
    twice = sum(len(times) - 1 for times in seen.values())
    rewound = sum(1 for at, times in seen.items() for when in times if at in covered and when > covered[at])
    print(f"{len(acked)} acknowledged, {len(missing)} lost, {wrong} changed, {twice} consumed again, {rewound} of them after a commit, {len(commits)} commits")
    return 1 if missing or wrong or rewound or not acked or not commits else 0


sys.exit(main())
