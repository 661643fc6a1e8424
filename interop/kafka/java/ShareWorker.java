import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A share consumer: BOOTSTRAP GROUP TOPIC MODE COUNT.
 *
 *   implicit  takes COUNT records, those of a poll for done with the next
 *   explicit  decides about each by its value modulo 4: accept; release, and accept when it comes again; reject; renew, then accept;
 *             until COUNT are done
 *   refuse    rejects even values and releases odd ones whenever they come, until COUNT are given up (a limit of two deliveries)
 *   hold      waits for COUNT records in one poll, says so, and keeps them until it is killed; others it releases
 *
 * Prints what it did, by kind, in one line.
 */
public final class ShareWorker {
    public static void main(String[] args) throws Exception {
        String mode = args[3];
        int count = Integer.parseInt(args[4]);
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("group.id", args[1]);
        p.put("share.acknowledgement.mode", mode.equals("implicit") ? "implicit" : "explicit");
        p.put("max.poll.records", "100");
        AtomicInteger failed = new AtomicInteger();
        Map<String, Integer> did = new TreeMap<>();
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(p, new StringDeserializer(), new StringDeserializer())) {
            consumer.setAcknowledgementCommitCallback((offsets, exception) -> {
                if (exception != null) failed.incrementAndGet();
            });
            consumer.subscribe(List.of(args[2]));
            int done = 0;
            while (done < count) {
                List<ConsumerRecord<String, String>> records = new ArrayList<>();
                consumer.poll(Duration.ofMillis(500)).forEach(records::add);
                switch (mode) {
                    case "implicit" -> {
                        done += records.size();
                        did.merge("taken", records.size(), Integer::sum);
                        if (done >= count) consumer.commitSync(); // closing would give back what came last
                    }
                    case "explicit" -> {
                        done += decide(consumer, records, did);
                        consumer.commitSync();
                    }
                    case "refuse" -> {
                        done += refuse(consumer, records, did);
                        consumer.commitSync();
                    }
                    default -> {
                        if (records.size() >= count) {
                            System.out.println("holding " + records.size());
                            Thread.sleep(Long.MAX_VALUE);
                        }
                        records.forEach(r -> consumer.acknowledge(r, AcknowledgeType.RELEASE));
                        consumer.commitSync();
                    }
                }
            }
        }
        did.put("failed", failed.get());
        System.out.println(did);
    }

    /** Gives records up and returns how many will not come again. */
    private static int refuse(KafkaShareConsumer<String, String> consumer, List<ConsumerRecord<String, String>> records, Map<String, Integer> did) {
        int done = 0;
        for (ConsumerRecord<String, String> r : records) {
            AcknowledgeType type = Long.parseLong(r.value()) % 2 == 0 ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE;
            consumer.acknowledge(r, type);
            did.merge(type.toString(), 1, Integer::sum);
            if (type == AcknowledgeType.REJECT || r.deliveryCount().orElse((short) 0) == 2) done++;
        }
        return done;
    }

    private static final Set<String> renewed = new HashSet<>();

    /** Decides about records and returns how many are done. A record that is renewed comes again with the next poll. */
    private static int decide(KafkaShareConsumer<String, String> consumer, List<ConsumerRecord<String, String>> records, Map<String, Integer> did) {
        int done = 0;
        for (ConsumerRecord<String, String> r : records) {
            AcknowledgeType type = switch ((int) (Long.parseLong(r.value()) % 4)) {
                case 1 -> r.deliveryCount().orElse((short) 0) == 1 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
                case 2 -> AcknowledgeType.REJECT;
                case 3 -> renewed.add(r.value()) ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT;
                default -> AcknowledgeType.ACCEPT;
            };
            consumer.acknowledge(r, type);
            did.merge(type.toString(), 1, Integer::sum);
            if (type == AcknowledgeType.ACCEPT || type == AcknowledgeType.REJECT) done++;
        }
        return done;
    }
}
