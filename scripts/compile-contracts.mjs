// Compiles contracts/TestUsdc.sol for the sandbox, and its interface for tests; `npm run contracts`. A test compiles it again
// and compares.
import { readFile, writeFile } from 'node:fs/promises'
import solc from 'solc'

const root = new URL('..', import.meta.url)

/** Bytecode (hexadecimal) and interface of a contract in contracts/. Throws with the compiler's words. */
export async function compileContract(name) {
  const file = `${name}.sol`
  const content = await readFile(new URL(`contracts/${file}`, root), 'utf8')
  const input = {
    language: 'Solidity',
    sources: { [file]: { content } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'paris',
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  if (output.errors?.length > 0)
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  const { abi, evm } = output.contracts[file][name]
  return { abi, bytecode: `0x${evm.bytecode.object}` }
}

if (process.argv[1] !== undefined && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  const { abi, bytecode } = await compileContract('TestUsdc')
  const head =
    '// Written by scripts/compile-contracts.mjs from contracts/TestUsdc.sol; a test compiles it again and compares.\n'
  const creation = '/** What creates the test USDC; its constructor’s arguments follow it. */\n'
  await writeFile(
    new URL('src/sandbox/evm/test-usdc.ts', root),
    `${head}\n${creation}export const TEST_USDC_BYTECODE =\n  '${bytecode}'\n`,
  )
  await writeFile(
    new URL('test/support/test-usdc-abi.ts', root),
    `${head}export const TEST_USDC_ABI = ${JSON.stringify(abi)} as const\n`,
  )
}
