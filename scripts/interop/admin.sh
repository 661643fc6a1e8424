# Apache Kafka's tools for features, transactions, groups of both protocols, quotas, the quorum and reassignments.

need_broker || { bad "the broker did not start"; return 0; }
B="--bootstrap-server $broker"
groups() { java_tool consumer.group.ConsumerGroupCommand $B "$@"; }
consume() { # GROUP TOPIC PROTOCOL COUNT
  java_tool consumer.ConsoleConsumer $B --topic "$2" --group "$1" --command-property group.protocol="$3" --from-beginning --max-messages "$4" --timeout-ms 20000 >"$out/admin.consumed" 2>>"$log"
}

# ---- features
features() { java_tool FeatureCommand $B "$@"; }
expect "kafka-features describe" "Feature: transaction.version.*SupportedMaxVersion: 2.*FinalizedVersionLevel: 2" features describe
expect "kafka-features downgrade, dry run" "can be downgraded to 1" features downgrade --feature transaction.version=1 --dry-run
expect "kafka-features downgrade" "was downgraded to 1" features downgrade --feature transaction.version=1
expect "the level is told" "transaction.version.*FinalizedVersionLevel: 1" features describe
expect "kafka-features upgrade" "was upgraded to 2" features upgrade --feature transaction.version=2
expect "kafka-features upgrade too far" "Could not upgrade transaction.version to 9" features upgrade --feature transaction.version=9
expect "kafka-features disable" "group.version was disabled" features disable --feature group.version
expect "kafka-features upgrade again" "group.version was upgraded to 1" features upgrade --feature group.version=1
expect "kafka-features unsafe downgrade of metadata.version" "Could not downgrade metadata.version" features downgrade --metadata 4.3 --unsafe

# ---- transactions: one that nobody will ever end
x=hang-$run_id
java_tool TopicCommand $B --create --topic "$x" --partitions 1 --replication-factor 1 >>"$log" 2>&1
(cd "$root/interop" && go run ./hang -bootstrap "$broker" -topic "$x") >"$out/admin.hang" 2>>"$log"
read -r offset pid <"$out/admin.hang" || bad "no transaction hangs"
transactions() { java_tool TransactionsCommand $B "$@"; }
expect "kafka-transactions describe-producers" "^${pid:-none}\s+0\s+.*${offset:-none}\s*\$" transactions describe-producers --topic "$x" --partition 0
expect "kafka-transactions find-hanging" "^$x\s+0\s+${pid:-none}\s" transactions find-hanging --broker-id 1
check "kafka-transactions abort" transactions abort --topic "$x" --partition 0 --start-offset "${offset:-0}"
expect "nothing hangs any more" "^${pid:-none}\s+0\s+.*None\s*\$" transactions describe-producers --topic "$x" --partition 0
java_tool ProducerPerformance --topic "$x" --num-records 10 --record-size 10 --throughput -1 $B --transactional-id "$x" --transaction-duration-ms 100 >>"$log" 2>&1
expect "kafka-transactions list" "^$x\s+[0-9]+\s+[0-9]+\s+(CompleteCommit|PrepareCommit|Empty)" transactions list
expect "kafka-transactions describe" "^[0-9]+\s+$x\s" transactions describe --transactional-id "$x"

