package record

import (
	"fmt"
	"testing"
)

func BenchmarkInspect(b *testing.B) {
	for _, c := range allCodecs {
		for _, n := range []int{1, 1000} {
			batch := produced(n, c)
			b.Run(fmt.Sprintf("%v/%d", c, n), func(b *testing.B) {
				v := clientRules()
				b.SetBytes(int64(produced(n, None).Header().SizeInBytes))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := Inspect(batch, v); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkInspectRecompress(b *testing.B) {
	batch := produced(1000, None)
	for _, c := range allCodecs[1:] {
		b.Run(c.String(), func(b *testing.B) {
			v := clientRules()
			v.KeepCodec, v.TargetCodec, v.Level = false, c, c.DefaultLevel()
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Inspect(batch, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecords(b *testing.B) {
	for _, c := range allCodecs {
		batch := produced(1000, c)
		b.Run(c.String(), func(b *testing.B) {
			b.SetBytes(int64(produced(1000, None).Header().SizeInBytes))
			b.ReportAllocs()
			for b.Loop() {
				rs := batch.Records(0)
				for rs.Next() {
				}
				if rs.Err() != nil {
					b.Fatal(rs.Err())
				}
			}
		})
	}
}

func BenchmarkBuilder(b *testing.B) {
	key, value := []byte("key-12345"), make([]byte, 100)
	for _, c := range allCodecs {
		b.Run(c.String(), func(b *testing.B) {
			o := DefaultBuilderOptions()
			o.Codec, o.Level = c, c.DefaultLevel()
			b.ReportAllocs()
			for b.Loop() {
				builder := NewBuilder(o)
				for range 100 {
					builder.Append(goldenTime, key, value, nil)
				}
				builder.Build()
			}
		})
	}
}

func BenchmarkScanner(b *testing.B) {
	one := produced(10, None)
	var many []byte
	for range 1000 {
		many = append(many, one...)
	}
	b.SetBytes(int64(len(many)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewScanner(many)
		for s.Next() {
		}
	}
}

func BenchmarkCheckCRC(b *testing.B) {
	batch := produced(1000, None)
	b.SetBytes(int64(len(batch)))
	for b.Loop() {
		if err := batch.CheckCRC(); err != nil {
			b.Fatal(err)
		}
	}
}
