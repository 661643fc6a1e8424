package inspect

import (
	"encoding/json"
	"fmt"

	"github.com/samsalog/samsa/internal/stored"
	"github.com/samsalog/samsa/record"
)

// controlText is what a control record says.
type controlText struct {
	typ record.ControlType
	// text is Kafka's, with a blank in front; "" if the record cannot be read.
	text string
	// value is the decoded value; nil for end markers and unknown types.
	value            json.RawMessage
	coordinatorEpoch int32
	err              error
}

// controlSchemas names the schema of each type's value, and the label in front of it. The colon behind the
// first label only is Kafka's.
var controlSchemas = map[record.ControlType][2]string{
	record.ControlLeaderChange:   {"LeaderChangeMessage", " LeaderChange: "},
	record.ControlSnapshotHeader: {"SnapshotHeaderRecord", " SnapshotHeader "},
	record.ControlSnapshotFooter: {"SnapshotFooterRecord", " SnapshotFooter "},
	record.ControlKRaftVersion:   {"KRaftVersionRecord", " KRaftVersion "},
	record.ControlKRaftVoters:    {"VotersRecord", " KRaftVoters "},
}

// parseControl reads a control record.
func parseControl(key, value []byte) controlText {
	c := controlText{}
	if c.typ, c.err = record.ParseControlKey(key); c.err != nil {
		return c
	}
	schema, ok := controlSchemas[c.typ]
	switch {
	case c.typ == record.ControlAbort || c.typ == record.ControlCommit:
		var m record.EndTxnMarker
		if m, c.err = record.ParseEndTxnMarker(key, value); c.err == nil {
			c.coordinatorEpoch = m.CoordinatorEpoch
			c.text = fmt.Sprintf(" endTxnMarker: %v coordinatorEpoch: %d", m.Type, m.CoordinatorEpoch)
		}
	case !ok:
		c.text = " controlType: " + c.typ.String()
	default:
		// The version is the value's first field. Kafka's readers take newer ones for the newest they know.
		m := stored.New(schema[0])
		version := int16(0)
		if len(value) >= 2 {
			version = min(max(int16(value[0])<<8|int16(value[1]), 0), m.HighestVersion())
		}
		if _, c.err = m.Decode(value, version); c.err == nil {
			c.value = m.AppendJSON(nil, version)
			c.text = schema[1] + string(c.value)
		}
	}
	return c
}
