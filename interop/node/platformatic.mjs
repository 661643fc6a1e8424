// @platformatic/kafka for the matrix of interop.
// usage: platformatic.mjs produce CODEC TOPIC <lines        platformatic.mjs consume TOPIC COUNT >lines
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { readLines, show, run } from './lines.mjs'

const require = createRequire(join(process.env.NODE_PACKAGES, 'package.json'))
const { Producer, Consumer } = await import(pathToFileURL(require.resolve('@platformatic/kafka')))

const bytes = text => (text === null ? null : Buffer.from(text))

async function produce (codec, topic) {
  const producer = new Producer({ clientId: 'interop-platformatic', bootstrapBrokers: [process.env.BROKER] })
  const messages = readLines().map(({ key, value, headers }) => ({
    topic, key: bytes(key), value: bytes(value), headers: new Map(headers.map(([name, v]) => [bytes(name), bytes(v)]))
  }))
  await producer.send({ messages, compression: codec, acks: -1 })
  await producer.close()
}

async function consume (topic, count) {
  const consumer = new Consumer({ clientId: 'interop-platformatic', groupId: `platformatic-${topic}`, bootstrapBrokers: [process.env.BROKER] })
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest', sessionTimeout: 10000, heartbeatInterval: 500, maxWaitTime: 100 })
  let seen = 0
  for await (const { key, value, headers } of stream) {
    console.log(show(key, value, [...headers]))
    if (++seen === Number(count)) break
  }
  await stream.close()
  await consumer.close()
}

await run((verb, ...args) => (verb === 'produce' ? produce(...args) : consume(...args)))
