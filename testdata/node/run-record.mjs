// The record of a package manager's run as a Node program reads and writes it: any JSON object whose pid is a positive
// safe integer and whose grouped is a boolean.

/** The run that the bytes name, or undefined. */
export function readRunRecord(bytes) {
  let record
  try {
    record = JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
  const { pid, grouped } = record ?? {}
  const named = Number.isSafeInteger(pid) && pid > 0 && typeof grouped === 'boolean' && !Array.isArray(record)
  return named ? { pid, grouped } : undefined
}

export function writeRunRecord({ pid, grouped }) {
  return Buffer.from(`${JSON.stringify({ pid, grouped })}\n`)
}
