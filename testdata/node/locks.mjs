// The lock implementations that an actor can be told to use. Each takes the lock beside `file` and resolves to a function
// that releases it. Without waitMs an implementation waits as long as it does by itself.
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import * as rc8 from '@deepseek-ai/dsh-atomic-write'
import npmLockfile from 'lockfile'
import properLockfile from 'proper-lockfile'
import * as later from './later.mjs'

const pollMs = 20
const npmLock = promisify(npmLockfile.lock)
const npmUnlock = promisify(npmLockfile.unlock)

const acquirers = {
  rc8(file, waitMs) {
    if (waitMs !== undefined && waitMs !== 2000) throw new Error('rc8 waits 2000 ms and cannot be told otherwise')
    return held((operation) => rc8.withFileLock(file, operation))
  },

  later(file, waitMs) {
    return held((operation) => later.withFileLock(file, operation, { waitMs }))
  },

  async proper(file, waitMs = 2000) {
    for (const deadline = Date.now() + waitMs; ; await sleep(pollMs)) {
      try {
        return await tryProper(file, 2000)
      } catch (error) {
        if (error.code !== 'ELOCKED' || Date.now() >= deadline) throw error
      }
    }
  },

  async npm(file, waitMs = 2000) {
    await npmLock(`${file}.lock`, { wait: waitMs, pollPeriod: pollMs })
    return () => npmUnlock(`${file}.lock`)
  },
}

export async function acquire(implementation, file, waitMs) {
  return choose(acquirers, implementation)(file, waitMs)
}

/** A function (file, staleMs) that tries once and steals a lock older than staleMs; it resolves to the release. */
export function contender(implementation) {
  return choose({ proper: tryProper, npm: tryNpm }, implementation)
}

function tryProper(file, staleMs) {
  return properLockfile.lock(file, { lockfilePath: `${file}.lock`, stale: staleMs, realpath: false })
}

async function tryNpm(file, staleMs) {
  await npmLock(`${file}.lock`, { stale: staleMs })
  return () => npmUnlock(`${file}.lock`)
}

function choose(table, name) {
  if (!Object.hasOwn(table, name)) throw new Error(`--impl must be one of ${Object.keys(table).join(', ')}: ${name}`)
  return table[name]
}

/** Turns a lock that exists for the length of a callback into one with a release. */
function held(run) {
  return new Promise((resolve, reject) => {
    let leave
    const left = new Promise((done) => (leave = done))
    const ended = run(() => {
      resolve(() => {
        leave()
        return ended
      })
      return left
    })
    ended.catch(reject)
  })
}
