import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

/** A source connector whose tasks each write the numbers 0 to count-1, from where the offset they stored says. */
public final class NumberSource extends SourceConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> given) { settings = given; }
    @Override public void stop() { }
    @Override public Class<? extends Task> taskClass() { return Numbers.class; }
    @Override public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> given) { return ExactlyOnceSupport.SUPPORTED; }

    @Override public List<Map<String, String>> taskConfigs(int most) {
        List<Map<String, String>> tasks = new ArrayList<>();
        for (int task = 0; task < most; task++) {
            Map<String, String> one = new java.util.HashMap<>(settings);
            one.put("task", Integer.toString(task));
            tasks.add(one);
        }
        return tasks;
    }

    @Override public ConfigDef config() {
        return new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where the numbers go")
            .define("count", ConfigDef.Type.LONG, ConfigDef.Importance.HIGH, "how many each task writes");
    }

    /** One task: twenty numbers, then a pause of 20 ms. */
    public static final class Numbers extends SourceTask {
        private String topic, task;
        private long next, count;

        @Override public String version() { return "1"; }
        @Override public void stop() { }

        @Override public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            task = settings.get("task");
            count = Long.parseLong(settings.get("count"));
            Map<String, Object> stored = context.offsetStorageReader().offset(Map.of("task", task));
            next = stored == null ? 0 : (Long) stored.get("next");
            System.out.println("task " + task + " begins at " + next);
        }

        @Override public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(20);
            List<SourceRecord> some = new ArrayList<>();
            for (int i = 0; i < 20 && next < count; i++, next++) {
                some.add(new SourceRecord(Map.of("task", task), Map.of("next", next + 1), topic, null,
                    Schema.STRING_SCHEMA, task, Schema.STRING_SCHEMA, Long.toString(next)));
            }
            return some.isEmpty() ? null : some;
        }
    }
}
