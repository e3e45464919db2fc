// Tries again and again to get a lock that it may steal by age: node contend.mjs --impl proper|npm --file F --for MS --stale MS
//
//   got                                               at once, each time; the lock is released again
//   {"tries":n,"got":n,"codes":{"ELOCKED":n,...}}     at the end; the codes of all tries that failed
import { setTimeout as sleep } from 'node:timers/promises'
import { actor, number, say } from './actor.mjs'
import { contender } from './locks.mjs'

await actor(['impl', 'file', 'for', 'stale'], async (flags) => {
  const tryOnce = contender(flags.impl)
  const stale = number(flags, 'stale')
  const outcome = { tries: 0, got: 0, codes: {} }
  for (const end = Date.now() + number(flags, 'for'); Date.now() < end; await sleep(10)) {
    outcome.tries++
    try {
      const release = await tryOnce(flags.file, stale)
      outcome.got++
      say('got')
      await release()
    } catch (error) {
      const code = error.code ?? error.name
      outcome.codes[code] = (outcome.codes[code] ?? 0) + 1
    }
  }
  say(JSON.stringify(outcome))
})
