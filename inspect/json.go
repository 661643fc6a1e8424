package inspect

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/samsalog/samsa/inspect/logfile"
	"github.com/samsalog/samsa/record"
)

func base64Text(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` }

// jsonPrinter prints one JSON object per line; docs/formats/dump-json.md describes them.
type jsonPrinter struct{ w *bufio.Writer }

func (p *jsonPrinter) object(v any) {
	e := json.NewEncoder(p.w) // an error shows again when Dump flushes
	e.SetEscapeHTML(false)
	e.Encode(v)
}

type jsonFile struct {
	Kind    string `json:"kind"`
	Path    string `json:"path"`
	Type    string `json:"type,omitempty"`
	Ignored bool   `json:"ignored,omitempty"`
}

func (p *jsonPrinter) file(path, typ string) {
	p.object(jsonFile{Kind: "file", Path: path, Type: typ, Ignored: typ == ""})
}

type jsonLog struct {
	Kind           string `json:"kind"`
	StartingOffset *int64 `json:"startingOffset,omitempty"`
	EndOffset      *int64 `json:"endOffset,omitempty"`
	Epoch          *int64 `json:"epoch,omitempty"`
}

func (p *jsonPrinter) logHeader(h logHeader) {
	o := jsonLog{Kind: h.kind}
	switch h.kind {
	case "log":
		o.StartingOffset = &h.offset
	case "snapshot":
		o.EndOffset, o.Epoch = &h.offset, &h.epoch
	}
	p.object(o)
}

type jsonBatch struct {
	Kind          string `json:"kind"`
	Position      int64  `json:"position"`
	SizeInBytes   int    `json:"sizeInBytes"`
	Magic         int8   `json:"magic"`
	BaseOffset    *int64 `json:"baseOffset,omitempty"`
	LastOffset    int64  `json:"lastOffset"`
	Codec         string `json:"codec"`
	TimestampType string `json:"timestampType"`
	MaxTimestamp  int64  `json:"maxTimestamp"`
	CRC           uint32 `json:"crc"`
	Valid         bool   `json:"valid"`
}

// jsonBatchTwo is what only magic 2 has.
type jsonBatchTwo struct {
	jsonBatch
	Count                int32  `json:"count"`
	BaseTimestamp        int64  `json:"baseTimestamp"`
	ProducerID           int64  `json:"producerId"`
	ProducerEpoch        int16  `json:"producerEpoch"`
	BaseSequence         int32  `json:"baseSequence"`
	LastSequence         int32  `json:"lastSequence"`
	PartitionLeaderEpoch int32  `json:"partitionLeaderEpoch"`
	IsTransactional      bool   `json:"isTransactional"`
	IsControl            bool   `json:"isControl"`
	DeleteHorizonMs      *int64 `json:"deleteHorizonMs"`
}

func (p *jsonPrinter) batch(b batchLine) {
	o := jsonBatch{Kind: "batch", Position: b.position, SizeInBytes: b.SizeInBytes, Magic: b.Magic, LastOffset: int64(b.LastOffset()),
		Codec: b.Codec().String(), TimestampType: b.TimestampType().String(), MaxTimestamp: b.MaxTimestamp, CRC: b.CRC, Valid: b.valid}
	if b.Magic < 2 {
		p.object(o)
		return
	}
	base := int64(b.BaseOffset)
	o.BaseOffset = &base
	two := jsonBatchTwo{jsonBatch: o, Count: b.Count, BaseTimestamp: b.BaseTimestamp, ProducerID: int64(b.ProducerID), ProducerEpoch: int16(b.ProducerEpoch),
		BaseSequence: int32(b.BaseSequence), LastSequence: int32(b.LastSequence()), PartitionLeaderEpoch: int32(b.LeaderEpoch),
		IsTransactional: b.IsTransactional(), IsControl: b.IsControl()}
	if horizon, ok := b.DeleteHorizon(); ok {
		two.DeleteHorizonMs = &horizon
	}
	p.object(two)
}

type jsonRecord struct {
	Kind          string       `json:"kind"`
	Offset        int64        `json:"offset"`
	Timestamp     int64        `json:"timestamp"`
	TimestampType string       `json:"timestampType"`
	KeySize       int64        `json:"keySize"`
	ValueSize     int64        `json:"valueSize"`
	Sequence      *int32       `json:"sequence,omitempty"`
	HeaderKeys    *[]string    `json:"headerKeys,omitempty"`
	CRC           *uint32      `json:"crc,omitempty"`
	Valid         *bool        `json:"valid,omitempty"`
	Control       *jsonControl `json:"control,omitempty"`
	jsonContents
}

// jsonContents are there with --print-data-log. Bytes that are no UTF-8 are in the fields ending in Base64.
type jsonContents struct {
	Key         any          `json:"key,omitempty"`
	KeyBase64   *string      `json:"keyBase64,omitempty"`
	Value       any          `json:"value,omitempty"`
	ValueBase64 *string      `json:"valueBase64,omitempty"`
	Headers     []jsonHeader `json:"headers,omitempty"`
	// DecodeError says why a decoder could not read the record.
	DecodeError string `json:"decodeError,omitempty"`
}

type jsonHeader struct {
	Key         string  `json:"key"`
	Value       *string `json:"value,omitempty"`
	ValueBase64 *string `json:"valueBase64,omitempty"`
}

type jsonControl struct {
	Type             string          `json:"type"`
	CoordinatorEpoch *int32          `json:"coordinatorEpoch,omitempty"`
	Value            json.RawMessage `json:"value,omitempty"`
}

func (p *jsonPrinter) record(r *recordLine) {
	o := jsonRecord{Kind: "record", Offset: int64(r.Offset), Timestamp: r.Timestamp, TimestampType: r.batch.TimestampType().String(),
		KeySize: size(r.Key), ValueSize: size(r.Value)}
	if r.batch.Magic >= 2 {
		sequence, keys := int32(r.Sequence), make([]string, len(r.Headers))
		for i, h := range r.Headers {
			keys[i] = javaText([]byte(h.Key))
		}
		o.Sequence, o.HeaderKeys = &sequence, &keys
	}
	if r.Legacy != nil {
		o.CRC, o.Valid = &r.Legacy.CRC, &r.Legacy.CRCValid
	}
	if r.control != nil {
		o.Control = r.control.json()
	}
	if r.contents {
		o.contents(r)
	}
	p.object(o)
}

func (c *controlText) json() *jsonControl {
	o := &jsonControl{Type: c.typ.String(), Value: c.value}
	if c.err == nil && (c.typ == record.ControlAbort || c.typ == record.ControlCommit) {
		o.CoordinatorEpoch = &c.coordinatorEpoch
	}
	return o
}

func (c *jsonContents) contents(r *recordLine) {
	c.Key, c.KeyBase64 = r.key.document(r.Key)
	c.Value, c.ValueBase64 = r.value.document(r.Value)
	for _, d := range []decoded{r.key, r.value} {
		if d.failed {
			c.DecodeError = d.text
		}
	}
	for _, h := range r.Headers {
		text, raw := textOrBase64(h.Value)
		c.Headers = append(c.Headers, jsonHeader{Key: javaText([]byte(h.Key)), Value: text, ValueBase64: raw})
	}
}

// document is the decoded form of raw: a JSON document, or its text or base64; nothing for null.
func (d decoded) document(raw []byte) (doc any, base64 *string) {
	switch {
	case d.json != nil:
		return d.json, nil
	case d.binary:
		return nil, encoded(raw)
	}
	text, base64 := textOrBase64(raw)
	if text != nil && !d.failed {
		return *text, nil
	}
	if d.present && base64 == nil {
		base64 = encoded(raw)
	}
	return nil, base64
}

// textOrBase64 returns b in one of the two forms; nil in neither.
func textOrBase64(b []byte) (text, raw *string) {
	if b == nil {
		return nil, nil
	}
	if utf8.Valid(b) {
		s := string(b)
		return &s, nil
	}
	return nil, encoded(b)
}

func encoded(b []byte) *string {
	if b == nil {
		return nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return &s
}

type jsonTrailing struct {
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

func (p *jsonPrinter) trailing(name string, bytes int64) {
	p.object(jsonTrailing{Kind: "invalidBytes", Name: name, Bytes: bytes})
}

type jsonOffsetEntry struct {
	Kind     string `json:"kind"`
	Offset   int64  `json:"offset"`
	Position int32  `json:"position"`
}

func (p *jsonPrinter) offsetEntry(e logfile.OffsetEntry) {
	p.object(jsonOffsetEntry{Kind: "offsetEntry", Offset: e.Offset, Position: e.Position})
}

type jsonTimeEntry struct {
	Kind      string `json:"kind"`
	Timestamp int64  `json:"timestamp"`
	Offset    int64  `json:"offset"`
}

func (p *jsonPrinter) timeEntry(e logfile.TimeEntry) {
	p.object(jsonTimeEntry{Kind: "timeEntry", Timestamp: e.Timestamp, Offset: e.Offset})
}

type jsonPath struct {
	Kind string `json:"kind"`
	Path string `json:"path"`
}

func (p *jsonPrinter) empty(path string) { p.object(jsonPath{Kind: "empty", Path: path}) }

func (p *jsonPrinter) sane(path string) { p.object(jsonPath{Kind: "sane", Path: path}) }

type jsonAborted struct {
	Kind             string `json:"kind"`
	Version          int16  `json:"version"`
	ProducerID       int64  `json:"producerId"`
	FirstOffset      int64  `json:"firstOffset"`
	LastOffset       int64  `json:"lastOffset"`
	LastStableOffset int64  `json:"lastStableOffset"`
}

func (p *jsonPrinter) aborted(e logfile.AbortedEntry) {
	p.object(jsonAborted{Kind: "abortedTxn", Version: e.Version, ProducerID: int64(e.ProducerID), FirstOffset: int64(e.FirstOffset),
		LastOffset: int64(e.LastOffset), LastStableOffset: int64(e.LastStableOffset)})
}

type jsonProducer struct {
	Kind                  string `json:"kind"`
	ProducerID            int64  `json:"producerId"`
	ProducerEpoch         int16  `json:"producerEpoch"`
	CoordinatorEpoch      int32  `json:"coordinatorEpoch"`
	CurrentTxnFirstOffset *int64 `json:"currentTxnFirstOffset"`
	LastTimestamp         int64  `json:"lastTimestamp"`
	*jsonProducerBatch
}

// jsonProducerBatch is the newest batch of a producer, if one is known.
type jsonProducerBatch struct {
	FirstSequence int32 `json:"firstSequence"`
	LastSequence  int32 `json:"lastSequence"`
	LastOffset    int64 `json:"lastOffset"`
	OffsetDelta   int32 `json:"offsetDelta"`
}

func (p *jsonPrinter) producer(e producerEntry) {
	o := jsonProducer{Kind: "producer", ProducerID: int64(e.ProducerID), ProducerEpoch: int16(e.ProducerEpoch),
		CoordinatorEpoch: e.CoordinatorEpoch, LastTimestamp: e.LastTimestamp}
	if first := int64(e.CurrentTxnFirstOffset); first >= 0 {
		o.CurrentTxnFirstOffset = &first
	}
	if e.LastOffset >= 0 {
		o.jsonProducerBatch = &jsonProducerBatch{FirstSequence: int32(e.LastSequence.Back(e.OffsetDelta)),
			LastSequence: int32(e.LastSequence), LastOffset: int64(e.LastOffset), OffsetDelta: e.OffsetDelta}
	}
	p.object(o)
}

func (p *jsonPrinter) flush() { p.w.Flush() } // an error shows again when Dump flushes

type jsonProblem struct {
	Kind  string `json:"kind"`
	Path  string `json:"path"`
	Error string `json:"error"`
}

func (p *jsonPrinter) problem(path string, err error) {
	p.object(jsonProblem{Kind: "problem", Path: path, Error: err.Error()})
}

type jsonFinding struct {
	Kind    string           `json:"kind"`
	Finding string           `json:"finding"`
	Path    string           `json:"path"`
	Numbers map[string]int64 `json:"numbers"`
}

func (p *jsonPrinter) report(r *report) {
	for _, kind := range []struct {
		name string
		list *findings
		a, b string
	}{
		{"offsetMismatch", &r.mismatches, "indexOffset", "logOffset"},
		{"timestampMismatch", &r.timeMismatches, "indexTimestamp", "logTimestamp"},
		{"timestampOrder", &r.timeOrder, "indexTimestamp", "previousTimestamp"},
		{"offsetNotFound", &r.notFound, "indexOffset", "logOffset"},
		{"gap", &r.gaps, "offset", "nextOffset"},
	} {
		for _, path := range kind.list.paths() {
			for _, f := range kind.list.byFile[path] {
				p.object(jsonFinding{Kind: "finding", Finding: kind.name, Path: path, Numbers: map[string]int64{kind.a: f.a, kind.b: f.b}})
			}
		}
	}
}

var _ printer = (*jsonPrinter)(nil)
