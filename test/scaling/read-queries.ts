import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const QUERIES = new URL('../../src/db/queries/', import.meta.url).pathname

const DECLARATION = /^(export )?(?:async )?(function\*?|const|type) ?\*? ?(\w+)/
const BEGINNING = /^(?=(?:export )?(?:async )?(?:function\*?|const|type) )/m
/**
 * The merchant compared with what the caller gave, alone or first of several columns, or taken from the caller's own rows.
 * A page that begins after a merchant, and rows that a query looked up itself, name none.
 */
const NAMES_MERCHANT =
  /merchant_id\s*=\s*(?:\$\d|any\s*\(|\$\{|key\.|wanted\.|given\.)|\(merchant_id,[^)]*\)\s*(?:=\s*\(\$\d|in\s*\(select \* from unnest\(\$\d)/
/** The caller's own rows, each with its merchant, joined by it. */
const JOINS_GIVEN_MERCHANTS =
  /unnest\(\$1::text\[\][^)]*\) as \w+ \(merchant_id[\s\S]*merchant_id = \w+\.merchant_id/
const INSERTS_MERCHANT =
  /insert into \w+(?: as \w+)?\s*\(\s*(?:\w+,\s*)*merchant_id\b|COLUMNS =\s*[`'"]\s*merchant_id\b[\s\S]*insert into \w+ \(\$\{\w*COLUMNS\}|insert into \w+ \(\$\{\w*COLUMNS\}[\s\S]*COLUMNS =\s*[`'"]\s*merchant_id\b/

type Declaration = { readonly isExported: boolean; readonly kind: string; readonly text: string }

/**
 * The query functions that touch a distributed table, as `file.ts name`: those whose statements name the merchant, and
 * those that do not. What a function takes from its file (columns, conditions) counts as its own text.
 */
export async function readQueries(
  distributed: readonly string[],
): Promise<{ routed: string[]; across: string[] }> {
  const routed: string[] = []
  const across: string[] = []
  for (const file of (await readdir(QUERIES)).sort()) {
    const declarations = declarationsOf(await readFile(join(QUERIES, file), 'utf8'))
    for (const [name, { isExported, kind }] of declarations) {
      if (!isExported || kind === 'type') continue
      const text = wholeText(name, declarations)
      if (!touches(text, distributed)) continue
      const isRouted = [NAMES_MERCHANT, JOINS_GIVEN_MERCHANTS, INSERTS_MERCHANT].some((pattern) =>
        pattern.test(text),
      )
      ;(isRouted ? routed : across).push(`${file} ${name}`)
    }
  }
  return { routed, across }
}

function declarationsOf(source: string): Map<string, Declaration> {
  const declarations = new Map<string, Declaration>()
  for (const text of source.split(BEGINNING)) {
    const match = DECLARATION.exec(text)
    if (match?.[3] === undefined) continue
    declarations.set(match[3], { isExported: match[1] !== undefined, kind: match[2] ?? '', text })
  }
  return declarations
}

function wholeText(
  name: string,
  declarations: ReadonlyMap<string, Declaration>,
  seen = new Set<string>(),
): string {
  const own = declarations.get(name)
  if (own === undefined || seen.has(name)) return ''
  seen.add(name)
  const used = [...declarations].filter(
    ([other, { kind }]) => other !== name && kind !== 'type' && new RegExp(`\\b${other}\\b`).test(own.text),
  )
  return own.text + used.map(([other]) => wholeText(other, declarations, seen)).join('')
}

const touches = (text: string, tables: readonly string[]): boolean =>
  tables.some((table) => new RegExp(`\\b(?:from|join|update|into|using)\\s+${table}\\b`).test(text))
