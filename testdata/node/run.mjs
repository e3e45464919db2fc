// A run as Node's plugin manager records it: node run.mjs --op start|check --dir PROFILE [--command COMMAND]
//
//   started <pid>      start: the command runs under the manifest's lock, in a group of its own, and is recorded
//   stopped            it has ended, its record is removed
//
//   absent             check: no record
//   refused            it names no run
//   running <pid>      what it names is there, its group where it has one
//   stopped <pid>      it is not
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { actor, say } from './actor.mjs'
import { withFileLock } from './later.mjs'
import { readRunRecord, writeRunRecord } from './run-record.mjs'

const operations = {
  async start(own, command) {
    const dir = join(own, '..')
    const record = join(own, 'run.json')
    await mkdir(own, { recursive: true, mode: 0o700 })
    await withFileLock(join(dir, 'package.json'), async () => {
      const child = spawn(command, { cwd: dir, detached: true, shell: true, stdio: 'ignore' })
      const ended = once(child, 'exit')
      await writeFile(record, writeRunRecord({ pid: child.pid, grouped: true }), { flag: 'wx', mode: 0o600 })
      say(`started ${child.pid}`)
      await ended
      await rm(record)
      say('stopped')
    })
  },

  async check(own) {
    const bytes = await readIfPresent(join(own, 'run.json'))
    if (!bytes) return say('absent')
    const run = readRunRecord(bytes)
    if (!run) return say('refused')
    say(`${isRunning(run) ? 'running' : 'stopped'} ${run.pid}`)
  },
}

await actor(['op', 'dir', 'command'], async ({ op, dir, command }) => {
  if (!Object.hasOwn(operations, op)) throw new Error(`--op must be one of ${Object.keys(operations).join(', ')}: ${op}`)
  await operations[op](join(dir, '.plugin-manager'), command)
})

async function readIfPresent(path) {
  try {
    return await readFile(path)
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Only "no such process" proves that a run has stopped. */
function isRunning({ pid, grouped }) {
  try {
    process.kill(grouped && process.platform !== 'win32' ? -pid : pid, 0)
    return true
  } catch (error) {
    return error.code !== 'ESRCH'
  }
}
