/**
 * Prints the figures of docs/decisions/layout.md: `node scripts/layout-figures.mjs`. Importers of a file are all files of
 * ours that name it, tests among them, be it for a type alone. Circles of imports are refused by test/architecture.test.ts.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const IMPORT = /(?:from|import\()\s*'(\.[^']+)'/g
const isCode = (file) => /\.(?:tsx?|mjs)$/.test(file)
const isProduct = (file) => /^src\/.*\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file)

const tracked = execFileSync('git', ['ls-files', 'src', 'test', 'bench', 'scripts'], { encoding: 'utf8' })
const code = tracked.split('\n').filter(isCode)
const product = code.filter(isProduct)
const importers = new Map(product.map((file) => [file, new Set()]))
const arrows = new Set()
let lines = 0
for (const file of code) {
  const text = readFileSync(file, 'utf8')
  if (isProduct(file)) lines += text.split('\n').length - 1
  for (const [, name] of text.matchAll(IMPORT)) {
    const to = normalize(join(dirname(file), name))
    importers.get(to)?.add(file)
    if (isProduct(file)) arrows.add(`${file.split('/')[1]} ${to.split('/')[1]}`)
  }
}
const hasOne = (names) => names.length === 1
const single = product.filter((file) => hasOne([...importers.get(file)])).length
const alone = product.filter((file) => hasOne([...importers.get(file)].filter(isProduct))).length
const mutual = [...arrows].filter((arrow) => {
  const [from, to] = arrow.split(' ')
  return from < to && arrows.has(`${to} ${from}`)
})
const entries = new Set(
  tracked
    .split('\n')
    .filter((file) => file.startsWith('src/'))
    .map((file) => file.split('/')[1]),
)

console.log(`Entries of src/: ${entries.size}`)
console.log(`Files: ${product.length}`)
console.log(`Lines: ${lines}`)
const share = (count) => `${((100 * count) / product.length).toFixed(1)} %`
console.log(`Files with one importer, tests counted: ${share(single)}`)
console.log(`The same, importers in src/ alone: ${share(alone)}`)
console.log(`Pairs of folders that import each other: ${mutual.length}`)
