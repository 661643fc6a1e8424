import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/**
 * Clients that live through stops and starts of the broker: {@code SwapClients BOOTSTRAP PROTOCOL…}. Two idempotent
 * producers number their records; a transactional one moves money between two partitions, so that what a reader of committed
 * records sees sums up to nothing; a group of two members for each protocol (classic, consumer, share) reads the numbers. What
 * a share group has acknowledged does not come again, and all that was produced comes. "streams" is an application of Kafka
 * Streams (KIP-1071) that copies the numbers exactly once; its state goes to the directory in SWAP_STATE.
 *
 * Commands come on standard input, a line each: "calm" leaves one transaction open, with its records acknowledged, and lets no
 * other begin, and is answered by "calm"; "go" commits it and goes on; "finish" ends all clients, reads everything again and
 * accounts for it. A line for each violation, then one with counts; status 1 if there was any.
 *
 * A producer has one batch in flight, because Apache Kafka remembers one batch per producer across an unclean stop.
 */
public final class SwapClients {
    static final String NUMBERS = "swap-numbers", BANK = "swap-bank", COPIES = "swap-copies";
    static final int PARTITIONS = 3;
    static final Duration LONG = Duration.ofMinutes(3);

    final String bootstrap;
    volatile boolean ending;
    int copied;
    final Map<TopicPartition, Map<Long, String>> acked = new ConcurrentHashMap<>();
    final AtomicLong acknowledged = new AtomicLong(), commits = new AtomicLong();
    final Set<String> committed = ConcurrentHashMap.newKeySet(), aborted = ConcurrentHashMap.newKeySet();
    final List<String> violations = new ArrayList<>();

    SwapClients(String bootstrap) {
        this.bootstrap = bootstrap;
        for (int p = 0; p < PARTITIONS; p++) acked.put(new TopicPartition(NUMBERS, p), new ConcurrentHashMap<>());
    }

    synchronized void violation(String text) {
        if (violations.size() < 50) violations.add(text);
    }

    Properties settings(String... pairs) {
        Properties s = new Properties();
        s.put("bootstrap.servers", bootstrap);
        s.put("reconnect.backoff.max.ms", 200);
        s.put("reconnect.backoff.ms", 50);
        s.put("retry.backoff.max.ms", 300);
        for (int i = 0; i < pairs.length; i += 2) s.put(pairs[i], pairs[i + 1]);
        return s;
    }

    KafkaProducer<String, String> producer(String... pairs) {
        Properties s = settings(pairs);
        s.put("max.in.flight.requests.per.connection", 1);
        s.put("delivery.timeout.ms", 300000);
        s.put("max.block.ms", 300000);
        s.put("linger.ms", 5);
        return new KafkaProducer<>(s, new StringSerializer(), new StringSerializer());
    }

    // ---- numbers

    void write(int writer) {
        KafkaProducer<String, String> producer = producer();
        for (int n = 0; !ending; n++) {
            String value = writer + "-" + n;
            producer.send(new ProducerRecord<>(NUMBERS, n % PARTITIONS, null, value), (at, failure) -> {
                if (failure != null) {
                    violation("writer " + writer + ": " + value + " was given up: " + failure);
                } else {
                    acked.get(new TopicPartition(NUMBERS, at.partition())).put(at.offset(), value);
                    acknowledged.incrementAndGet();
                }
            });
            if (n % 4 == 0) pause(10);
        }
        producer.close();
    }

