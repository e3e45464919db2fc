// Replaces a file again and again: node write.mjs --impl rc8|write-file-atomic --file F --count N
//
//   written     after each, once what lies there has been read and was whole: 20000 and n of the n-th letter of a to z
import { readFile } from 'node:fs/promises'
import * as rc8 from '@deepseek-ai/dsh-atomic-write'
import writeFileAtomic from 'write-file-atomic'
import { actor, number, say } from './actor.mjs'

const writers = {
  rc8: rc8.writeFileAtomic,
  'write-file-atomic': writeFileAtomic,
}

await actor(['impl', 'file', 'count'], async ({ impl, file, ...flags }) => {
  if (!Object.hasOwn(writers, impl)) throw new Error(`--impl must be one of ${Object.keys(writers).join(', ')}: ${impl}`)
  for (let left = number(flags, 'count'); left > 0; left--) {
    await writers[impl](file, whole(13 + (left % 13)), { mode: 0o600 })
    const found = await readFile(file, 'utf8')
    if (found !== whole(found.charCodeAt(0) - 97)) throw new Error(`read ${found.length} of ${found[0]}`)
    say('written')
  }
})

function whole(n) {
  return String.fromCharCode(97 + n).repeat(20000 + n)
}
