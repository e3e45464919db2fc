// Counts in a file under its lock: node counter.mjs --impl rc8|later --file F --count N --pause MIN-MAX [--hold MS] [--wait MS]
// [--timeouts MOST]
//
//   ack <n>                            after the release of the lock under which n was written
//   timeout                            after a wait that came to nothing, MOST times; one more is an error
//   done <acks> <longest wait in ms>   at the end
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { actor, number, optionalNumber, say } from './actor.mjs'
import { acquire } from './locks.mjs'
import { writeFileAtomic } from './later.mjs'

await actor(['impl', 'file', 'count', 'pause', 'hold', 'wait', 'timeouts'], async (flags) => {
  const count = number(flags, 'count')
  const hold = optionalNumber(flags, 'hold')
  const wait = optionalNumber(flags, 'wait')
  const pause = range(flags.pause)
  let timeouts = optionalNumber(flags, 'timeouts') ?? 0
  let longest = 0
  for (let acks = 0; acks < count; acks++) {
    const began = performance.now()
    const release = await acquire(flags.impl, flags.file, wait).catch((error) => {
      if (!/timed out/.test(error.message) || timeouts-- === 0) throw error
    })
    longest = Math.max(longest, performance.now() - began)
    if (!release) {
      say('timeout')
      continue
    }
    let n
    try {
      n = await increment(flags.file, hold)
    } finally {
      await release()
    }
    say(`ack ${n}`)
    await sleep(pause.min + Math.random() * (pause.max - pause.min))
  }
  say(`done ${count} ${Math.round(longest)}`)
})

async function increment(file, hold) {
  const n = JSON.parse(await readFile(file, 'utf8')).n + 1
  if (hold) await sleep(hold)
  await writeFileAtomic(file, `${JSON.stringify({ n })}\n`, { mode: 0o600 })
  return n
}

function range(text) {
  const match = /^(\d+)-(\d+)$/.exec(text)
  if (!match) throw new Error(`--pause must be MIN-MAX in milliseconds: ${text}`)
  return { min: Number(match[1]), max: Number(match[2]) }
}
