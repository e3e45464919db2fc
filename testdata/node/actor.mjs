// What the actors share: flags, and how they fail. An actor is a program that a Go test starts, and that tells in one
// line of standard output each thing that happened.
import { parseArgs } from 'node:util'

/** Runs main with the flags' values; an error ends the process with exit code 1 and `<code> <message>` on standard error. */
export async function actor(options, main) {
  process.on('uncaughtException', fail)
  try {
    await main(parseArgs({ options: Object.fromEntries(options.map((name) => [name, { type: 'string' }])) }).values)
  } catch (error) {
    fail(error)
  }
}

/** A whole number of at least zero. */
export function number(flags, name) {
  if (!/^\d+$/.test(flags[name])) throw new Error(`--${name} must be a whole number: ${flags[name]}`)
  return Number(flags[name])
}

/** The same, or undefined where the flag is absent. */
export function optionalNumber(flags, name) {
  return flags[name] === undefined ? undefined : number(flags, name)
}

export function say(line) {
  process.stdout.write(`${line}\n`)
}

function fail(error) {
  process.stderr.write(`${error.code ?? error.name} ${error.message}\n`)
  process.exit(1)
}
