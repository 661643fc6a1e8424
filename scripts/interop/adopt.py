"""Holds the report of samsa adopt against what Apache Kafka's tools said: adopt.py DIRECTORY, with report.json, topics, features, groups,
transactions, quorum and ends in it. Prints every difference; the status is 1 if there is one."""
import json
import re
import sys

directory = sys.argv[1]
report = json.load(open(f"{directory}/report.json"))
wrong = 0
compared = 0


def equal(what, adopt, kafka):
    global wrong, compared
    compared += 1
    if adopt != kafka:
        wrong += 1
        print(f"{what}: adopt says {adopt!r}, Kafka says {kafka!r}")


def lines(name):
    return open(f"{directory}/{name}").read().splitlines()


topics = {t["name"]: t for t in report["topics"]}
seen = set()
for line in lines("topics"):
    m = re.match(r"Topic: (\S+)\s+TopicId: (\S+)\s+PartitionCount: (\d+)\s+ReplicationFactor: \d+\s+Configs: ?(.*)", line)
    if m:
        name, topic_id, partitions, configs = m.groups()
        seen.add(name)
        t = topics.get(name, {"id": "", "partitions": [], "configs": {}})
        equal(f"id of {name}", t["id"], topic_id)
        equal(f"partitions of {name}", len(t["partitions"]), int(partitions))
        # Kafka adds the cluster's own settings to those of the topic.
        said = dict(c.split("=", 1) for c in configs.split(",") if "=" in c)
        for key, value in (t["configs"] or {}).items():
            if "," not in value:
                equal(f"{key} of {name}", value, said.get(key))
equal("topics", sorted(topics), sorted(seen))

features = report["metadata"]["features"]
for line in lines("features"):
    m = re.match(r"Feature: (\S+)\s.*FinalizedVersionLevel: (\S+)", line)
    if m and m[1] == "metadata.version":
        equal("metadata.version", report["metadata"]["metadataVersion"].split("(")[1].rstrip(")"), m[2].split("-")[0])
    elif m and m[1] == "kraft.version":
        equal("kraft.version", report["metadata"]["quorum"], ["static", "dynamic"][int(m[2])])
    elif m:
        equal(m[1], features.get(m[1], 0), int(m[2]))

for line in lines("quorum"):
    key, _, value = (x.strip() for x in line.partition(":"))
    if key == "ClusterId":
        equal("cluster id", report["clusterId"], value)
    elif key == "LeaderId":
        equal("voters", report["metadata"]["voters"], [int(value)])
    elif key == "LeaderEpoch":
        equal("leader epoch", report["metadata"]["leaderEpoch"], int(value))

offsets = {}
for g in report["groups"]:
    for o in g["offsets"] or []:
        offsets[g["id"], o["topic"], o["partition"]] = o["offset"]
said = {}
for line in lines("groups"):
    f = line.split()
    if len(f) >= 6 and f[2].isdigit() and f[3].isdigit():
        said[f[0], f[1], int(f[2])] = int(f[3])
equal("committed offsets", offsets, said)
equal("types of groups", {g["id"]: g["type"] for g in report["groups"]}, {"classic-group": "classic", "new-group": "consumer"})

transactions = {}
for line in lines("transactions"):
    f = line.split()
    if len(f) == 4 and f[1].isdigit():
        transactions[f[0]] = (int(f[2]), f[3])
equal("transactional ids", {t["id"]: (t["producerId"], t["state"]) for t in report["transactions"]}, transactions)

for line in lines("ends"):
    name, partition, end = line.rsplit(":", 2)
    if name != "busy":  # it was written to when Kafka was killed
        equal(f"end of {name}-{partition}", topics[name]["partitions"][int(partition)]["logEnd"], int(end))
open_in = [t["name"] for t in report["topics"] for p in t["partitions"] if p.get("openTransactions")]
equal("topics with an open transaction", open_in, ["gone"])
equal("state", [d["state"] for d in report["directories"]], ["killed"])
equal("written by", (report["writer"]["program"], report["writer"]["version"]), ("kafka", "4.4"))
equal("serve takes it", report["serve"]["takes"], True)
print(f"{compared} facts compared, {wrong} differ")
sys.exit(1 if wrong else 0)
