// Compiles the contracts of contracts/: the test tokens of the sandbox, the sweeper, and an interface for tests;
// `npm run contracts`. Tests compile them again and compare.
import { readFile, writeFile } from 'node:fs/promises'
import solc from 'solc'

const root = new URL('..', import.meta.url)

/** How one is compiled that chains with EIP-7702 alone have, and on which each byte costs. */
const SMALLEST = { viaIR: true, evmVersion: 'prague', optimizer: { enabled: true, runs: 1 } }
const USUAL = { evmVersion: 'paris', optimizer: { enabled: true, runs: 200 } }

/**
 * Bytecode (hexadecimal) and interface of a contract in contracts/, the code that it leaves on a chain, and where in that its
 * immutables stand, in the order of their declarations. Throws with the compiler's words.
 */
export async function compileContract(name) {
  const file = `${name}.sol`
  const content = await readFile(new URL(`contracts/${file}`, root), 'utf8')
  const input = {
    language: 'Solidity',
    sources: { [file]: { content } },
    settings: {
      ...(name === 'Sweeper' ? SMALLEST : USUAL),
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input)))
  if (output.errors?.length > 0)
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  const { abi, evm } = output.contracts[file][name]
  const { object, immutableReferences = {} } = evm.deployedBytecode
  const immutables = Object.entries(immutableReferences)
    .sort(([one], [other]) => Number(one) - Number(other))
    .map(([, places]) => places.map(({ start }) => start))
  return { abi, bytecode: `0x${evm.bytecode.object}`, deployed: `0x${object}`, immutables }
}

const headOf = (name) =>
  `// Written by scripts/compile-contracts.mjs from contracts/${name}.sol; a test compiles it again and compares.\n`
const write = (path, text) => writeFile(new URL(path, root), text)

async function writeTestToken(name, symbol) {
  const { abi, bytecode } = await compileContract(name)
  const creation = `/** What creates the test ${symbol}; its constructor’s arguments follow it. */\n`
  await write(
    `src/sandbox/evm/test-${symbol.toLowerCase()}.ts`,
    `${headOf(name)}\n${creation}export const TEST_${symbol}_BYTECODE =\n  '${bytecode}'\n`,
  )
  return abi
}

async function writeSweeper() {
  const { bytecode, deployed, immutables } = await compileContract('Sweeper')
  const [hot, self] = immutables
  await write(
    'src/chain/evm/sweeper-code.ts',
    `${headOf('Sweeper')}
/** What creates the sweeper; the hot wallet's address follows it, filled up to 32 bytes. */
export const SWEEPER_CREATION =
  '${bytecode}'

/** What then stands at its address, with zeros in the places of its immutables. */
export const SWEEPER_CODE =
  '${deployed}'

/** Where in its code, in bytes, the words of the hot wallet's address and of its own stand. */
export const SWEEPER_WORDS = { hot: [${hot.join(', ')}], self: [${self.join(', ')}] }
`,
  )
}

if (process.argv[1] !== undefined && import.meta.url === new URL(`file://${process.argv[1]}`).href) {
  const abi = await writeTestToken('TestUsdc', 'USDC')
  await write(
    'test/support/test-usdc-abi.ts',
    `${headOf('TestUsdc')}export const TEST_USDC_ABI = ${JSON.stringify(abi)} as const\n`,
  )
  await writeTestToken('TestUsdt', 'USDT')
  await writeSweeper()
}
