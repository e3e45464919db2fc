// Sets one key of a JSON settings file, which other programs may change at the same time: node settings.mjs FILE KEY VALUE
//
//   <number of keys afterwards>
import { readFile } from 'node:fs/promises'
import { withFileLock, writeFileAtomic } from '@deepseek-ai/dsh-atomic-write'
import { say } from './actor.mjs'

const [file, key, value] = process.argv.slice(2)

const keys = await withFileLock(file, async () => {
  const settings = await read()
  settings[key] = value
  await writeFileAtomic(file, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 })
  return Object.keys(settings).length
})
say(keys)

async function read() {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (error.code === 'ENOENT') return {}
    throw error
  }
}
