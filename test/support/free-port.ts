import { isFreePort } from '../../src/runtime/free-port.ts'

/** Below the ports that the program chooses for itself, in a part of them for each process that runs test files. */
const PORT_MIN = 10_240
const PARTS = 8
const PART = 1_250

const part = (Number(process.env.VITEST_POOL_ID ?? 0) + process.ppid) % PARTS
let next = Math.floor(Math.random() * PART)

/**
 * A free TCP port of 127.0.0.1 that no other test is given meanwhile: a program that a test starts takes seconds to
 * listen there.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < PART; attempt++) {
    next = (next + 1) % PART
    const port = PORT_MIN + part * PART + next
    if (await isFreePort(port)) return port
  }
  throw new Error('no port is free')
}
