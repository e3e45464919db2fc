// Trees of the tables: what lies below a directory, by path: "dir 0755", "file 0600 content", "link target", "fifo 0600".
import { execFileSync } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Makes the tree in dir, each mode exactly as stated. What has the name of a file already is replaced. */
export function makeTree(dir, tree) {
  for (const name of Object.keys(tree).sort()) {
    const path = join(dir, name)
    const [, kind, rest] = /^(\w+) (.*)$/s.exec(tree[name])
    if (kind === 'link') {
      symlinkSync(rest, path)
      continue
    }
    const [, mode, content] = /^(0[0-7]{3}) ?(.*)$/s.exec(rest)
    make[kind](path, content)
    chmodSync(path, parseInt(mode, 8))
  }
}

const make = {
  dir: (path) => mkdirSync(path),
  fifo: (path) => execFileSync('mkfifo', [path]),
  file(path, content) {
    rmSync(path, { force: true })
    writeFileSync(path, content)
  },
}

export function readTree(dir, prefix = '') {
  const tree = {}
  for (const found of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, found.name)
    tree[prefix + found.name] = entry(path)
    if (found.isDirectory()) Object.assign(tree, readTree(path, `${prefix}${found.name}/`))
  }
  return tree
}

function entry(path) {
  const stat = lstatSync(path)
  const mode = `0${(stat.mode & 0o777).toString(8).padStart(3, '0')}`
  if (stat.isSymbolicLink()) return `link ${readlinkSync(path)}`
  if (stat.isDirectory()) return `dir ${mode}`
  if (stat.isFIFO()) return `fifo ${mode}`
  return `file ${mode} ${readFileSync(path, 'utf8')}`
}

/** The tree as it is compared here: Windows has no such modes. */
export function comparable(tree) {
  if (process.platform !== 'win32') return tree
  return Object.fromEntries(Object.entries(tree).map(([path, entry]) => [path, entry.replace(/^(dir|file|fifo) 0[0-7]{3}/, '$1')]))
}
