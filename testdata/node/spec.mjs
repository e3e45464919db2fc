// Runs the tables that Go runs too: node spec.mjs [--dir DIR]
//
//   records.json: 31 cases                        for each table, with those that are not for this system counted apart
//   records.json: zero padding: later: found …    for each case that fails; the exit code is 1 then
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { actor, say } from './actor.mjs'
import { finish, topics } from './topics.mjs'

const version = 1
const systems = {
  unix: process.platform !== 'win32',
  linux: process.platform === 'linux',
}

await actor(['dir'], async ({ dir = join(dirname(fileURLToPath(import.meta.url)), '..', 'spec') }) => {
  const files = readdirSync(dir).sort()
  demand(isDeepStrictEqual(files, Object.keys(topics).sort()), `tables: ${files}; topics: ${Object.keys(topics)}`)
  let failures = 0
  for (const file of files) failures += await runTable(file, load(dir, file))
  await finish()
  process.exitCode = failures ? 1 : 0
})

async function runTable(file, cases) {
  let failures = 0
  let skipped = 0
  for (const row of cases) {
    if (row.systems && !systems[row.systems]) {
      skipped++
      continue
    }
    for (const [implementation, found, want] of await topics[file].run(row)) {
      if (isDeepStrictEqual(found, want)) continue
      failures++
      say(`${file}: ${row.name}: ${implementation}: found ${JSON.stringify(found)}, want ${JSON.stringify(want)}; ${row.why}`)
    }
  }
  say(`${file}: ${cases.length} cases${skipped ? `, ${skipped} of them not for ${process.platform}` : ''}`)
  return failures
}

function load(dir, file) {
  const text = readFileSync(join(dir, file), 'utf8').replace(/\{([^{}"\\])×(\d+)\}/gu, (_, part, count) => part.repeat(count))
  const table = JSON.parse(text)
  onlyKeys(table, ['version', 'about', 'cases'], file)
  demand(table.version === version && table.about && table.cases.length > 0, `${file}: version, about or cases`)
  const names = new Set()
  for (const row of table.cases) {
    const where = `${file}: ${row.name}`
    onlyKeys(row, ['name', 'why', 'systems', ...topics[file].fields], where)
    demand(row.name && row.why && !names.has(row.name), `${where}: no name, no why, or a name used before`)
    demand(!row.systems || Object.hasOwn(systems, row.systems), `${where}: unknown systems ${row.systems}`)
    for (const other of ['node', 'rc8', 'later']) demand(!isDeepStrictEqual(row[other], row.want), `${where}: ${other} is want`)
    names.add(row.name)
  }
  return table.cases
}

function onlyKeys(object, known, where) {
  const unknown = Object.keys(object).filter((key) => !known.includes(key))
  demand(unknown.length === 0, `${where}: unknown ${unknown}`)
}

function demand(condition, message) {
  if (!condition) throw new Error(message)
}