    static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new RuntimeException(e);
        }
    }

    // ---- bank

    /** Set while no transaction may begin; held when the open one is. */
    volatile CountDownLatch calm, held;

    void bank() {
        KafkaProducer<String, String> producer = producer("transactional.id", "swap-bank", "transaction.timeout.ms", "300000");
        Random random = new Random(1);
        producer.initTransactions();
        for (int n = 0; !ending; n++) {
            String id = "t" + n;
            CountDownLatch until = calm;
            try {
                producer.beginTransaction();
                int amount = random.nextInt(1000);
                producer.send(new ProducerRecord<>(BANK, 0, id, Integer.toString(amount)));
                producer.send(new ProducerRecord<>(BANK, 1, id, Integer.toString(-amount)));
                if (until != null) {
                    producer.flush();
                    held.countDown();
                    until.await();
                }
                if (until == null && n % 4 == 0) {
                    end(producer::abortTransaction);
                    aborted.add(id);
                } else {
                    end(producer::commitTransaction);
                    committed.add(id);
                }
            } catch (KafkaException e) {
                violation("bank: transaction " + id + ": " + e + (e.getCause() == null ? "" : ": " + e.getCause()));
                producer.close(Duration.ZERO);
                producer = producer("transactional.id", "swap-bank", "transaction.timeout.ms", "300000");
                producer.initTransactions();
            } catch (InterruptedException e) {
                return;
            }
            pause(5);
        }
        producer.close();
    }

    /** Ends a transaction; what timed out can be asked for again. */
    void end(Runnable how) {
        for (int i = 0; ; i++) {
            try {
                how.run();
                return;
            } catch (RetriableException e) {
                if (i == 10) throw e;
            }
        }
    }

    // ---- groups

    class Group {
        final String protocol;
        final Set<String> seen = ConcurrentHashMap.newKeySet();
        final Map<TopicPartition, Long> at = new ConcurrentHashMap<>();
        volatile boolean leaving;

        Group(String protocol) { this.protocol = protocol; }

        KafkaConsumer<String, String> consumer() {
            Properties s = settings("group.id", "swap-" + protocol, "group.protocol", protocol, "auto.offset.reset", "earliest",
                "enable.auto.commit", "false", "client.id", "swap-" + protocol, "default.api.timeout.ms", "120000");
            if (protocol.equals("classic")) s.put("heartbeat.interval.ms", 1000);
            return new KafkaConsumer<>(s, new StringDeserializer(), new StringDeserializer());
        }

        void read() {
            try (KafkaConsumer<String, String> consumer = consumer()) {
                consumer.subscribe(List.of(NUMBERS), new ConsumerRebalanceListener() {
                    @Override public void onPartitionsRevoked(Collection<TopicPartition> gone) { }

                    @Override public void onPartitionsAssigned(Collection<TopicPartition> got) {
                        for (TopicPartition tp : got) {
                            long position = consumer.position(tp), known = at.getOrDefault(tp, 0L);
                            if (position < known) violation(protocol + " group: " + tp + " goes on at " + position + ", committed was " + known);
                        }
                    }
                });
                while (!leaving) {
                    ConsumerRecords<String, String> some = consumer.poll(Duration.ofMillis(200));
                    Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                    for (ConsumerRecord<String, String> r : some) {
                        seen.add(r.value());
                        next.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                    }
                    if (next.isEmpty()) continue;
                    try {
                        consumer.commitSync(next);
                        next.forEach((tp, o) -> at.merge(tp, o.offset(), Math::max));
                        commits.incrementAndGet();
                    } catch (CommitFailedException | RebalanceInProgressException e) {
                        // the group has gone on without this member; what it read is read again
                    }
                }
            } catch (RuntimeException e) {
                violation(protocol + " group: " + e);
            }
        }
    }

    /** Two members of a share group (KIP-932) that acknowledge each record by itself. */
    final class ShareGroup extends Group {
        final Set<String> done = ConcurrentHashMap.newKeySet();

        ShareGroup() { super("share"); }

        @Override void read() {
            Properties s = settings("group.id", "swap-share", "share.acknowledgement.mode", "explicit", "client.id", "swap-share", "default.api.timeout.ms", "120000");
            try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(s, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(NUMBERS));
                while (!leaving) {
                    Map<TopicPartition, List<String>> taken = new HashMap<>();
                    for (ConsumerRecord<String, String> r : consumer.poll(Duration.ofMillis(200))) {
                        seen.add(r.value());
                        if (done.contains(r.value())) {
                            violation("share group: " + r.value() + " comes again after it was acknowledged, delivery " + r.deliveryCount().orElse(null));
                        }
                        consumer.acknowledge(r, AcknowledgeType.ACCEPT);
                        taken.computeIfAbsent(new TopicPartition(r.topic(), r.partition()), tp -> new ArrayList<>()).add(r.value());
                    }
                    if (taken.isEmpty()) continue;
                    // What was not acknowledged for certain may come again.
                    consumer.commitSync(LONG).forEach((tp, failure) -> {
                        if (failure.isEmpty()) done.addAll(taken.getOrDefault(tp.topicPartition(), List.of()));
                    });
                    commits.incrementAndGet();
                }
            } catch (RuntimeException e) {
                violation("share group: " + e);
            }
        }
    }

    // ---- streams

    /** Copies the numbers exactly once. What its threads throw is a violation; the broker may be away for longer than a commit waits. */
    KafkaStreams copy() {
        Properties s = settings(StreamsConfig.APPLICATION_ID_CONFIG, "swap-streams", StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams",
            StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2, StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest",
            StreamsConfig.consumerPrefix("default.api.timeout.ms"), "120000", StreamsConfig.producerPrefix("max.block.ms"), "120000",
            StreamsConfig.STATE_DIR_CONFIG, System.getenv("SWAP_STATE"));
        s.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
        s.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 100);
        s.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        s.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(NUMBERS).to(COPIES);
        KafkaStreams streams = new KafkaStreams(builder.build(), s);
        streams.setUncaughtExceptionHandler(failure -> {
            violation("streams: " + failure + (failure.getCause() == null ? "" : ": " + failure.getCause()));
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        streams.start();
        return streams;
    }

    /** Waits until every acknowledged number was copied, ends the application, and counts the copies. */
    void auditCopies(KafkaStreams streams) {
        Map<String, Integer> copies = new HashMap<>();
        long until = System.currentTimeMillis() + 60000;
        do {
            copies.clear();
            for (ConsumerRecord<String, String> r : everything(COPIES, PARTITIONS, "read_committed")) copies.merge(r.value(), 1, Integer::sum);
        } while (copies.size() < acknowledged.get() && System.currentTimeMillis() < until);
        if (!streams.close(Duration.ofSeconds(60))) violation("streams: stuck");
        copies.forEach((value, n) -> { if (n > 1) violation("streams: " + value + " was copied " + n + " times"); });
        acked.values().forEach(records -> records.values().forEach(value -> {
            if (!copies.containsKey(value)) violation("streams: " + value + " was not copied");
        }));
        copied = copies.size();
    }

    // ---- accounts

    List<ConsumerRecord<String, String>> everything(String topic, int partitions, String isolation) {
        Properties s = settings("isolation.level", isolation, "auto.offset.reset", "earliest", "enable.auto.commit", "false");
        List<ConsumerRecord<String, String>> out = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(s, new StringDeserializer(), new StringDeserializer())) {
            List<TopicPartition> all = new ArrayList<>();
            for (int p = 0; p < partitions; p++) all.add(new TopicPartition(topic, p));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Map<TopicPartition, Long> ends = consumer.endOffsets(all);
            while (all.stream().anyMatch(tp -> consumer.position(tp) < ends.get(tp))) {
                consumer.poll(Duration.ofMillis(200)).forEach(out::add);
            }
        }
        return out;
    }

    void auditNumbers(List<Group> groups) {
        Map<TopicPartition, Map<Long, String>> found = new HashMap<>();
        Set<String> values = new HashSet<>();
        for (ConsumerRecord<String, String> r : everything(NUMBERS, PARTITIONS, "read_uncommitted")) {
            found.computeIfAbsent(new TopicPartition(r.topic(), r.partition()), tp -> new HashMap<>()).put(r.offset(), r.value());
            if (!values.add(r.value())) violation(r.value() + " is there twice, again at " + r.topic() + "-" + r.partition() + " offset " + r.offset());
        }
        acked.forEach((tp, records) -> records.forEach((offset, value) -> {
            String got = found.getOrDefault(tp, Map.of()).get(offset);
            if (!value.equals(got)) violation(tp + " offset " + offset + " holds " + got + ", acknowledged was " + value);
            for (Group g : groups) if (!g.seen.contains(value)) violation(g.protocol + " group never saw " + value);
        }));
    }

    void auditBank() {
        Map<String, Integer> sums = new HashMap<>(), sides = new HashMap<>();
        for (ConsumerRecord<String, String> r : everything(BANK, 2, "read_committed")) {
            sums.merge(r.key(), Integer.parseInt(r.value()), Integer::sum);
            sides.merge(r.key(), 1, Integer::sum);
        }
        for (String id : committed) if (sides.getOrDefault(id, 0) != 2) violation("transaction " + id + " was committed, " + sides.getOrDefault(id, 0) + " of its 2 records are there");
        for (String id : aborted) if (sides.containsKey(id)) violation("transaction " + id + " was aborted and is there");
        int sum = sums.values().stream().mapToInt(i -> i).sum();
        if (sum != 0) violation("the bank holds " + sum);
    }

    static void awaitAll(List<Thread> threads, String what, SwapClients c) throws InterruptedException {
        long until = System.currentTimeMillis() + LONG.toMillis();
        for (Thread t : threads) {
            t.join(Math.max(1, until - System.currentTimeMillis()));
            if (t.isAlive()) c.violation(what + ": stuck");
        }
    }

    static Thread start(Runnable work) {
        Thread t = new Thread(work);
        t.setDaemon(true);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        SwapClients c = new SwapClients(args[0]);
        try (Admin admin = Admin.create(c.settings())) {
            admin.createTopics(List.of(
                new NewTopic(NUMBERS, PARTITIONS, (short) 1).configs(Map.of("segment.bytes", "1048576")),
                new NewTopic(BANK, 2, (short) 1),
                new NewTopic(COPIES, PARTITIONS, (short) 1))).all().get();
            if (List.of(args).contains("share")) {
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "swap-share"), List.of(
                    new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
            }
        }
        List<Thread> producers = new ArrayList<>(), members = new ArrayList<>();
        List<Group> groups = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            int writer = i;
            producers.add(start(() -> c.write(writer)));
        }
        producers.add(start(c::bank));
        KafkaStreams streams = null;
        for (int i = 1; i < args.length; i++) {
            if (args[i].equals("streams")) {
                streams = c.copy();
                continue;
            }
            Group g = args[i].equals("share") ? c.new ShareGroup() : c.new Group(args[i]);
            groups.add(g);
            for (int m = 0; m < 2; m++) members.add(start(g::read));
        }
        System.out.println("up");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String command = commands.readLine(); command != null && !command.equals("finish"); command = commands.readLine()) {
            if (command.equals("calm")) {
                c.held = new CountDownLatch(1);
                c.calm = new CountDownLatch(1);
                if (!c.held.await(LONG.toMillis(), java.util.concurrent.TimeUnit.MILLISECONDS)) c.violation("bank: no transaction could begin");
                System.out.println("calm");
            } else {
                CountDownLatch calm = c.calm;
                c.calm = null;
                calm.countDown();
            }
        }
        c.ending = true;
        awaitAll(producers, "producers", c);
        long until = System.currentTimeMillis() + 60000;
        while (System.currentTimeMillis() < until && groups.stream().anyMatch(g -> g.seen.size() < c.acknowledged.get())) pause(100);
        groups.forEach(g -> g.leaving = true);
        awaitAll(members, "members", c);
        c.auditNumbers(groups);
        c.auditBank();
        if (streams != null) c.auditCopies(streams);
        c.violations.forEach(v -> System.out.println("violation: " + v));
        System.out.println("acknowledged " + c.acknowledged + ", transactions committed " + c.committed.size() + " and aborted " + c.aborted.size()
            + ", group commits " + c.commits + ", copies " + c.copied + ", violations " + c.violations.size());
        Runtime.getRuntime().halt(c.violations.isEmpty() ? 0 : 1);
    }
}
