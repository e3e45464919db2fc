// Holds the lock of a file until standard input ends: node hold.mjs --impl rc8|later|proper|npm --file F [--wait MS]
//
//   held <pid>
//   released
import { once } from 'node:events'
import { actor, optionalNumber, say } from './actor.mjs'
import { acquire } from './locks.mjs'

await actor(['impl', 'file', 'wait'], async (flags) => {
  const release = await acquire(flags.impl, flags.file, optionalNumber(flags, 'wait'))
  say(`held ${process.pid}`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  await release()
  say('released')
})