# ---- groups
t=groups-$run_id
java_tool TopicCommand $B --create --topic "$t" --partitions 1 --replication-factor 1 >>"$log" 2>&1
seq 1 100 | java_tool ConsoleProducer $B --topic "$t" >>"$log" 2>&1
for protocol in classic consumer; do
  g=$protocol-$run_id
  consume "$g" "$t" $protocol 100
  if [ "$(sort -n "$out/admin.consumed" | cksum)" = "$(seq 1 100 | cksum)" ]; then ok "$protocol: consumes"; else bad "$protocol: consumes"; fi
  expect "$protocol: --list" "^$g\$" groups --list
  expect "$protocol: --list --state" "^$g\s+Empty" groups --list --state
  expect "$protocol: --list --type" "^$g\s+${protocol^}" groups --list --type
  expect "kafka-groups --list, $protocol" "^$g\s+${protocol^}" java_tool GroupsCommand $B --list
  expect "$protocol: --describe --offsets --verbose" "^$g\s+$t\s+[01]" groups --describe --group "$g" --offsets --verbose
  expect "$protocol: --describe --state --verbose" "^$g\s.*Empty" groups --describe --group "$g" --state --verbose
  expect "$protocol: --describe --members --verbose" "has no active members" groups --describe --group "$g" --members --verbose
  expect "$protocol: --describe --all-groups" "^$g\s+$t" groups --describe --all-groups
  for to in "--to-earliest 0" "--to-latest [0-9]+" "--to-offset\ 3 3" "--shift-by\ -1 2" "--by-duration\ P1D 0" "--to-datetime\ 2000-01-01T00:00:00.000 0" "--to-current 0"; do
    how=${to% *} how=${how//\\/} want=${to##* }
    expect "$protocol: --reset-offsets $how" "$t +0 +$want" groups --group "$g" --topic "$t:0" --reset-offsets $how --execute
  done
  groups --group "$g" --topic "$t" --reset-offsets --to-current --dry-run --export >"$out/admin.$protocol.csv" 2>>"$log"
  expect "$protocol: --reset-offsets --from-file" "$t +[01]" groups --group "$g" --reset-offsets --from-file "$out/admin.$protocol.csv" --execute
  expect "$protocol: --delete-offsets" "$t +0 +Successful" groups --group "$g" --delete-offsets --topic "$t:0"
  # It runs until it is ended: how long the tools take in between depends on the machine.
  step_timeout=600 java_tool consumer.ConsoleConsumer $B --topic "$t" --group "$g" --command-property group.protocol=$protocol >>"$log" 2>&1 & consumer=$!
  for i in $(seq 40); do groups --describe --group "$g" --members --verbose >"$out/admin.members" 2>>"$log"; grep -q "$t" "$out/admin.members" && break; done
  cat "$out/admin.members" >>"$log"
  if grep -qE "^$g .*$t" "$out/admin.members"; then ok "$protocol: --describe --members of one that runs"; else bad "$protocol: --describe --members of one that runs"; fi
  expect "$protocol: --describe --state of one that runs" "^$g\s.*Stable" groups --describe --group "$g" --state
  expect "$protocol: --delete while it runs" "could not be deleted|Deletion of some consumer groups failed" groups --delete --group "$g"
  expect "$protocol: --reset-offsets while it runs" "only be reset if the group.*inactive" groups --group "$g" --topic "$t" --reset-offsets --to-earliest --execute
  pkill -TERM -P "$consumer"; wait "$consumer" 2>/dev/null
  for i in $(seq 30); do groups --describe --group "$g" --state 2>>"$log" | grep -q Empty && break; done
  expect "$protocol: --delete" "was successful" groups --delete --group "$g"
done

# ---- quotas, credentials, quorum, elections, reassignments
configs() { java_tool ConfigCommand $B "$@"; }
expect "kafka-configs, a user's quota" "Completed updating config" configs --alter --entity-type users --entity-name u --add-config producer_byte_rate=1024
expect "kafka-configs, the quota described" "producer_byte_rate=1024" configs --describe --entity-type users --entity-name u
expect "kafka-configs, a credential" "Completed updating config" configs --alter --entity-type users --entity-name u --add-config 'SCRAM-SHA-256=[iterations=4096,password=secret]'
expect "kafka-configs, the credential described" "SCRAM-SHA-256=iterations=4096" configs --describe --entity-type users --entity-name u
expect "kafka-metadata-quorum describe --status" "LeaderId: +1" java_tool MetadataQuorumCommand $B describe --status
expect "kafka-metadata-quorum describe --replication" "^1\s.*Leader" java_tool MetadataQuorumCommand $B describe --replication
expect "kafka-leader-election" "Valid replica already elected" java_tool LeaderElectionCommand $B --election-type preferred --topic "$t" --partition 0
echo "{\"version\":1,\"partitions\":[{\"topic\":\"$t\",\"partition\":0,\"replicas\":[1]}]}" >"$out/admin.reassign"
expect "kafka-reassign-partitions --execute" "Successfully started partition reassignment" java_tool reassign.ReassignPartitionsCommand $B --reassignment-json-file "$out/admin.reassign" --execute
expect "kafka-reassign-partitions --verify" "is completed" java_tool reassign.ReassignPartitionsCommand $B --reassignment-json-file "$out/admin.reassign" --verify
expect "kafka-reassign-partitions --list" "No partition reassignments found" java_tool reassign.ReassignPartitionsCommand $B --list
expect "kafka-cluster unregister" "99" java_tool ClusterTool unregister $B --id 99
expect "kafka-acls" "SECURITY_DISABLED|SecurityDisabledException" java_tool AclCommand $B --list
