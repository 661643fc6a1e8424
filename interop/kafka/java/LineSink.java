import java.io.FileWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.SinkConnector;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.sink.SinkTask;

/** A sink connector that adds a line to a file for each record: its partition, offset, key and value. */
public final class LineSink extends SinkConnector {
    private Map<String, String> settings;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> given) { settings = given; }
    @Override public void stop() { }
    @Override public Class<? extends Task> taskClass() { return Lines.class; }
    @Override public List<Map<String, String>> taskConfigs(int most) { return Collections.nCopies(most, settings); }
    @Override public ConfigDef config() {
        return new ConfigDef().define("file", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where the lines go");
    }

    /** One task. Every put is on disk before it returns, so that no committed offset is ahead of the file. */
    public static final class Lines extends SinkTask {
        private String file;

        @Override public String version() { return "1"; }
        @Override public void start(Map<String, String> settings) { file = settings.get("file"); }
        @Override public void stop() { }

        @Override public void put(Collection<SinkRecord> records) {
            StringBuilder lines = new StringBuilder();
            for (SinkRecord r : records) {
                lines.append(r.kafkaPartition()).append(' ').append(r.kafkaOffset()).append(' ').append(r.key()).append(' ').append(r.value()).append('\n');
            }
            try (FileWriter out = new FileWriter(file, true)) {
                out.write(lines.toString());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
