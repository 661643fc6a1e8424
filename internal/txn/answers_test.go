package txn_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/samsalog/samsa/record"
)

// question is one recorded question to Apache Kafka 4.4.0 and its answer (testdata/answers.jsonl.gz): the request as a
// JSON object of kmsg's field names, "$x" for a value of an earlier answer, and the response with what differs from run
// to run replaced by symbols.
type question struct {
	Q       string
	API     string
	Version int16
	Ask     string
	Answer  any
}

func readQuestions(t *testing.T) (out []question) {
	t.Helper()
	f, err := os.Open("testdata/answers.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bufio.NewReader(z)); dec.More(); {
		var q question
		if err := dec.Decode(&q); err != nil {
			t.Fatal(err)
		}
		out = append(out, q)
	}
	return out
}

// neverAnswered is a question that Kafka leaves open; it is answered here.
const neverAnswered = "transaction errors/add partitions, none v5"

// Every question of the families "producer ids", "old transactions", "new transactions" and "transaction errors" is
// answered as Apache Kafka 4.4.0 answers it, at all versions. Among them are X-10 (timeouts), X-18 (versions) and X-19
// (fencing, in the words of each version).
func TestAnswersOfKafka(t *testing.T) {
	b := newBroker(t)
	p := &play{raw: b.connect(t), vars: map[string]any{"id:ans-te-nope": [16]byte(bytes.Repeat([]byte{0xab}, 16))}}
	for topic, partitions := range map[string]int32{"ans-t1": 2, "ans-t2": 1, "ans-te": 2, "ans-tm": 2} {
		p.vars["id:"+topic] = p.raw.createTopic(t, topic, partitions)
	}
	p.raw.findCoordinators(t, "ans-ip")
	p.raw.awaitLoaded(t)
	m := matcher{t: t, vars: p.vars, actual: map[string]int64{}, symbols: map[int64]string{}}
	questions := readQuestions(t)
	if len(questions) != 275 {
		t.Errorf("%d questions, want 275", len(questions))
	}
	for _, q := range questions {
		p.before(t, q)
		resp := p.raw.ask(t, p.build(t, q))
		p.after(t, q, resp)
		if q.Q == neverAnswered {
			continue
		}
		if why := m.match(resp, q.Answer); why != "" {
			t.Errorf("%s\n ask %.300s\n %s", q.Q, q.Ask, why)
		}
	}
}

// play does between the questions what was done when they were recorded.
type play struct {
	raw  *rawConn
	vars map[string]any
	// real are the producer id and epoch behind made-up ones.
	realID    int64
	realEpoch int16
	// ended is the epoch that an answer has told and that is used later.
	ended int16
}

// begin makes a transactional id ready for a new transaction.
func (p *play) begin(t *testing.T, id string) {
	t.Helper()
	r := p.raw.initProducer(t, id, 60000)
	p.vars["txid"], p.vars["pid"], p.vars["pe"] = id, r.ProducerID, r.ProducerEpoch
	p.realID, p.realEpoch = r.ProducerID, r.ProducerEpoch
}

func (p *play) before(t *testing.T, q question) {
	family, rest, _ := strings.Cut(q.Q, "/")
	name := rest[:strings.LastIndex(rest, " v")]
	switch {
	case rest == "own id and epoch v3", family == "producer ids" && name == "own id and future epoch":
		p.begin(t, "ans-ip-x")
	case family == "old transactions" && strings.HasSuffix(name, ": add partitions"):
		p.begin(t, "ans-t1-"+name[:1])
	case rest == "list before v2", rest == "produce v12", family == "new transactions" && name == "produce, never ended":
		p.begin(t, "ans-t2")
	case name == "produce, old version, not added", rest == "commit an empty transaction, old version v3":
		p.begin(t, "ans-te")
	case rest == "produce for an unknown transactional id v12":
		p.vars["txid"] = "ans-te-nope"
	case rest == "add partitions, empty id v3":
		p.vars["txid"] = ""
	case rest == "add partitions, foreign producer id v0":
		p.begin(t, "ans-te")
		p.vars["pid"] = int64(987654321)
	case rest == "add partitions, future epoch v0":
		p.vars["pid"], p.vars["pe"] = p.realID, p.realEpoch+1
	case rest == "add partitions, unknown topic v0":
		p.vars["pe"] = p.realEpoch
	case rest == "describe when committed v0":
		p.vars["pe"] = p.ended
	}
	if q.API == "Produce" {
		p.vars["b"], p.vars["good"] = p.batch(name), plainBatch()
	}
}

func (p *play) after(t *testing.T, q question, resp kmsg.Response) {
	switch r := resp.(type) {
	case *kmsg.EndTxnResponse:
		if strings.HasSuffix(q.Q, ": end again v0") || r.ErrorCode != 0 || p.vars["txid"] == "" {
			return
		}
		p.raw.awaitEnd(t, p.vars["txid"].(string))
		if q.Version >= 5 {
			p.ended = r.ProducerEpoch
		}
		if strings.Contains(q.Q, "/abort") {
			p.vars["pe"] = r.ProducerEpoch
		}
	case *kmsg.InitProducerIDResponse:
		if strings.Contains(q.Q, "takes over") {
			p.raw.awaitEnd(t, "ans-t2")
		}
	}
}

// batch is what a produce of that name sends.
func (p *play) batch(name string) record.Batch {
	n, sequence := 2, record.Sequence(0)
	switch name {
	case "produce more", "produce of the fenced":
		sequence = 2
	case "produce with the old epoch":
		sequence = 4
	case "transactional batch without transactional id":
		n = 1
	}
	pid, _ := p.vars["pid"].(int64)
	epoch, _ := p.vars["pe"].(int16)
	return transactionalBatch(pid, epoch, sequence, n)
}

func transactionalBatch(pid int64, epoch int16, sequence record.Sequence, n int) record.Batch {
	o := record.DefaultBuilderOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = record.ProducerID(pid), record.ProducerEpoch(epoch), sequence, true
	return batchOf(o, n)
}

func plainBatch() record.Batch { return batchOf(record.DefaultBuilderOptions(), 1) }

func batchOf(o record.BuilderOptions, n int) record.Batch {
	b := record.NewBuilder(o)
	for i := range n {
		b.Append(1700000000000+int64(i), []byte{'k', byte('0' + i)}, []byte{'v', byte('0' + i)}, nil)
	}
	return b.Build()
}

// patience is how long anything is waited for.
const patience = 20 * time.Second
