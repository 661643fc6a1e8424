"""kafka-python for the matrix of interop: the same line format as the other clients.

usage: client.py produce CODEC TOPIC <lines        client.py consume TOPIC COUNT >lines
A line is key<TAB>value<TAB>headers: key \\N is null; headers are name=value, joined by commas.
"""
import os
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

BROKER = os.environ["BROKER"]


def parse(line):
    key, value, headers = line.split("\t")
    pairs = [h.split("=", 1) for h in headers.split(",") if h]
    return (
        None if key == "\\N" else key.encode(),
        None if value == "\\N" else value.encode(),
        [(name, text.encode()) for name, text in pairs],
    )


def show(record):
    text = lambda b: "\\N" if b is None else b.decode()
    headers = ",".join(f"{name}={value.decode()}" for name, value in record.headers)
    return f"{text(record.key)}\t{text(record.value)}\t{headers}"


def produce(codec, topic):
    producer = KafkaProducer(
        bootstrap_servers=BROKER, acks="all", linger_ms=20, compression_type=None if codec == "none" else codec
    )
    sent = []
    for line in sys.stdin.read().splitlines():
        key, value, headers = parse(line)
        sent.append(producer.send(topic, value=value, key=key, headers=headers))
    for future in sent:
        future.get(timeout=20)
    producer.close()


def consume(topic, count):
    consumer = KafkaConsumer(bootstrap_servers=BROKER, consumer_timeout_ms=15000, auto_offset_reset="earliest")
    partitions = consumer.partitions_for_topic(topic)
    consumer.assign([TopicPartition(topic, p) for p in partitions])
    consumer.seek_to_beginning()
    seen = 0
    for record in consumer:
        print(show(record))
        seen += 1
        if seen == count:
            break
    consumer.close()


if sys.argv[1] == "produce":
    produce(sys.argv[2], sys.argv[3])
else:
    consume(sys.argv[2], int(sys.argv[3]))
