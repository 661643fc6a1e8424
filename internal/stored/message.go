package stored

// Message is one stored record of any kind.
type Message interface {
	// APIKey is the record's number within its family: the metadata record id or the coordinator record
	// type; -1 for records that have none.
	APIKey() int16
	// HighestVersion is the newest version that is known.
	HighestVersion() int16
	// RecordName is the name of the schema, for example PartitionRecord (records have fields called Name).
	RecordName() string
	// AppendTo appends the encoding at version, which must not be above HighestVersion. Fields that the
	// version does not have are left out.
	AppendTo(dst []byte, version int16) []byte
	// Decode reads the encoding at version from the start of b, replacing all fields, and returns what
	// follows it. The message does not alias b.
	Decode(b []byte, version int16) (rest []byte, err error)
	// AppendJSON appends the JSON that Kafka's dump tool prints for version: lower camel names in schema
	// order, bytes in base64, ids in URL-safe base64, tagged fields left out at their default.
	AppendJSON(dst []byte, version int16) []byte
}

// DumpName returns the name that Kafka's dump tool prints for a metadata record, PARTITION_RECORD for a
// PartitionRecord.
func DumpName(m Message) string {
	name := m.RecordName()
	out := make([]byte, 0, len(name)+8)
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z' && i > 0:
			out = append(out, '_', c)
		case c >= 'a' && c <= 'z':
			out = append(out, c-'a'+'A')
		default:
			out = append(out, c)
		}
	}
	return string(out)
}

// Values of PartitionChangeRecord that leave a field as it is, and of its leader for "none".
const (
	NoLeaderChange   int32 = -2
	NoLeader         int32 = -1
	NoRecoveryChange int8  = -1
)
