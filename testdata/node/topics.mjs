// How Node runs a case of each table. A topic has the fields of its cases, besides those that every case has, and a
// function that yields for each implementation what was found and what the case wants of it.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { getSystemErrorMap } from 'node:util'
import * as rc8 from '@deepseek-ai/dsh-atomic-write'
import * as later from './later.mjs'
import { readRunRecord, writeRunRecord } from './run-record.mjs'
import { comparable, makeTree, readTree } from './tree.mjs'

const here = dirname(fileURLToPath(import.meta.url))

export const topics = {
  'records.json': {
    fields: ['bytes', 'want'],
    run: ({ bytes, want }) => [['later', later.namedPid(Buffer.from(bytes, 'latin1')) ?? null, want]],
  },

  'claim-names.json': {
    fields: ['lock', 'bytes', 'want'],
    run: ({ lock, bytes, want }) => [['later', later.claimName(lock, Buffer.from(bytes, 'latin1')), want]],
  },

  'run-records.json': {
    fields: ['bytes', 'run', 'want', 'node'],
    run({ bytes, run, want, node = want }) {
      const found = run ? writeRunRecord(run).toString('latin1') : readRunRecord(Buffer.from(bytes, 'latin1')) ?? null
      return [['node', found, node]]
    },
  },

  'temp-names.json': {
    fields: ['base', 'want', 'node'],
    async run({ base, want, node = want }) {
      const found = await inDirectory((dir) => temporaryName(dir, base))
      return [['rc8', found.replace(/\.[0-9a-f]{12}\.tmp$/, '.{random}.tmp'), node]]
    },
  },

  'wait-schedule.json': {
    fields: ['wait', 'want'],
    async run({ wait, want }) {
      const implementations = wait === 2000 ? ['rc8', 'later'] : ['later']
      const rows = []
      for (const name of implementations) {
        rows.push([name, await inDirectory(async (dir) => {
          makeTree(dir, { 'f.lock': 'file 0600 somebody\n' })
          return (await ask(name, join(dir, 'f'), wait)).tries
        }), want])
      }
      return rows
    },
  },

  'write.json': {
    fields: ['before', 'call', 'want', 'node'],
    async run({ before, call, want, node = want }) {
      const found = await inDirectory(async (dir) => {
        makeTree(dir, before)
        return { ...(await write(dir, call)), after: comparable(readTree(dir)) }
      })
      return [['rc8', found, { ...node, after: comparable(node.after) }]]
    },
  },

  'lock.json': {
    fields: ['before', 'during', 'full', 'want', 'rc8', 'later'],
    async run(row) {
      const rows = []
      for (const name of ['rc8', 'later']) {
        const { before, during = {}, full = false, want } = filled({ ...row, want: row[name] ?? row.want })
        const found = await inDirectory(async (dir) => {
          makeTree(dir, before)
          const file = join(dir, 'f')
          const { outcome } = full ? askWithoutRoom(name, file) : await ask(name, file, 50, () => makeTree(dir, during))
          return { outcome, after: comparable(readTree(dir)) }
        })
        rows.push([name, found, { ...want, after: comparable(want.after) }])
      }
      return rows
    },
  },

  'errors.json': {
    fields: ['errno', 'before', 'write', 'lock', 'want', 'node'],
    async run(row) {
      const { errno, before, write: target, lock, want, node = want } = filled(row)
      if (errno !== undefined) return [['libuv', codeOf(errno), node]]
      const found = await inDirectory(async (dir) => {
        makeTree(dir, before)
        if (lock !== undefined) return (await ask('rc8', join(dir, lock), 2000)).outcome
        return (await write(dir, { path: target, content: 'new', mode: '0600', umask: '022' })).error ?? 'no error'
      })
      return [['rc8', found, node]]
    },
  },
}

/** What error.code is for a number of the system's. */
function codeOf(errno) {
  const [code] = getSystemErrorMap().get(-errno) ?? [`Unknown system error -${errno}`]
  return code
}

async function inDirectory(run) {
  const dir = mkdtempSync(join(tmpdir(), 'spec-'))
  try {
    return await run(dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

/** The name of the temporary file that a replacement of base makes, or the code of its error. */
async function temporaryName(dir, base) {
  const watcher = watch(dir)
  const seen = new Promise((resolve) => {
    watcher.on('change', (_, name) => name !== base && resolve(name))
  })
  try {
    await rc8.writeFileAtomic(join(dir, base), '', { mode: 0o600 })
    return await seen
  } catch (error) {
    return error.code
  } finally {
    watcher.close()
  }
}

async function write(dir, { path, content, mode, dirMode, umask }) {
  const options = { mode: parseInt(mode, 8), ...(dirMode && { dirMode: parseInt(dirMode, 8) }) }
  const before = process.umask(parseInt(umask, 8))
  try {
    await rc8.writeFileAtomic(join(dir, path), content, options)
    return {}
  } catch (error) {
    return { error: error.code }
  } finally {
    process.umask(before)
  }
}

/** Asks for a lock while pauses take no time and move the clock. tries are the times on it, inside runs under the lock. */
async function ask(name, file, waitMs, inside = () => {}) {
  const real = { setTimeout: globalThis.setTimeout, now: Date.now }
  const began = Date.now()
  let at = 0
  const tries = [0]
  Date.now = () => began + at
  globalThis.setTimeout = (done, ms) => {
    tries.push((at += ms))
    setImmediate(done)
  }
  try {
    const options = name === 'later' ? { waitMs } : undefined
    await { rc8, later }[name].withFileLock(file, inside, options)
    return { outcome: 'acquired', tries }
  } catch (error) {
    return { outcome: outcomeOf(error), tries }
  } finally {
    globalThis.setTimeout = real.setTimeout
    Date.now = real.now
  }
}

function outcomeOf(error) {
  return error.code ?? (error.message.includes('timed out') ? 'timed out' : String(error))
}

/** Asks for a lock in a process that cannot make any file grow. */
function askWithoutRoom(name, file) {
  const survive = 'data:text/javascript,process.on("SIGXFSZ",()=>{})'
  const command = [process.execPath, '--import', survive, join(here, 'hold.mjs'), '--impl', name, '--file', file]
  const { stderr } = spawnSync('sh', ['-c', 'ulimit -f 0; exec "$@"', 'sh', ...command], { encoding: 'utf8', input: '' })
  return { outcome: stderr.split(' ')[0] || 'acquired' }
}

const dead = spawnSync(process.execPath, ['--version']).pid
let live

/** The case with the numbers of real processes in its places. */
function filled(row) {
  live ??= spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'inherit'] })
  const digits = (record) => later.claimName('', Buffer.from(record)).slice('.takeover-'.length)
  const values = { dead, live: live.pid, self: process.pid, claim: digits(`${dead}\n`), claim00: digits(`00${dead}\n`) }
  return JSON.parse(JSON.stringify(row).replace(/\{(dead|live|self|claim|claim00)\}/g, (_, name) => values[name]))
}

/** Ends what the topics have started. */
export async function finish() {
  if (!live) return
  live.stdin.end()
  await once(live, 'exit')
}
