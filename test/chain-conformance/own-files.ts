import { readdir, readFile } from 'node:fs/promises'

/** How a file names the driver of the one asset that it goes through in full. */
const DRIVER = /^describeChainConformance\((\w+Driver\(.*?\))/gm

/**
 * The drivers that have a file of their own in this folder, as it names them: `evmDriver('ETH')`. Whatever else the
 * registry has is gone through in short, and in full by `npm run test:long`.
 */
export async function driversOfOwnFiles(): Promise<ReadonlySet<string>> {
  const folder = new URL('.', import.meta.url)
  const files = (await readdir(folder)).filter((name) => name.endsWith('.test.ts'))
  const texts = await Promise.all(files.map((name) => readFile(new URL(name, folder), 'utf8')))
  return new Set(texts.flatMap((text) => [...text.matchAll(DRIVER)].map(([, driver = '']) => driver)))
}

export const FORM = process.env.LONG === '1' ? 'full' : 'short'
