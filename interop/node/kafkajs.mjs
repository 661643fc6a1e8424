// kafkajs for the matrix of interop.
// usage: kafkajs.mjs produce CODEC TOPIC <lines        kafkajs.mjs consume TOPIC COUNT >lines
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { readLines, show, run } from './lines.mjs'

// The packages are installed outside of the tree.
const require = createRequire(join(process.env.NODE_PACKAGES, 'package.json'))
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const { decompress: unzstd } = require('fzstd')
const wasm = await import(pathToFileURL(require.resolve('@platformatic/wasm-utils')))

// xerial frames: a header of 16 bytes, then blocks with their length in front (snappy-java).
const xerial = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
function unsnappy (buffer) {
  if (!buffer.subarray(0, 8).equals(xerial)) return wasm.snappyDecompress(buffer)
  const blocks = []
  for (let at = 16; at < buffer.length;) {
    const size = buffer.readUInt32BE(at)
    blocks.push(Buffer.from(wasm.snappyDecompress(buffer.subarray(at + 4, at + 4 + size))))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}
const codec = (compress, decompress) => () => ({
  compress: async encoder => Buffer.from(compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(decompress(buffer))
})
CompressionCodecs[CompressionTypes.Snappy] = codec(wasm.snappyCompress, unsnappy)
CompressionCodecs[CompressionTypes.LZ4] = codec(wasm.lz4Compress, wasm.lz4Decompress)
CompressionCodecs[CompressionTypes.ZSTD] = codec(() => { throw new Error('no zstd encoder') }, unzstd)
const types = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy, lz4: CompressionTypes.LZ4 }

const kafka = new Kafka({ clientId: 'interop-kafkajs', brokers: [process.env.BROKER], logLevel: logLevel.NOTHING })

async function produce (name, topic) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  const messages = readLines().map(({ key, value, headers }) => ({ key, value, headers: Object.fromEntries(headers) }))
  await producer.send({ topic, messages, compression: types[name], acks: -1 })
  await producer.disconnect()
}

async function consume (topic, count) {
  const consumer = kafka.consumer({ groupId: `kafkajs-${topic}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  let seen = 0
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, e => reject(e.payload.error))
    consumer.run({
      eachMessage: async ({ message: { key, value, headers } }) => {
        console.log(show(key, value, Object.entries(headers ?? {})))
        if (++seen === Number(count)) resolve()
      }
    }).catch(reject)
  })
  await consumer.disconnect()
}

await run((verb, ...args) => (verb === 'produce' ? produce(...args) : consume(...args)))
