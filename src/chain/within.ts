import { ChainUnavailable } from './adapter.ts'

/** The answer, or `ChainUnavailable` once it has been waited for long enough; a late one is ignored. */
export async function within<Result>(ms: number, answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new ChainUnavailable('it does not answer in time')), ms)
  })
  try {
    return await Promise.race([answer, timeout])
  } finally {
    clearTimeout(timer)
  }
}
