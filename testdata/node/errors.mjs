// Does what it is told and says how that ended: node errors.mjs, requests on standard input, answers on standard output
//
//   {"call":"rename","args":["a","b"],"umask":63,"uid":65534}   of node:fs/promises, or one of the calls below; in one line
//   {"value":...} | {"code":"ENOENT","message":"..."}           no code where the error has none
import fs from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { getSystemErrorMap } from 'node:util'
import { withFileLock, writeFileAtomic } from '@deepseek-ai/dsh-atomic-write'
import { withFileLock as withLaterFileLock } from './later.mjs'
import { actor, say } from './actor.mjs'

const calls = {
  write: writeFileAtomic,
  lock: (file) => withFileLock(file, () => fs.stat(`${file}.lock`).then((stat) => stat.mode & 0o777)),
  later: (file, waitMs) => withLaterFileLock(file, async () => 'ran', { waitMs }),

  /** Takes a lock that is then replaced by another's. */
  loseLock: (file, record) =>
    withFileLock(file, async () => {
      await fs.rm(`${file}.lock`)
      await fs.writeFile(`${file}.lock`, record)
    }),

  /** Fails inside a lock that cannot be removed. */
  failTwice: (file) =>
    withFileLock(file, async () => {
      await fs.rm(`${file}.lock`)
      await fs.mkdir(`${file}.lock`)
      throw new Error('the operation failed')
    }),

  nest: (file) => withFileLock(file, () => withFileLock(file, async () => 'ran')),

  kill: (pid) => process.kill(pid, 0),

  open: async (file, flags) => (await fs.open(file, flags)).close(),

  /** Opens a file until that fails. */
  exhaust: async (file) => {
    const open = []
    try {
      for (;;) open.push(await fs.open(file))
    } finally {
      for (const handle of open) await handle.close()
    }
  },

  /** The names of all numbers that libuv knows. */
  names: () => Object.fromEntries([...getSystemErrorMap()].map(([number, [name]]) => [-number, name])),
}

await actor([], async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    say(JSON.stringify(await answer(JSON.parse(line))))
  }
})

async function answer({ call, args = [], umask, uid }) {
  const before = umask === undefined ? undefined : process.umask(umask)
  if (uid !== undefined) process.seteuid(uid)
  try {
    return { value: await (calls[call] ?? fs[call])(...args) }
  } catch (error) {
    return { code: error.code, message: error.message }
  } finally {
    if (uid !== undefined) process.seteuid(0)
    if (before !== undefined) process.umask(before)
  }
}
