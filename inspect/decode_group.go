package inspect

import (
	"bytes"
	"strconv"

	"github.com/samsalog/samsa/internal/stored"
)

// transactionStates are the names of TransactionState by id; Kafka prints them where the schema has a number.
var transactionStates = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// transactionValueJSON names the transaction's state.
func transactionValueJSON(m stored.Message, version int16) []byte {
	doc := m.AppendJSON(nil, version)
	v, ok := m.(*stored.TransactionLogValue)
	if !ok {
		return doc
	}
	name := strconv.Itoa(int(v.TransactionStatus))
	number := name
	if v.TransactionStatus >= 0 && int(v.TransactionStatus) < len(transactionStates) {
		name = transactionStates[v.TransactionStatus]
	}
	return replaceField(doc, 0, "transactionStatus", number, []byte(strconv.Quote(name))).doc
}

// groupValueJSON unpacks what the members of a classic consumer group have said in the consumer protocol. What
// is not that protocol stays base64.
func groupValueJSON(m stored.Message, version int16) []byte {
	doc := m.AppendJSON(nil, version)
	v, ok := m.(*stored.GroupMetadataValue)
	if !ok || v.ProtocolType != "consumer" {
		return doc
	}
	e := edit{doc: doc}
	for i := range v.Members {
		member := &v.Members[i]
		if b := consumerProtocol("ConsumerProtocolSubscription", member.Subscription); b != nil {
			e = replaceBytes(e, "subscription", member.Subscription, b)
		}
		if b := consumerProtocol("ConsumerProtocolAssignment", member.Assignment); b != nil {
			e = replaceBytes(e, "assignment", member.Assignment, b)
		}
	}
	return e.doc
}

// consumerProtocol decodes an int16 version and a message of the consumer protocol; nil if it is none.
func consumerProtocol(schema string, b []byte) []byte {
	if len(b) < 2 {
		return nil
	}
	m := stored.New(schema)
	version := int16(b[0])<<8 | int16(b[1])
	if version < 0 || version > m.HighestVersion() {
		return nil
	}
	if _, err := m.Decode(b[2:], version); err != nil {
		return nil
	}
	return m.AppendJSON(nil, version)
}

// edit is a JSON document that is changed from front to back.
type edit struct {
	doc  []byte
	done int // nothing before it changes any more
}

// replaceField replaces the value of the next field of that name, if it is old. Inside of JSON strings quotes
// are escaped, so the name with its quotes is found at fields only.
func replaceField(doc []byte, from int, name, old string, value []byte) edit {
	label := `"` + name + `":`
	at := bytes.Index(doc[from:], []byte(label+old))
	if at < 0 {
		return edit{doc: doc, done: from}
	}
	at += from + len(label)
	out := make([]byte, 0, len(doc)+len(value))
	out = append(append(append(out, doc[:at]...), value...), doc[at+len(old):]...)
	return edit{doc: out, done: at + len(value)}
}

// replaceBytes is replaceField for a field of bytes, which is base64 in the document.
func replaceBytes(e edit, name string, old, value []byte) edit {
	return replaceField(e.doc, e.done, name, base64Text(old), value)
}
