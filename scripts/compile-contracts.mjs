// Compiles contracts/TestUsdc.sol into src/sandbox/evm/test-usdc.ts; `npm run contracts`. A test compiles it again and compares.
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

/** The source of the module that keeps the artefact. */
export async function artefactSource() {
  const { abi, bytecode } = await compileContract('TestUsdc')
  return `// Made by scripts/compile-contracts.mjs of contracts/TestUsdc.sol; a test compiles it again and compares.

/** What creates the test USDC; its constructor's arguments follow it. */
export const TEST_USDC_BYTECODE =
  '${bytecode}'

export const TEST_USDC_ABI = ${JSON.stringify(abi)} as const
`
}

if (process.argv[1] !== undefined && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  await writeFile(new URL('src/sandbox/evm/test-usdc.ts', root), await artefactSource())
}
