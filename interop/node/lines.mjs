// The line format of the matrix of interop, shared by the Node clients.
// A line is key<TAB>value<TAB>headers: key or value \N is null; headers are name=value, joined by commas.
import { readFileSync } from 'node:fs'

export function readLines () {
  return readFileSync(0, 'utf8').split('\n').filter(line => line !== '').map(line => {
    const [key, value, headers] = line.split('\t')
    const pairs = headers === '' ? [] : headers.split(',').map(h => h.split('='))
    return { key: key === '\\N' ? null : key, value: value === '\\N' ? null : value, headers: pairs }
  })
}

export function show (key, value, headers) {
  const text = b => (b === null || b === undefined ? '\\N' : b.toString())
  return `${text(key)}\t${text(value)}\t${headers.map(([name, v]) => `${name}=${v}`).join(',')}`
}

// run calls f and ends the process, which the clients' timers would keep alive.
export async function run (f) {
  try {
    await f(...process.argv.slice(2))
    process.exit(0)
  } catch (e) {
    console.error(e)
    process.exit(1)
  }
}
