// The writer lock of the Node library's later releases, which take over the lock of a dead process. npm has none of
// them, so this is the peer that the tests of that protocol meet.
//
// A contender that finds a dead holder makes a claim file named after the lock's bytes, looks again under it, and only
// then removes the lock. It compares bytes, not inodes, and its release removes whatever has the lock's name: a pid that
// is reused at the wrong moment lets two in, and a claimant that dies blocks that lock's takeover until someone removes
// its claim.
import { createHash } from 'node:crypto'
import { lstat, readFile, rm, writeFile } from 'node:fs/promises'

export { writeFileAtomic } from '@deepseek-ai/dsh-atomic-write'

const firstPauseMs = 20
const longestPauseMs = 200
const largestPid = 2147483647
const longestRecord = 64

/** Runs operation while `<filename>.lock` is held; waitMs 0 is one try, takeover included. */
export async function withFileLock(filename, operation, { waitMs = 2000 } = {}) {
  const lock = `${filename}.lock`
  await acquire(lock, waitMs)
  try {
    return await operation()
  } finally {
    await rm(lock, { force: true })
  }
}

async function acquire(lock, waitMs) {
  const deadline = Date.now() + waitMs
  for (let pause = firstPauseMs; !(await createLock(lock)); pause = Math.min(2 * pause, longestPauseMs)) {
    const { freed, refusal } = await takeOver(lock)
    if (freed && (await createLock(lock))) return
    if (Date.now() >= deadline) throw refusal ?? new Error(`timed out waiting for the writer lock at ${lock}`)
    await sleep(pause)
  }
}

async function createLock(lock) {
  try {
    return await createRecord(lock)
  } catch (error) {
    // Windows refuses a name that is being deleted; a refusal without a lock is a directory that cannot be written.
    if (error.code === 'EPERM' && (await exists(lock))) return false
    throw error
  }
}

/** False when something has the name already. */
async function createRecord(path) {
  try {
    await writeFile(path, `${process.pid}\n`, { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

/** Removes the lock of a dead holder. A refusal is returned, not thrown, where a later try may find it gone. */
async function takeOver(lock) {
  const found = await readRecord(lock)
  if (!found || !isGone(found)) return { freed: false }

  const claim = claimName(lock, found)
  try {
    if (!(await createRecord(claim))) return { freed: false }
  } catch (refusal) {
    if (refusal.code === 'EPERM') return { freed: false, refusal }
    throw refusal
  }
  try {
    const again = await readRecord(lock)
    if (!again?.equals(found) || !isGone(again)) return { freed: false }
    return { freed: await removed(lock) }
  } finally {
    await removed(claim)
  }
}

/** The claim on a lock with these bytes. */
export function claimName(lock, record) {
  return `${lock}.takeover-${createHash('sha256').update(record).digest('hex').slice(0, 16)}`
}

/** Undefined for all that cannot name a process; never opens what could block or lead elsewhere. */
async function readRecord(path) {
  try {
    const stat = await lstat(path)
    return stat.isFile() && stat.size <= longestRecord ? await readFile(path) : undefined
  } catch {
    return undefined
  }
}

/** The process that the bytes of a lock or claim name, or undefined. */
export function namedPid(record) {
  const text = record.toString('latin1')
  const pid = Number(text)
  return text.length <= longestRecord && /^[0-9]+\n$/.test(text) && pid >= 1 && pid <= largestPid ? pid : undefined
}

/** Only "no such process" proves a holder gone: EPERM is a live process of another user. */
function isGone(record) {
  const pid = namedPid(record)
  if (pid === undefined) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return error.code === 'ESRCH'
  }
}

async function exists(path) {
  return lstat(path).then(() => true, () => false)
}

async function removed(path) {
  return rm(path, { force: true }).then(() => true, () => false)
}

function sleep(ms) {
  return new Promise((done) => setTimeout(done, ms))
}
